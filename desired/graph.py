"""Database rows, or their JSON form in bundles and scenarios, assembled to the Octavia graph.

Pure. Nothing here raises on rows that disagree with each other (dangling ids, a missing VIP): what
cannot be a graph becomes a `BrokenLoadBalancer`, what belongs to no load balancer is left out.
Source of the relations: octavia/db/models.py (19.0.0).
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass
from datetime import datetime
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.columns import COLUMNS as COLUMNS
from ovnlb.desired.columns import Row
from ovnlb.desired.jsonrows import MalformedRow as MalformedRow
from ovnlb.desired.jsonrows import to_tuples
from ovnlb.desired.model import (
    BrokenLoadBalancer,
    HealthMonitor,
    L7Object,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    SessionPersistence,
    Vip,
)

Tables = Mapping[str, Iterable[Row]]

EARLIEST = datetime(1, 1, 1)  # noqa: DTZ001 - Octavia's times are naive UTC
NO_VIP = Vip(None, None, None, None)
GOING = frozenset({"PENDING_DELETE", "DELETED"})


@dataclass(frozen=True, slots=True)
class Graph:
    """All load balancers of one snapshot in (created_at, id) order, and those that are none."""

    load_balancers: tuple[LoadBalancer, ...] = ()
    broken: tuple[BrokenLoadBalancer, ...] = ()

    def find(self, lb_id: str) -> LoadBalancer | BrokenLoadBalancer | None:
        """The load balancer of that id, usable or broken."""
        usable = (lb for lb in self.load_balancers if lb.id == lb_id)
        return next(usable, None) or next((lb for lb in self.broken if lb.id == lb_id), None)


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cyclic garbage collection meanwhile.

    A whole graph is some 100,000 objects without a cycle; looking through them again and again while
    they are made costs as much as making them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@collector_paused()
def assemble(tables: Tables) -> Graph:
    """The graph of these rows: table -> rows with the columns of COLUMNS, in any order.

    Absent tables are empty. Times are naive UTC datetimes or None, booleans may be 0 and 1.
    """
    vips = {row[0]: Vip(row[1] or None, row[2], row[3], row[4]) for row in tables.get("vip", ())}
    additional = _additional_vips(tables.get("additional_vip", ()))
    pools = _pools(tables)
    listeners = _listeners(tables)
    usable: list[LoadBalancer] = []
    broken: list[BrokenLoadBalancer] = []
    for row in sorted(tables.get("load_balancer", ()), key=_load_balancer_order):
        lb_id = row[0]
        vip = vips.get(lb_id)
        made = LoadBalancer(
            id=lb_id,
            project_id=row[1],
            name=row[2],
            provider=row[3],
            enabled=bool(row[4]),
            provisioning_status=row[5],
            operating_status=row[6],
            created_at=row[7],
            updated_at=row[8],
            vip=vip or NO_VIP,
            additional_vips=additional.get(lb_id, ()),
            listeners=listeners.get(lb_id, ()),
            pools=pools.get(lb_id, ()),
        )
        reason = _why_broken(row, vip)
        if reason is None:
            usable.append(made)
        else:
            broken.append(BrokenLoadBalancer(lb_id, reason, made))
    return Graph(tuple(usable), tuple(broken))


def from_dicts(octavia: Mapping[str, Sequence[Mapping[str, Any]]]) -> Graph:
    """The graph of rows in JSON form, as bundles and scenario files hold them.

    Tables and columns that are not read are ignored, absent ones empty or DEFAULTS; times are ISO 8601
    strings. Raises MalformedRow.
    """
    return assemble({table: to_tuples(table, octavia.get(table) or ()) for table in COLUMNS})


def _load_balancer_order(row: Row) -> tuple[datetime, str]:
    return (row[7] or EARLIEST, row[0])


def _why_broken(row: Row, vip: Vip | None) -> str | None:
    """Why a load balancer has no graph. One that is going away needs no VIP: it must not get stuck."""
    if row[5] in GOING:
        return None
    if vip is None:
        return f"load balancer {row[0]} has no row in table vip"
    if not vip.address:
        return f"load balancer {row[0]} has no ip_address in its row of table vip"
    if canonical(vip.address) is None:
        return f"load balancer {row[0]} has ip_address {vip.address!r} in table vip, which is no IP address"
    return None


def _additional_vips(rows: Iterable[Row]) -> dict[str, tuple[Vip, ...]]:
    found: dict[str, list[Vip]] = {}
    for lb_id, address, port_id, subnet_id, network_id in rows:
        found.setdefault(lb_id, []).append(Vip(address or None, port_id, subnet_id, network_id))
    return {lb_id: tuple(sorted(vips, key=_vip_order)) for lb_id, vips in found.items()}


def _vip_order(vip: Vip) -> tuple[str, str]:
    return (vip.subnet_id or "", vip.address or "")


def _grouped(rows: Iterable[Row], parent: int, created_at: int) -> dict[str, list[Row]]:
    """Rows by the id in column `parent`, each group in (created_at, id) order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        group = groups.get(row[parent])
        if group is None:
            groups[row[parent]] = [row]
        else:
            group.append(row)
    for group in groups.values():
        if len(group) > 1:
            group.sort(key=lambda row: (row[created_at] or EARLIEST, row[0]))
    return groups


