"""Provisioning verdicts and the messages that tell Octavia.

Source: architecture.md section 4; octavia-contract.md sections 0 (4 to 9), 3 and 5. A verdict is
given to every object that was PENDING in the applied snapshot, to every ERROR that is now applied,
and to nothing else; operating statuses are sent where they differ from the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ovnlb.desired.intent import GONE
from ovnlb.desired.model import (
    PENDING,
    HealthMonitor,
    L7Object,
    Listener,
    LoadBalancer,
    Member,
    Operating,
    Pool,
    Provisioning,
)
from ovnlb.desired.statuses import operating_statuses

# The order in which Octavia works through a message; the LB must be last, or it unlocks too early.
KINDS = ("members", "healthmonitors", "pools", "l7rules", "l7policies", "listeners", "loadbalancers")

PLAIN_LIMIT = 1000  # records a message: about 1.5 s of the driver-agent
DELETED_LIMIT = 50  # DELETED records a message: each loads the LB's whole graph there


@dataclass(frozen=True, slots=True)
class Record:
    """One object's line in a message. `kind` is the message's word; None leaves a status alone."""

    kind: str
    id: str
    provisioning: str | None = None
    operating: str | None = None

    def as_dict(self) -> dict[str, str]:
        """As octavia-lib's update_loadbalancer_status takes it."""
        record = {"id": self.id}
        if self.provisioning is not None:
            record["provisioning_status"] = self.provisioning
        if self.operating is not None:
            record["operating_status"] = self.operating
        return record


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """What Octavia must be told of one load balancer: records in sending order.

    `heals_lb`: the LB itself goes from ERROR to ACTIVE, so that its record is sent alone, right
    after the row has been read again.
    """

    lb_id: str
    records: tuple[Record, ...] = ()
    heals_lb: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the walk ended. failed: ids of the objects that cannot be applied; vip_port: it exists."""

    failed: Collection[str] = field(default_factory=frozenset)
    vip_port: bool = True


def status_update(lb: LoadBalancer, members: Mapping[str, str], outcome: Outcome) -> StatusUpdate:
    """The verdicts on the graph whose rows have been applied.

    `members`: operating status by id, from the desired state. An LB in PENDING_DELETE must be given
    only when its rows and ports are gone; one that is DELETED gets no record.
    """
    if lb.provisioning_status == Provisioning.DELETED:
        return StatusUpdate(lb.id)
    if lb.provisioning_status == Provisioning.PENDING_DELETE:
        return StatusUpdate(lb.id, tuple(_all_deleted(lb)))
    records = sorted(_children(lb, members, outcome), key=lambda record: KINDS.index(record.kind))
    own = _own(lb, members, outcome)
    heals = own is not None and own.provisioning is not None and lb.provisioning_status == Provisioning.ERROR
    return StatusUpdate(lb.id, (*records, *([own] if own else [])), heals)


def messages(updates: Sequence[StatusUpdate]) -> Iterator[dict[str, list[dict[str, str]]]]:
    """The messages that carry these updates, in sending order, within the size limits.

    Records of one LB stay in their order, so that its own record comes after all of its children's,
    in the same message or a later one. An LB's heal travels alone.
    """
    together = [update for update in updates if not update.heals_lb]
    yield from _split(record for update in _by_kind(together) for record in update)
    for update in updates:
        if update.heals_lb:
            yield from _split(record for record in update.records if record.kind != "loadbalancers")
            yield from _split(record for record in update.records if record.kind == "loadbalancers")


def _by_kind(updates: list[StatusUpdate]) -> Iterator[list[Record]]:
    for kind in KINDS:
        yield [record for update in updates for record in update.records if record.kind == kind]


def _split(records: Iterable[Record]) -> Iterator[dict[str, list[dict[str, str]]]]:
    message: dict[str, list[dict[str, str]]] = {}
    plain = deleted = 0
    for record in records:
        is_deleted = record.provisioning == Provisioning.DELETED
        if plain + deleted >= PLAIN_LIMIT or (is_deleted and deleted >= DELETED_LIMIT):
            yield message
            message, plain, deleted = {}, 0, 0
        message.setdefault(record.kind, []).append(record.as_dict())
        deleted += is_deleted
        plain += not is_deleted
    if message:
        yield message


def _all_deleted(lb: LoadBalancer) -> Iterator[Record]:
    for kind, ids in (
        ("members", [member.id for pool in lb.pools for member in pool.members]),
        ("healthmonitors", [pool.health_monitor.id for pool in lb.pools if pool.health_monitor]),
        ("pools", [pool.id for pool in lb.pools]),
        ("l7rules", [item.id for item in _l7(lb) if item.kind == "l7rules"]),
        ("l7policies", [item.id for item in _l7(lb) if item.kind == "l7policies"]),
        ("listeners", [listener.id for listener in lb.listeners]),
    ):
        yield from (_deleted(kind, child) for child in ids)
    yield _deleted("loadbalancers", lb.id)


def _deleted(kind: str, object_id: str) -> Record:
    return Record(kind, object_id, Provisioning.DELETED, Operating.OFFLINE)


def _l7(lb: LoadBalancer) -> Iterator[L7Object]:
    for listener in lb.listeners:
        yield from listener.l7


def _children(lb: LoadBalancer, members: Mapping[str, str], outcome: Outcome) -> Iterator[Record]:
    operating = operating_statuses(lb, members)
    for pool in lb.pools:
        yield from _pool(pool, operating, outcome)
    for listener in lb.listeners:
        if listener.provisioning_status in GONE:
            yield from (_deleted(item.kind, item.id) for item in listener.l7)
            yield _deleted("listeners", listener.id)
            continue
        yield from _l7_errors(listener.l7)
        if record := _verdict("listeners", listener, operating, outcome):
            yield record


def _pool(pool: Pool, operating: Mapping[str, str], outcome: Outcome) -> Iterator[Record]:
    gone = pool.provisioning_status in GONE
    for member in pool.members:
        if gone or member.provisioning_status in GONE:
            yield _deleted("members", member.id)
        elif record := _verdict("members", member, operating, outcome):
            yield record
    if (monitor := pool.health_monitor) is not None:
        if gone or monitor.provisioning_status in GONE:
            yield _deleted("healthmonitors", monitor.id)
        elif record := _verdict("healthmonitors", monitor, operating, outcome):
            yield record
    if gone:
        yield _deleted("pools", pool.id)
    elif record := _verdict("pools", pool, operating, outcome):
        yield record


def _l7_errors(items: Iterable[L7Object]) -> Iterator[Record]:
    # OVN has no layer 7; only the original's single call could leave these behind.
    for item in items:
        if item.provisioning_status in GONE:
            yield _deleted(item.kind, item.id)
        elif item.provisioning_status in PENDING:
            yield Record(item.kind, item.id, Provisioning.ERROR, Operating.ERROR)


def _verdict(
    kind: str,
    item: Member | HealthMonitor | Pool | Listener | LoadBalancer,
    operating: Mapping[str, str],
    outcome: Outcome,
) -> Record | None:
    object_id, before = item.id, item.provisioning_status
    provisioning: str | None = None
    if object_id in outcome.failed:
        provisioning = Provisioning.ERROR if before in PENDING else None
    elif before in PENDING or before == Provisioning.ERROR:
        provisioning = Provisioning.ACTIVE
    status = operating.get(object_id)
    changed = status if status != item.operating_status else None
    if provisioning is None and changed is None:
        return None
    return Record(kind, object_id, provisioning, changed)


def _own(lb: LoadBalancer, members: Mapping[str, str], outcome: Outcome) -> Record | None:
    if lb.id in outcome.failed:
        pending = lb.provisioning_status in PENDING
        return Record("loadbalancers", lb.id, Provisioning.ERROR, Operating.ERROR) if pending else None
    if lb.provisioning_status == Provisioning.ERROR and not outcome.vip_port:
        return None
    return _verdict("loadbalancers", lb, operating_statuses(lb, members), outcome)
