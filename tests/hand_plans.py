"""Plans written by hand, and a small Northbound database to apply them to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID, uuid5

from ovnlb.desired.rows import health_check_row_uuid, load_balancer_row_uuid
from ovnlb.diff.plan import Change, Op, Plan, Reason
from servers.ovsdb import OvsdbServer

BALANCER, CHECK = "Load_Balancer", "Load_Balancer_Health_Check"
SWITCH, ROUTER = "Logical_Switch", "Logical_Router"


def lb_id(number: int) -> str:
    """The id of a load balancer, readable in a failure."""
    return f"1b000000-0000-4000-8000-{number:012d}"


def topology(switches: int = 3, routers: int = 1) -> dict[str, list[dict[str, Any]]]:
    """Switches `ls0`... and routers `lr0`... without ports."""
    return {
        SWITCH: [{"_uuid": f"ls:{n}", "name": f"ls{n}"} for n in range(switches)],
        ROUTER: [{"_uuid": f"lr:{n}", "name": f"lr{n}"} for n in range(routers)],
    }


def row_columns(name: str, protocol: str | None = "tcp", **more: Any) -> dict[str, Any]:
    """The columns of a Load_Balancer as a plan holds them."""
    return {
        "name": name,
        "protocol": protocol,
        "external_ids": {"enabled": "True", "neutron:vip": "10.0.0.10"},
        "vips": {"10.0.0.10:80": "10.0.0.21:80,10.0.0.22:80"},
        "selection_fields": ["ip_dst", "ip_src"],
        "options": {},
        "ip_port_mappings": {},
        **more,
    }


def insert(name: str, protocol: str | None = "tcp", **columns: Any) -> Change:
    """A row under its persistent UUID."""
    uuid = str(load_balancer_row_uuid(name, protocol))
    after = row_columns(name, protocol, **columns)
    return Change(Op.INSERT, BALANCER, uuid, None, None, None, after, Reason.MISSING)


def insert_check(owner: str, monitor: str, vip: str = "10.0.0.10:80") -> Change:
    """A health check of that row."""
    after = {
        "vip": vip,
        "options": {"interval": "5", "timeout": "3"},
        "external_ids": {"octavia:healthmonitor": monitor},
    }
    uuid = str(health_check_row_uuid(monitor, vip))
    return Change(Op.INSERT, CHECK, uuid, None, None, None, after, Reason.MISSING, owner)


def set_key(row: str, column: str, key: str, before: str | None, after: str, table: str = BALANCER) -> Change:
    """One key of a map column."""
    return Change(Op.SET, table, row, column, key, before, after, Reason.DRIFTED)


def unset(row: str, column: str, key: str, before: str) -> Change:
    """One key of a map column away."""
    return Change(Op.UNSET, BALANCER, row, column, key, before, None, Reason.MEMBER_REMOVED)


def set_column(row: str, column: str, before: Any, after: Any, table: str = BALANCER) -> Change:
    """A whole column."""
    return Change(Op.SET, table, row, column, None, before, after, Reason.DRIFTED)


def attach(name: str, row: str, table: str = SWITCH) -> Change:
    """A reference from a switch or router."""
    return Change(Op.ATTACH, table, name, "load_balancer", row, None, row, Reason.TOPOLOGY_CHANGED)


def detach(name: str, row: str, table: str = SWITCH) -> Change:
    """No reference from a switch or router."""
    return Change(Op.DETACH, table, name, "load_balancer", row, row, None, Reason.TOPOLOGY_CHANGED)


def delete(row: str, before: dict[str, Any], owner: str | None = None) -> Change:
    """A Load_Balancer, or (with its owner) a health check."""
    table = BALANCER if owner is None else CHECK
    return Change(Op.DELETE, table, row, None, None, before, None, Reason.INTENT_DELETED, owner)


def plan(name: str, *changes: Change, **more: Any) -> Plan:
    """A plan of these changes."""
    return Plan(name, changes=changes, **more)


def creation(name: str, protocol: str | None = "tcp", switches: Iterable[str] = ("ls0",)) -> Plan:
    """A plan that creates a row with a check and attaches it."""
    uuid = str(load_balancer_row_uuid(name, protocol))
    monitor = str(uuid5(UUID(name), "monitor"))
    attachments = [attach(switch, uuid) for switch in switches]
    return plan(name, insert(name, protocol), insert_check(uuid, monitor), *attachments)


def edit(server: OvsdbServer, uuid: str, column: str, *mutations: Any, table: str = BALANCER) -> None:
    """Another client's edit: mutations of one column of one row."""
    where = [["_uuid", "==", ["uuid", uuid]]]
    found = [[column, *mutation] for mutation in mutations]
    server.transact({"op": "mutate", "table": table, "where": where, "mutations": found})


def remove(server: OvsdbServer, table: str, uuid: str) -> None:
    """Another client's delete."""
    server.transact({"op": "delete", "table": table, "where": [["_uuid", "==", ["uuid", uuid]]]})