# Members outnumber all else. A frozen dataclass is filled through object.__setattr__, field by field;
# its unfrozen twin has the same layout, is filled three times as fast, and then takes the class over.
_MemberDraft: Any = make_dataclass("_MemberDraft", [field.name for field in fields(Member)], slots=True)


def _member(r: Row) -> Member:
    member = _MemberDraft(r[0], r[1], r[2] or "", r[3], r[4], r[5], bool(r[6]), bool(r[7]), r[8], r[9], r[10])
    member.__class__ = Member
    return member  # type: ignore[no-any-return]


def _members(rows: Iterable[Row]) -> dict[str, tuple[Member, ...]]:
    """Members by pool. Nearly all rows of a cloud are members': each group goes when it has been read."""
    groups = _grouped(rows, 1, 11)
    found = {}
    while groups:
        pool_id, group = groups.popitem()
        found[pool_id] = tuple(map(_member, group))
    return found


def _pools(tables: Tables) -> dict[str, tuple[Pool, ...]]:
    """Pools by load balancer."""
    members = _members(tables.get("member", ()))
    persistences = {r[0]: SessionPersistence(r[1], r[2]) for r in tables.get("session_persistence", ())}
    monitors = {
        r[1]: HealthMonitor(r[0], r[1], r[2], r[3], r[4], r[5], r[6], bool(r[7]), r[8], r[9])
        for r in tables.get("health_monitor", ())
    }
    found: dict[str, tuple[Pool, ...]] = {}
    for lb_id, group in _grouped(tables.get("pool", ()), 1, 7).items():
        found[lb_id] = tuple(
            Pool(
                id=row[0],
                protocol=row[2],
                algorithm=row[3],
                enabled=bool(row[4]),
                provisioning_status=row[5],
                operating_status=row[6],
                created_at=row[7],
                persistence=persistences.get(row[0]),
                members=members.get(row[0], ()),
                health_monitor=monitors.get(row[0]),
                name=row[8],
            )
            for row in group
        )
    return found


def _listeners(tables: Tables) -> dict[str, tuple[Listener, ...]]:
    """Listeners by load balancer."""
    l7 = _l7_objects(tables)
    found: dict[str, tuple[Listener, ...]] = {}
    for lb_id, group in _grouped(tables.get("listener", ()), 1, 8).items():
        found[lb_id] = tuple(
            Listener(
                id=row[0],
                protocol=row[2],
                port=row[3],
                default_pool_id=row[4] or None,
                enabled=bool(row[5]),
                provisioning_status=row[6],
                operating_status=row[7],
                created_at=row[8],
                l7=l7.get(row[0], ()),
                name=row[9],
            )
            for row in group
        )
    return found


def _l7_objects(tables: Tables) -> dict[str, tuple[L7Object, ...]]:
    """L7 policies and rules by listener: policies first, each kind by id."""
    listener_of: dict[str, str] = {}
    found: dict[str, list[L7Object]] = {}
    for policy_id, listener_id, status in sorted(tables.get("l7policy", ()), key=lambda row: str(row[0])):
        listener_of[policy_id] = listener_id
        found.setdefault(listener_id, []).append(L7Object(policy_id, "l7policies", status))
    for rule_id, policy_id, status in sorted(tables.get("l7rule", ()), key=lambda row: str(row[0])):
        if policy_id in listener_of:
            found[listener_of[policy_id]].append(L7Object(rule_id, "l7rules", status))
    return {listener_id: tuple(objects) for listener_id, objects in found.items()}
