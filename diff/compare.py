"""The plan: the smallest set of changes that turns the observed rows of one LB into the desired ones.

Pure, total and deterministic: the same values give the same plan, whatever their order, and damaged
rows never raise. Maps change key by key, so that nobody else's keys are touched; living rows are
changed in place. Source: architecture.md sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ovnlb.desired import rows
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow, NbState
from ovnlb.diff import canon, columns, reasons
from ovnlb.diff.children import Work
from ovnlb.diff.match import RowMatch, match_checks, match_rows
from ovnlb.diff.plan import Change, Effect, Op, Plan, PlanWarning, Reason
from ovnlb.diff.policy import Policy, refusals
from ovnlb.diff.reasons import RowReasons

LB = "Load_Balancer"
CHECK = "Load_Balancer_Health_Check"
ATTACHMENTS = ("Logical_Switch", "Logical_Router")


def plan(
    want: NbState,
    have: NbState,
    policy: Policy = Policy.SYNC,
    *,
    lb_id: str,
    pending: Mapping[str, str] | None = None,
    gone: Reason = Reason.INTENT_DELETED,
    provider_switches: Collection[str] = frozenset(),
    in_use: Callable[[str], bool] | None = None,
    effects: Sequence[Effect] = (),
    warnings: Sequence[PlanWarning] = (),
    waiting: Sequence[str] = (),
) -> Plan:
    """What must be written so that `have` becomes `want`; nothing when they say the same.

    pending: provisioning status of the graph's objects by id (the LB's too), the source of the
    reasons; None when it is not known. gone: why an empty `want` deletes rows. provider_switches:
    names of switches that no row may be on. in_use: whether a row UUID exists anywhere in the
    database. effects, warnings and waiting come from the stages before, and are carried along.
    """
    comparison = _Comparison(lb_id, Work(pending), frozenset(provider_switches), in_use, gone)
    changes = () if _equal(want, have) else tuple(comparison.changes(want, have))
    return Plan(
        lb_id=lb_id,
        changes=changes,
        effects=tuple(effects),
        warnings=(*warnings, *_suspects(have)),
        waiting=tuple(waiting),
        refused=refusals(policy, changes, effects),
        want=want,
        have=have,
    )


def in_sync(want: NbState, have: NbState) -> bool:
    """Whether the rows say the same; texts that are equal are never parsed."""
    return _equal(want, have) or not plan(want, have, lb_id="").changes


def _suspects(have: NbState) -> Iterator[PlanWarning]:
    for row in sorted(have.suspect, key=lambda row: row.uuid or ""):
        yield PlanWarning(
            "suspect_row",
            f"Load_Balancer {row.uuid} is named {row.name} but belongs to somebody else: not touched",
        )


def _equal(want: NbState, have: NbState) -> bool:
    """Whether both hold the same rows under plain comparison; False says nothing."""
    if len(want.rows) != len(have.rows):
        return False
    if len(want.rows) == 1:
        return _equal_row(want.rows[0], have.rows[0])
    found = {row.protocol: row for row in have.rows}
    return len(found) == len(want.rows) and all(
        row.protocol in found and _equal_row(row, found[row.protocol]) for row in want.rows
    )


def _equal_row(want: LoadBalancerRow, have: LoadBalancerRow) -> bool:
    return (
        want.protocol == have.protocol
        and want.vips == have.vips
        and want.external_ids == have.external_ids
        and want.switches == have.switches
        and want.routers == have.routers
        and want.selection_fields == have.selection_fields
        and want.options == have.options
        and want.ip_port_mappings == have.ip_port_mappings
        and len(want.health_checks) == len(have.health_checks)
        and (not want.health_checks or _equal_checks(want.health_checks, have.health_checks))
    )


def _equal_checks(want: Iterable[HealthCheckRow], have: Iterable[HealthCheckRow]) -> bool:
    found = {check.vip: check for check in have}
    for check in want:
        other = found.get(check.vip)
        if other is None or other.external_ids != check.external_ids or other.options != check.options:
            return False
    return True


@dataclass(frozen=True)
class _Comparison:
    lb_id: str
    work: Work
    provider_switches: frozenset[str]
    in_use: Callable[[str], bool] | None
    gone: Reason

    def changes(self, want: NbState, have: NbState) -> Iterator[Change]:
        match = match_rows(want.rows, have.rows)
        free = _FreeUuids({uuid for row in (*have.rows, *have.suspect) for uuid in _uuids(row)}, self.in_use)
        for mine, theirs in match.kept:
            yield from self._update(mine, theirs, free)
        for mine in match.missing:
            yield from self._insert(mine, free)
        yield from self._delete(match, bool(want.rows))

    def _delete(self, match: RowMatch, alive: bool) -> Iterator[Change]:
        for row in match.duplicates:
            yield _row_delete(row, Reason.DUPLICATE if alive else self.gone)
        for row in match.surplus:
            yield _row_delete(row, reasons.of_removal(row, self.work) if alive else self.gone)

    def _insert(self, row: LoadBalancerRow, free: _FreeUuids) -> Iterator[Change]:
        why = reasons.of_insertion(row, self.work, self.lb_id)
        uuid = free.load_balancer(self.lb_id, row.protocol)
        yield Change(Op.INSERT, LB, uuid, None, None, None, columns.own(row), why)
        for check in sorted(row.health_checks, key=lambda check: check.vip):
            yield _check_insert(check, uuid, free, why)
        for table, names in zip(ATTACHMENTS, (row.switches, row.routers), strict=True):
            for name in sorted(names):
                yield _attach(Op.ATTACH, table, name, uuid, why)

    def _update(self, want: LoadBalancerRow, have: LoadBalancerRow, free: _FreeUuids) -> Iterator[Change]:
        why = RowReasons(want, have, self.lb_id, self.work, self.provider_switches)
        uuid = have.uuid or ""
        if want.protocol != (have.protocol or None):
            yield Change(Op.SET, LB, uuid, "protocol", None, have.protocol, want.protocol, why.protocol())
        yield from _external_ids(want, have, why)
        for key, mine, theirs in _map_differences(want.vips, have.vips, canon.same_entries):
            yield _keyed(LB, uuid, "vips", key, theirs, mine, why.vip(key, mine, theirs))
        if want.selection_fields != have.selection_fields:
            before, after = sorted(have.selection_fields), sorted(want.selection_fields)
            yield Change(Op.SET, LB, uuid, "selection_fields", None, before, after, why.hashing())
        for key, mine, theirs in _map_differences(want.options, have.options, only=rows.MANAGED_OPTIONS):
            yield _keyed(LB, uuid, "options", key, theirs, mine, why.hashing())
        for key, mine, theirs in _map_differences(want.ip_port_mappings, have.ip_port_mappings):
            yield _keyed(LB, uuid, "ip_port_mappings", key, theirs, mine, why.mapping(key, theirs))
        yield from _checks(want, have, why, free)
        yield from _attachments(want, have, why)


def _uuids(row: LoadBalancerRow) -> Iterator[str]:
    yield row.uuid or ""
    yield from (check.uuid or "" for check in row.health_checks)


@dataclass(frozen=True)
class _FreeUuids:
    """Hands out row UUIDs that nothing holds.

    The UUID of (LB, protocol) can be held by a row that has another protocol now: a row taken over
    keeps its UUID. Then the next one of a fixed series is used, the same for every process that sees
    the same rows.
    """

    taken: set[str]
    in_use: Callable[[str], bool] | None

    def load_balancer(self, lb_id: str, protocol: str | None) -> str:
        return self._first(lambda suffix: rows.load_balancer_row_uuid(lb_id, f"{protocol or ''}{suffix}"))

    def health_check(self, check: HealthCheckRow) -> str:
        monitor = check.external_ids.get(rows.CHECK_MONITOR, "")
        return self._first(lambda suffix: rows.health_check_row_uuid(monitor, f"{check.vip}{suffix}"))

    def _first(self, candidate: Callable[[str], UUID]) -> str:
        number = 0
        while True:
            uuid = str(candidate(f"/{number}" if number else ""))
            if uuid not in self.taken and not (self.in_use and self.in_use(uuid)):
                self.taken.add(uuid)
                return uuid
            number += 1


def _map_differences(
    want: Mapping[str, str],
    have: Mapping[str, str],
    same: Callable[[str, str], bool] | None = None,
    only: Collection[str] | None = None,
) -> Iterator[tuple[str, str | None, str | None]]:
    """(key, desired, observed) where they differ; among `only` these keys."""
    for key in sorted(want.keys() | have.keys()):
        mine, theirs = want.get(key), have.get(key)
        if mine == theirs or (only is not None and key not in only):
            continue
        if not (same and mine is not None and theirs is not None and same(mine, theirs)):
            yield key, mine, theirs


def _keyed(
    table: str,
    row: str,
    column: str,
    key: str,
    before: str | None,
    after: str | None,
    reason: Reason,
    owner: str | None = None,
) -> Change:
    op = Op.UNSET if after is None else Op.SET
    return Change(op, table, row, column, key, before, after, reason, owner)


def _external_ids(want: LoadBalancerRow, have: LoadBalancerRow, why: RowReasons) -> Iterator[Change]:
    keys = {*canon.managed(want.external_ids), *canon.managed(have.external_ids)}
    aligned = _in_order_of(have.external_ids, want.external_ids)
    for key in sorted(keys):
        mine, theirs = aligned.get(key), have.external_ids.get(key)
        if not canon.same_external_id(key, mine, theirs):
            reason = why.external_id(key, mine, theirs)
            yield _keyed(LB, have.uuid or "", "external_ids", key, theirs, mine, reason)


def _in_order_of(have: Mapping[str, str], want: Mapping[str, str]) -> Mapping[str, str]:
    """The desired external_ids with the ports of additional VIPs in the row's order of these VIPs."""
    theirs, mine = have.get(rows.ADDITIONAL_VIPS, ""), want.get(rows.ADDITIONAL_VIPS, "")
    if theirs == mine or not canon.same_entries(theirs, mine):
        return want
    ports = want.get(rows.ADDITIONAL_VIP_PORT_IDS, "").split(",")
    vips = mine.split(",")
    if len(ports) != len(vips):
        return want
    place = {vip: number for number, vip in enumerate(theirs.split(","))}
    ordered = [port for _, port in sorted(zip(vips, ports, strict=True), key=lambda pair: place[pair[0]])]
    return {**want, rows.ADDITIONAL_VIP_PORT_IDS: ",".join(ordered)}


