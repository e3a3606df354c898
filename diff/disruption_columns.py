"""What a change of a Load_Balancer's column, or of one of its health checks, does to traffic. Pure.

See `ovnlb.diff.disruption` for what the statements rest on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ovnlb.desired import rows
from ovnlb.desired.addresses import bracketed, split_host_port
from ovnlb.desired.extids import split_list
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.diff import canon
from ovnlb.diff.impact import UNDISTURBED, Disruption, Impact, PlannedRows, begins, served_by
from ovnlb.diff.plan import Change, Op


def column_disruption(item: Change, world: PlannedRows) -> Disruption:
    """Of a change of one column of a Load_Balancer."""
    match item.column:
        case "vips":
            return _vip(item, world)
        case "ip_port_mappings":
            return _mapping(item, world)
        case "selection_fields":
            return _hashing(item, world)
        case "options":
            return _options(item, world)
        case "protocol":
            return _protocol(item, world)
        case _:
            return UNDISTURBED


def _vip(item: Change, world: PlannedRows) -> Disruption:
    key = item.key or ""
    before, after = split_list(item.before), split_list(item.after)
    if not before and item.op is Op.UNSET:
        return Disruption(text="it serves nothing")
    if not before:
        return begins({key: item.after or ""})
    want = world.wanted(item.row)
    spelled = canon.canonical_endpoint(key)
    if item.op is Op.UNSET:
        if want is not None and spelled != key and spelled in want.vips:
            return Disruption(text="the endpoint stays under its right spelling")
        return Disruption(
            Impact.VIP_UNSERVED,
            f"{key} is no longer served: new connections get no answer, established ones may stall",
            (key,),
            tuple(before),
        )
    if not after:
        return Disruption(
            Impact.VIP_UNSERVED,
            f"{key} has no member left: new connections are dropped, established ones go on",
            (key,),
            tuple(before),
        )
    return _members_move(key, before, after, _bound(world, item.row))


def _members_move(key: str, before: list[str], after: list[str], bound: bool) -> Disruption:
    gone = tuple(item for item in before if item not in after)
    come = tuple(item for item in after if item not in before)
    parts = []
    if gone:
        text = f"{', '.join(gone)} gets no new connections, established ones to it go on"
        if bound:
            text += "; clients bound to it move (from OVN 25.03 on after one dropped connection)"
        parts.append(text)
    if come:
        parts.append(f"{', '.join(come)} takes a share of the new connections")
    if not parts:
        return UNDISTURBED
    impact = Impact.AFFINITY_RESETS if gone and bound else Impact.NEW_CONNECTIONS_MOVE
    return Disruption(impact, "; ".join(parts), (key,), (*gone, *come))


def _bound(world: PlannedRows, uuid: str) -> bool:
    row = world.found(uuid)
    return row is not None and rows.AFFINITY_TIMEOUT in row.options


def _mapping(item: Change, world: PlannedRows) -> Disruption:
    """A member of a checked key gets traffic only with a mapping, and by what its monitor says."""
    address, want, have = item.key or "", world.wanted(item.row), world.found(item.row)
    endpoints = tuple(_checked(want, address))
    if not endpoints:
        return Disruption(text="no health check uses it")
    if item.op is Op.UNSET:
        text = f"{address} has no monitor any more and gets no new connections"
    elif item.before is None and not tuple(_checked(have, address)):
        text = (
            f"{address} begins to be monitored; it counts as up until the first probe (OVN after 26.03: down)"
        )
    elif item.before is None:
        text = f"{address} is monitored again and gets new connections while it is up"
    else:
        text = f"{address} has a new monitor; it counts as up until the first probe (OVN after 26.03: down)"
    return Disruption(Impact.NEW_CONNECTIONS_MOVE, text, endpoints, (address,))


def _checked(row: LoadBalancerRow | None, address: str) -> Iterator[str]:
    """The vips keys with a health check whose members include this address (v6 with or without brackets)."""
    if row is None:
        return
    for check in row.health_checks:
        for backend in split_list(row.vips.get(check.vip)):
            host = split_host_port(backend)
            if host is not None and bracketed(host[0]) == bracketed(address.strip("[]")):
                yield check.vip
                break


def _hashing(item: Change, world: PlannedRows) -> Disruption:
    served = served_by(world, item.row)
    if not served:
        return UNDISTURBED
    return Disruption(
        Impact.AFFINITY_RESETS,
        "a client's next connection may get another member than its last; established ones go on",
        served,
    )


def _options(item: Change, world: PlannedRows) -> Disruption:
    served = served_by(world, item.row)
    if item.key != rows.AFFINITY_TIMEOUT or not served:
        return UNDISTURBED
    if item.after is None:
        text = "clients are no longer bound to a member: their next connections may get any"
    else:
        text = (
            f"clients are bound to a member for {item.after} s from their next connection on; OVN drops the "
            "first connection of each such spell"
        )
    return Disruption(Impact.AFFINITY_RESETS, text, served)


def _protocol(item: Change, world: PlannedRows) -> Disruption:
    served = served_by(world, item.row)
    before, after = (canon.protocol(one) or "tcp" for one in (item.before, item.after))
    if before == after or not served:
        return UNDISTURBED
    return Disruption(
        Impact.VIP_UNSERVED,
        f"{', '.join(served)} is served with {after} instead of {before}: its {before} connections stall",
        served,
    )


# Health checks


def check_disruption(item: Change, world: PlannedRows) -> Disruption:
    """Of a health check that comes, goes or changes."""
    want = world.wanted(item.owner or "")
    if item.owner in world.inserted:
        return Disruption(text="part of the new row")
    match item.op, item.column:
        case Op.INSERT, _:
            return _check_begins(str((item.after or {}).get("vip", "")), want)
        case Op.DELETE, _:
            return _check_ends(str((item.before or {}).get("vip", "")), want)
        case _, "vip":
            return _check_begins(str(item.after), want)
        case _, "options":
            return Disruption(text="probes go on with other times")
        case _:
            return UNDISTURBED


def _check_begins(vip: str, want: LoadBalancerRow | None) -> Disruption:
    members = split_list(want.vips.get(vip)) if want is not None else []
    if want is None or not members:
        return Disruption(text="nothing is served there")
    unmapped = tuple(one for one in members if not _is_mapped(one, want.ip_port_mappings))
    text = f"members of {vip} that are down get no new connections from their first failed probes on"
    if unmapped:
        text += f"; {', '.join(unmapped)} cannot be monitored and gets none"
    return Disruption(Impact.NEW_CONNECTIONS_MOVE, text, (vip,), unmapped)


def _check_ends(vip: str, want: LoadBalancerRow | None) -> Disruption:
    if want is None or not want.vips.get(vip):
        return Disruption(text="nothing is served there")
    if any(check.vip == vip for check in want.health_checks):
        return Disruption(text="another check of the same endpoint stays")
    return Disruption(
        Impact.NEW_CONNECTIONS_MOVE,
        f"{vip} is no longer checked: members that are down get new connections again",
        (vip,),
        tuple(split_list(want.vips[vip])),
    )


def _is_mapped(backend: str, mappings: Mapping[str, str]) -> bool:
    host = split_host_port(backend)
    return host is not None and bracketed(host[0]) in mappings
