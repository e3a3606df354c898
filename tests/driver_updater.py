"""What octavia-driver-agent does with status messages, on tables in memory.

Source: octavia-contract.md section 3, "DriverUpdater semantics" (observed on Octavia 19.0.0): fixed
order of kinds, one commit a record, the first failure stops the rest, DELETED removes the row and what
hangs below it but counts the quota of the object alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

ORDER = {
    "members": "member",
    "healthmonitors": "health_monitor",
    "pools": "pool",
    "l7rules": "l7rule",
    "l7policies": "l7policy",
    "listeners": "listener",
    "loadbalancers": "load_balancer",
}
STATUSES = {
    "provisioning_status": {
        "ACTIVE",
        "DELETED",
        "ERROR",
        "PENDING_CREATE",
        "PENDING_UPDATE",
        "PENDING_DELETE",
    },
    "operating_status": {"ONLINE", "OFFLINE", "DEGRADED", "ERROR", "NO_MONITOR", "DRAINING"},
}
BELOW = {
    "pool": (("member", "pool_id"), ("health_monitor", "pool_id"), ("session_persistence", "pool_id")),
    "listener": (("l7policy", "listener_id"),),
    "l7policy": (("l7rule", "l7policy_id"),),
}


class Refused(Exception):
    """The agent's answer 500."""


class DriverUpdater:
    """Applies messages to a copy of `tables`. `freed`: quota given back, by table."""

    def __init__(self, tables: Mapping[str, list[dict[str, Any]]]) -> None:
        self.tables = {name: deepcopy(rows) for name, rows in tables.items()}
        self.freed: Counter[str] = Counter()

    def update(self, message: Mapping[str, list[dict[str, str]]]) -> None:
        """One message. Raises Refused at the first record that the agent would refuse."""
        for kind, table in ORDER.items():
            for record in message.get(kind, ()):
                self._record(table, record)

    def _record(self, table: str, record: Mapping[str, str]) -> None:
        if "id" not in record:
            raise Refused("'id'")
        for column, known in STATUSES.items():
            if record.get(column) not in {None, "", *known}:
                raise Refused(f"{record[column]} is no {column}")
        row = self.row(table, record["id"])
        if record.get("provisioning_status") == "DELETED":
            self._delete(table, record, row)
        elif row is not None:
            row.update({key: value for key, value in record.items() if key in STATUSES and value})
        elif table in ("listener", "l7policy", "l7rule"):
            raise Refused(f"{table} {record['id']} not found.")

    def _delete(self, table: str, record: Mapping[str, str], row: dict[str, Any] | None) -> None:
        if table == "load_balancer":
            if row is None:
                raise Refused("'NoneType' object has no attribute 'vip'")
            if row["provisioning_status"] != "DELETED":
                self.freed[table] += 1
            row.update(provisioning_status="DELETED", operating_status=record.get("operating_status", ""))
        elif row is not None:
            self.freed[table] += 1
            self._remove(table, row["id"])

    def _remove(self, table: str, object_id: str) -> None:
        for child, column in BELOW.get(table, ()):
            for row in [row for row in self.tables.get(child, ()) if row[column] == object_id]:
                if "id" in row:
                    self._remove(child, row["id"])
                else:
                    self.tables[child].remove(row)
        self.tables[table] = [row for row in self.tables[table] if row["id"] != object_id]
        if table == "pool":
            for listener in self.tables.get("listener", ()):
                if listener.get("default_pool_id") == object_id:
                    listener["default_pool_id"] = None

    def row(self, table: str, object_id: str) -> dict[str, Any] | None:
        """The row of that id."""
        return next((row for row in self.tables.get(table, ()) if row["id"] == object_id), None)

    def pending(self) -> list[tuple[str, str, str]]:
        """(table, id, status) of everything that is still PENDING below living load balancers."""
        return [
            (table, row["id"], row["provisioning_status"])
            for table in ORDER.values()
            for row in self.tables.get(table, ())
            if row["provisioning_status"].startswith("PENDING")
        ]
