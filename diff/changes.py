"""The changes of one row: inserted whole, deleted whole, or changed in place key by key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from ovnlb.desired import rows
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.diff import canon, columns
from ovnlb.diff.identity import FreeUuids
from ovnlb.diff.match import match_checks
from ovnlb.diff.plan import Change, Op, Reason
from ovnlb.diff.reasons import RowReasons

LB = "Load_Balancer"
CHECK = "Load_Balancer_Health_Check"
ATTACHMENTS = ("Logical_Switch", "Logical_Router")


def insertion(row: LoadBalancerRow, lb_id: str, why: Reason, free: FreeUuids) -> Iterator[Change]:
    """The row, its checks and its attachments, all for the same reason."""
    uuid = free.load_balancer(lb_id, row.protocol)
    yield Change(Op.INSERT, LB, uuid, None, None, None, columns.own(row), why)
    for check in sorted(row.health_checks, key=lambda check: check.vip):
        yield _check_insert(check, uuid, free, why)
    for table, names in zip(ATTACHMENTS, (row.switches, row.routers), strict=True):
        for name in sorted(names):
            yield _attach(Op.ATTACH, table, name, uuid, why)


def deletion(row: LoadBalancerRow, reason: Reason) -> Change:
    """The row; what it holds and what refers to it goes with it."""
    return Change(Op.DELETE, LB, row.uuid or "", None, None, columns.own(row), None, reason)


def update(
    want: LoadBalancerRow, have: LoadBalancerRow, why: RowReasons, free: FreeUuids
) -> Iterator[Change]:
    """What makes a living row as it must be, key by key."""
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


def _map_differences(
    want: Mapping[str, str],
    have: Mapping[str, str],
    same: Callable[[str, str], bool] | None = None,
    only: Collection[str] | None = None,
) -> Iterator[tuple[str, str | None, str | None]]:
    """(key, desired, observed) where they differ; among `only` these keys."""
    if want == have:
        return
    differing = [key for key in want.keys() | have.keys() if want.get(key) != have.get(key)]
    for key in sorted(differing):
        mine, theirs = want.get(key), have.get(key)
        if only is not None and key not in only:
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
    aligned = _in_order_of(have.external_ids, want.external_ids)
    for key, mine, theirs in _map_differences(aligned, have.external_ids):
        if rows.is_managed_key(key) and not canon.same_external_id(key, mine, theirs):
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
    want: LoadBalancerRow, have: LoadBalancerRow, why: RowReasons, free: FreeUuids
) -> Iterator[Change]:
    owner = have.uuid or ""
    if not (want.health_checks or have.health_checks):
        return
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


def _check_insert(check: HealthCheckRow, owner: str, free: FreeUuids, reason: Reason) -> Change:
    uuid = free.health_check(check)
    return Change(Op.INSERT, CHECK, uuid, None, None, None, columns.check(check), reason, owner)


def _check_delete(check: HealthCheckRow, owner: str, reason: Reason) -> Change:
    return Change(Op.DELETE, CHECK, check.uuid or "", None, None, columns.check(check), None, reason, owner)


def _attachments(want: LoadBalancerRow, have: LoadBalancerRow, why: RowReasons) -> Iterator[Change]:
    if want.switches == have.switches and want.routers == have.routers:
        return
    pairs = ((want.switches, have.switches), (want.routers, have.routers))
    for table, (mine, theirs) in zip(ATTACHMENTS, pairs, strict=True):
        for name in sorted(mine - theirs):
            yield _attach(Op.ATTACH, table, name, have.uuid or "", why.attachment(name, True))
        for name in sorted(theirs - mine):
            yield _attach(Op.DETACH, table, name, have.uuid or "", why.attachment(name, False))


def _attach(op: Op, table: str, name: str, uuid: str, reason: Reason) -> Change:
    before, after = (None, uuid) if op is Op.ATTACH else (uuid, None)
    return Change(op, table, name, "load_balancer", uuid, before, after, reason)
