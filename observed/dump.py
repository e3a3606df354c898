"""The replicas as the `nb` and `sb` parts of a bundle: what a plan depends on, and no more."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ovnlb.observed import datum
from ovnlb.observed.connection import Replica

# Of 100,000 ports a plan reads few: those of routers and provider networks, and those it names.
_STRUCTURAL_PORTS = frozenset({"router", "localnet"})
_REFERENCES = {
    "Logical_Switch": {"ports": "Logical_Switch_Port", "load_balancer": "Load_Balancer"},
    "Logical_Router": {"load_balancer": "Load_Balancer"},
    "Load_Balancer": {"health_check": "Load_Balancer_Health_Check"},
}


def northbound(
    nb: Replica, ports: Collection[str], balancers: Collection[str] | None = None
) -> dict[str, Any]:
    """The Northbound tables as bundle rows.

    ports: names of the LSPs to keep besides those of routers and provider networks. balancers: names
    of the Load_Balancer rows to keep, None for all. References to rows left out are left out, too.
    """
    with nb.snapshot():
        tables: dict[str, Any] = {
            "Load_Balancer": [
                row for row in _rows(nb, "Load_Balancer") if balancers is None or row["name"] in balancers
            ],
            "Logical_Switch_Port": [
                row
                for row in _rows(nb, "Logical_Switch_Port")
                if row["type"] in _STRUCTURAL_PORTS or row["name"] in ports
            ],
        }
        for table in nb.tables:
            tables.setdefault(table, list(_rows(nb, table)))
        enum = nb.enum("Load_Balancer", "selection_fields")
    kept = {check for row in tables["Load_Balancer"] for check in row["health_check"]}
    checks = tables["Load_Balancer_Health_Check"]
    tables["Load_Balancer_Health_Check"] = [row for row in checks if row["_uuid"] in kept]
    _drop_dangling(tables)
    return {**tables, "schema": {"selection_fields": sorted(enum)}}


def southbound(sb: Replica) -> dict[str, Any]:
    """The Southbound tables that we read as bundle rows."""
    with sb.snapshot():
        return {table: list(_rows(sb, table)) for table in sb.tables}


def _rows(replica: Replica, table: str) -> Iterator[dict[str, Any]]:
    for row in replica.rows(table):
        yield {"_uuid": str(row.uuid), **datum.row_values(row)}


def _drop_dangling(tables: dict[str, Any]) -> None:
    for table, columns in _REFERENCES.items():
        for column, target in columns.items():
            known = {row["_uuid"] for row in tables[target]}
            for row in tables[table]:
                row[column] = [uuid for uuid in row[column] if uuid in known]
