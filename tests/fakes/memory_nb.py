"""An interpreter of plans on values: what the rows of one load balancer are after a plan was applied.

Compared with a real ovsdb-server in tests/scenarios/test_memory_equals_server.py. It follows OVSDB
where a plan could hit it: a UUID is inserted once, an unset key must exist, health checks that
nothing refers to vanish.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow, NbState
from ovnlb.diff.plan import Change, Op, Plan

LB = "Load_Balancer"
CHECK = "Load_Balancer_Health_Check"
SIDES = {"Logical_Switch": "switches", "Logical_Router": "routers"}
_EMPTY = {
    "name": "",
    "protocol": None,
    "external_ids": {},
    "vips": {},
    "selection_fields": [],
    "options": {},
    "ip_port_mappings": {},
}


class BadChange(AssertionError):
    """A change that the real database would refuse, or that names a value it did not see."""


@dataclass
class _Row:
    columns: dict[str, Any]
    checks: list[str] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)
    routers: set[str] = field(default_factory=set)


@dataclass
class _Tables:
    rows: dict[str, _Row]
    checks: dict[str, dict[str, Any]]


def apply_in_memory(have: NbState, plan: Plan) -> NbState:
    """The state after the plan's changes. Raises BadChange where a server would refuse one."""
    tables = _load(have)
    for change in plan.changes:
        _apply(tables, change)
    return NbState(rows=_rows(tables), suspect=have.suspect)


def _load(have: NbState) -> _Tables:
    tables = _Tables({}, {})
    for row in have.rows:
        assert row.uuid
        columns = {
            "name": row.name,
            "protocol": row.protocol,
            "external_ids": dict(row.external_ids),
            "vips": dict(row.vips),
            "selection_fields": sorted(row.selection_fields),
            "options": dict(row.options),
            "ip_port_mappings": dict(row.ip_port_mappings),
        }
        checks = [check.uuid or "" for check in row.health_checks]
        tables.rows[row.uuid] = _Row(columns, checks, set(row.switches), set(row.routers))
        for check in row.health_checks:
            tables.checks[check.uuid or ""] = {
                "vip": check.vip,
                "options": dict(check.options),
                "external_ids": dict(check.external_ids),
            }
    return tables


def _apply(tables: _Tables, change: Change) -> None:
    match change.op:
        case Op.ATTACH | Op.DETACH:
            _reference(tables, change)
        case Op.INSERT:
            _insert(tables, change)
        case Op.DELETE:
            _delete(tables, change)
        case Op.SET | Op.UNSET:
            _write(_columns(tables, change), change)


def _columns(tables: _Tables, change: Change) -> dict[str, Any]:
    if change.table == CHECK:
        if change.owner is None or change.row not in tables.rows[change.owner].checks:
            raise BadChange(f"{change} changes a check of another row")
        return tables.checks[change.row]
    return tables.rows[change.row].columns


def _insert(tables: _Tables, change: Change) -> None:
    if change.row in tables.rows or change.row in tables.checks:
        raise BadChange(f"duplicate uuid {change.row}")
    if change.table == LB:
        tables.rows[change.row] = _Row({**_EMPTY, **change.after})
    else:
        assert change.owner
        tables.checks[change.row] = dict(change.after)
        tables.rows[change.owner].checks.append(change.row)


def _delete(tables: _Tables, change: Change) -> None:
    if change.table == LB:
        del tables.rows[change.row]
    else:
        assert change.owner
        tables.rows[change.owner].checks.remove(change.row)


def _reference(tables: _Tables, change: Change) -> None:
    names: set[str] = getattr(tables.rows[change.key or ""], SIDES[change.table])
    if (change.op is Op.ATTACH) == (change.row in names):
        raise BadChange(f"{change} changes nothing")
    names.symmetric_difference_update({change.row})


def _write(columns: dict[str, Any], change: Change) -> None:
    assert change.column
    if change.key is None:
        _seen(columns[change.column], change)
        columns[change.column] = change.after
        return
    values = dict(columns[change.column])
    _seen(values.get(change.key), change)
    values.pop(change.key, None)
    if change.op is Op.SET:
        values[change.key] = change.after
    columns[change.column] = values


def _seen(value: Any, change: Change) -> None:
    if value != change.before:
        raise BadChange(f"{change} expects another value than {value!r}")
    if change.before == change.after:
        raise BadChange(f"{change} changes nothing")


def _rows(tables: _Tables) -> tuple[LoadBalancerRow, ...]:
    return tuple(
        LoadBalancerRow(
            **{**row.columns, "selection_fields": frozenset(row.columns["selection_fields"])},
            health_checks=tuple(
                HealthCheckRow(**tables.checks[uuid], uuid=uuid) for uuid in sorted(row.checks)
            ),
            switches=frozenset(row.switches),
            routers=frozenset(row.routers),
            uuid=key,
        )
        for key, row in sorted(tables.rows.items())
    )