def _checks(
    want: LoadBalancerRow, have: LoadBalancerRow, why: RowReasons, free: _FreeUuids
) -> Iterator[Change]:
    owner = have.uuid or ""
    match = match_checks(want.health_checks, have.health_checks)
    for mine, theirs in match.kept:
        yield from _check_update(mine, theirs, owner, why)
    for mine in match.missing:
        yield _check_insert(mine, owner, free, why.check(mine, None))
    for theirs in match.surplus:
        yield _check_delete(theirs, owner, why.check(None, theirs))


def _check_update(
    want: HealthCheckRow, have: HealthCheckRow, owner: str, why: RowReasons
) -> Iterator[Change]:
    uuid = have.uuid or ""
    if want.vip != have.vip:
        yield Change(Op.SET, CHECK, uuid, "vip", None, have.vip, want.vip, why.check(want, have), owner)
    for column, mine, theirs, ours in (
        ("external_ids", want.external_ids, have.external_ids, canon.CHECK_KEYS),
        ("options", want.options, have.options, canon.CHECK_OPTIONS),
    ):
        for key, after, before in _map_differences(mine, theirs, only=ours):
            yield _keyed(CHECK, uuid, column, key, before, after, why.check(want, have), owner)


def _check_insert(check: HealthCheckRow, owner: str, free: _FreeUuids, reason: Reason) -> Change:
    uuid = free.health_check(check)
    return Change(Op.INSERT, CHECK, uuid, None, None, None, columns.check(check), reason, owner)


def _check_delete(check: HealthCheckRow, owner: str, reason: Reason) -> Change:
    return Change(Op.DELETE, CHECK, check.uuid or "", None, None, columns.check(check), None, reason, owner)


def _attachments(want: LoadBalancerRow, have: LoadBalancerRow, why: RowReasons) -> Iterator[Change]:
    pairs = ((want.switches, have.switches), (want.routers, have.routers))
    for table, (mine, theirs) in zip(ATTACHMENTS, pairs, strict=True):
        for name in sorted(mine - theirs):
            yield _attach(Op.ATTACH, table, name, have.uuid or "", why.attachment(name, True))
        for name in sorted(theirs - mine):
            yield _attach(Op.DETACH, table, name, have.uuid or "", why.attachment(name, False))


def _attach(op: Op, table: str, name: str, uuid: str, reason: Reason) -> Change:
    before, after = (None, uuid) if op is Op.ATTACH else (uuid, None)
    return Change(op, table, name, "load_balancer", uuid, before, after, reason)


def _row_delete(row: LoadBalancerRow, reason: Reason) -> Change:
    return Change(Op.DELETE, LB, row.uuid or "", None, None, columns.own(row), None, reason)
