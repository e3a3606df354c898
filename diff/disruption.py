"""What each change of a plan does to traffic while it happens. Pure.

Statements about OVN were observed on a data path: an established connection goes on when its member
leaves a `vips` value and stalls when the Load_Balancer goes; a member of a checked key without a
mapping gets no traffic; the first connection of an affinity window is dropped. What was not observed is
said with "may". Columns that northd makes no flow of (external_ids) disturb nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ovnlb.desired import rows
from ovnlb.desired.addresses import bracketed, split_host_port
from ovnlb.desired.extids import split_list
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.diff import canon
from ovnlb.diff.effects import REFRESH_FIP
from ovnlb.diff.plan import Change, Effect, Op, Plan


class Impact(StrEnum):
    """What clients notice, mildest first."""

    NONE = "none"
    SERVICE_BEGINS = "service_begins"
    NEW_CONNECTIONS_MOVE = "new_connections_move"
    AFFINITY_RESETS = "affinity_resets"
    PATH_MOVES = "path_moves"
    CONNECTIONS_END = "connections_end"
    VIP_UNSERVED = "vip_unserved"


ORDER = tuple(Impact)

# What a report says of them.
WORDS = {
    Impact.NONE: "no effect on traffic",
    Impact.SERVICE_BEGINS: "service begins",
    Impact.NEW_CONNECTIONS_MOVE: "new connections move, established ones go on",
    Impact.AFFINITY_RESETS: "clients get another member than before",
    Impact.PATH_MOVES: "traffic takes another path, connections over it may stall",
    Impact.CONNECTIONS_END: "established connections may end",
    Impact.VIP_UNSERVED: "endpoint unserved",
}


@dataclass(frozen=True, slots=True)
class Disruption:
    """One change's effect on traffic. `endpoints`: vips keys; `members`: backends that are concerned."""

    impact: Impact = Impact.NONE
    text: str = ""
    endpoints: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The value of `disruption` in the report."""
        return {
            "impact": str(self.impact),
            "text": self.text,
            "endpoints": list(self.endpoints),
            "members": list(self.members),
        }


_NONE = Disruption()


@dataclass(frozen=True)
class _Rows:
    """The rows of a plan by UUID: as they are, and as they must be (by their protocol)."""

    have: Mapping[str, LoadBalancerRow]
    want: Mapping[str | None, LoadBalancerRow]
    deleted: frozenset[str]
    inserted: frozenset[str]

    def found(self, uuid: str) -> LoadBalancerRow | None:
        return self.have.get(uuid)

    def wanted(self, uuid: str) -> LoadBalancerRow | None:
        """What the row becomes; that of an inserted one when it is the only row that comes."""
        have = self.have.get(uuid)
        if have is not None and canon.protocol(have.protocol) in self.want:
            return self.want[canon.protocol(have.protocol)]
        taken = {canon.protocol(row.protocol) for key, row in self.have.items() if key not in self.deleted}
        left = [row for protocol, row in self.want.items() if protocol not in taken]
        return left[0] if len(left) == 1 else None

    def twin_serves(self, row: LoadBalancerRow) -> bool:
        """Whether another row that stays already serves all that this one does."""
        return any(
            key not in self.deleted
            and canon.protocol(other.protocol) == canon.protocol(row.protocol)
            and row.vips.keys() <= other.vips.keys()
            and row.switches <= other.switches
            and row.routers <= other.routers
            for key, other in self.have.items()
            if key != row.uuid
        )


def disruptions(plan: Plan) -> tuple[Disruption, ...]:
    """The disruption of each change of the plan, in the order of its changes."""
    if not plan.changes:
        return ()
    gone = {item.row for item in plan.changes if item.op is Op.DELETE}
    come = {item.row for item in plan.changes if item.op is Op.INSERT}
    world = _Rows(
        {row.uuid: row for row in plan.have.rows if row.uuid},
        {canon.protocol(row.protocol): row for row in plan.want.rows},
        frozenset(gone),
        frozenset(come),
    )
    return tuple(_of(item, world) for item in plan.changes)


def effect_disruption(effect: Effect) -> Disruption:
    """The disruption of an effect in Neutron."""
    if effect.kind == REFRESH_FIP:
        address = effect.details.get("address", effect.target)
        return Disruption(
            Impact.PATH_MOVES,
            f"floating IP {address} goes back to its member's own chassis: established connections over "
            "it may stall",
            members=(str(address),),
        )
    return _NONE


def _of(item: Change, world: _Rows) -> Disruption:
    match item.table, item.op:
        case "Load_Balancer", Op.INSERT:
            return _begins((item.after or {}).get("vips") or {})
        case "Load_Balancer", Op.DELETE:
            return _row_deleted(item, world)
        case "Load_Balancer", _:
            return _column(item, world)
        case "Load_Balancer_Health_Check", _:
            return _check(item, world)
        case (("Logical_Switch" | "Logical_Router"), Op.ATTACH):
            return _attached(item, world)
        case (("Logical_Switch" | "Logical_Router"), Op.DETACH):
            return _detached(item, world)
        case "NAT", _:
            return Disruption(
                Impact.PATH_MOVES,
                "a member's own floating IP is served by the gateway chassis from now on: established "
                "connections over it may stall",
                members=(str(item.before),) if item.column == "logical_port" else (),
            )
        case _:
            return _NONE


# Whole rows


def _begins(vips: Mapping[str, str]) -> Disruption:
    served = tuple(sorted(key for key, value in vips.items() if value))
    if not served:
        return Disruption(text="it serves nothing yet")
    return Disruption(
        Impact.SERVICE_BEGINS, f"{', '.join(served)} begins to be served", served, _backends(vips, served)
    )


def _row_deleted(item: Change, world: _Rows) -> Disruption:
    row = world.found(item.row)
    vips = row.vips if row is not None else (item.before or {}).get("vips") or {}
    served = tuple(sorted(key for key, value in vips.items() if value))
    if not served:
        return Disruption(text="it serves nothing")
    members = _backends(vips, served)
    if row is not None and world.twin_serves(row):
        return Disruption(
            Impact.NEW_CONNECTIONS_MOVE,
            "the other row of the same endpoints serves alone: new connections may get other members",
            served,
            members,
        )
    return Disruption(
        Impact.VIP_UNSERVED,
        f"{', '.join(served)} is no longer served: established connections stall, new ones get no answer",
        served,
        members,
    )


def _attached(item: Change, world: _Rows) -> Disruption:
    row = world.wanted(item.key or "")
    if item.key in world.inserted:
        return Disruption(text="part of the new row")
    if row is None or not any(row.vips.values()):
        return Disruption(text="it serves nothing yet")
    return Disruption(
        Impact.SERVICE_BEGINS,
        f"clients on {item.row} begin to be served",
        tuple(sorted(row.vips)),
    )


def _detached(item: Change, world: _Rows) -> Disruption:
    row = world.found(item.key or "")
    if row is None or not any(row.vips.values()):
        return Disruption(text="it serves nothing")
    served = tuple(sorted(key for key, value in row.vips.items() if value))
    return Disruption(
        Impact.CONNECTIONS_END,
        f"the load balancer no longer acts on {item.row}: connections balanced there to "
        f"{', '.join(_backends(row.vips, served))} may stall",
        served,
        _backends(row.vips, served),
    )


# Columns of a Load_Balancer


def _column(item: Change, world: _Rows) -> Disruption:
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
            return _NONE


def _vip(item: Change, world: _Rows) -> Disruption:
    key = item.key or ""
    before, after = split_list(item.before), split_list(item.after)
    if not before and item.op is Op.UNSET:
        return Disruption(text="it serves nothing")
    if not before:
        return _begins({key: item.after or ""})
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
        return _NONE
    impact = Impact.AFFINITY_RESETS if gone and bound else Impact.NEW_CONNECTIONS_MOVE
    return Disruption(impact, "; ".join(parts), (key,), (*gone, *come))


def _bound(world: _Rows, uuid: str) -> bool:
    row = world.found(uuid)
    return row is not None and rows.AFFINITY_TIMEOUT in row.options


def _mapping(item: Change, world: _Rows) -> Disruption:
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


def _hashing(item: Change, world: _Rows) -> Disruption:
    served = _served(world, item.row)
    if not served:
        return _NONE
    return Disruption(
        Impact.AFFINITY_RESETS,
        "a client's next connection may get another member than its last; established ones go on",
        served,
    )


def _options(item: Change, world: _Rows) -> Disruption:
    served = _served(world, item.row)
    if item.key != rows.AFFINITY_TIMEOUT or not served:
        return _NONE
    if item.after is None:
        text = "clients are no longer bound to a member: their next connections may get any"
    else:
        text = (
            f"clients are bound to a member for {item.after} s from their next connection on; OVN drops the "
            "first connection of each such spell"
        )
    return Disruption(Impact.AFFINITY_RESETS, text, served)


def _protocol(item: Change, world: _Rows) -> Disruption:
    served = _served(world, item.row)
    before, after = (canon.protocol(one) or "tcp" for one in (item.before, item.after))
    if before == after or not served:
        return _NONE
    return Disruption(
        Impact.VIP_UNSERVED,
        f"{', '.join(served)} is served with {after} instead of {before}: its {before} connections stall",
        served,
    )


# Health checks


def _check(item: Change, world: _Rows) -> Disruption:
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
            return _NONE


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


def _served(world: _Rows, uuid: str) -> tuple[str, ...]:
    row = world.found(uuid)
    return tuple(sorted(key for key, value in row.vips.items() if value)) if row is not None else ()


def _backends(vips: Mapping[str, str], keys: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(backend for key in keys for backend in split_list(vips.get(key))))
