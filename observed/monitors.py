"""The Service_Monitor rows of the Southbound database, live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ovnlb.desired.facts import MonitorKey
from ovnlb.observed import datum
from ovnlb.observed.columns import Columns
from ovnlb.observed.connection import Replica, ReplicaIdl
from ovnlb.observed.indexes import DELETE, KeyIndex
from ovnlb.observed.plain_rows import Plain
from ovnlb.observed.sb import monitor_key, monitor_status, worst

DATABASE = "OVN_Southbound"
TABLE = "Service_Monitor"
TABLES = {TABLE: Columns(("logical_port", "ip", "port", "protocol", "status"))}
# We never write them, and a large cloud has tens of thousands.
PLAIN = {TABLE: Plain(frozenset(TABLES[TABLE].required), whole=True)}


@dataclass(frozen=True, slots=True)
class MonitorRow:
    """One Service_Monitor as the database spells it; `protocol` and `status` empty when absent."""

    logical_port: str
    ip: str
    port: int
    protocol: str
    status: str


class MonitorIndex:
    """Status by key, kept from row notices: a probe's result costs itself, not the whole table."""

    def __init__(self) -> None:
        self.statuses: dict[MonitorKey, str] = {}
        self._rows: KeyIndex[MonitorKey] = KeyIndex()
        self._status: dict[UUID, str] = {}

    def changed(self, event: str, row: Any) -> None:
        """Take in one notice of the IDL: `row` as it is now, as it was when it is gone."""
        values = {column: datum.first(row, column) for column in TABLES[TABLE].required}
        key = None if event == DELETE else monitor_key(values)
        self._status[row.uuid] = monitor_status(values)
        gone = self._rows.put(row.uuid, () if key is None else (key,))
        if key is None:
            del self._status[row.uuid]
        for touched in gone if key is None else gone | {key}:
            found = [self._status[uuid] for uuid in self._rows.rows(touched)]
            if found:
                self.statuses[touched] = worst(found)
            else:
                self.statuses.pop(touched, None)

    def cleared(self, _table: str) -> None:
        """Forget the table, whose rows are about to be loaded anew."""
        self.statuses.clear()
        self._status.clear()
        self._rows.clear()


class SbReplica(Replica):
    """Service_Monitor rows; `on_change` tells of them as RowEvents."""

    def __init__(self, api: Any, made: ReplicaIdl, index: MonitorIndex) -> None:
        super().__init__(api, made.endpoint)
        self._index = index

    def monitors(self) -> tuple[MonitorRow, ...]:
        """All rows, in no order."""
        with self._idl.guard:
            return tuple(_monitor(row) for row in self._tables[TABLE].rows.values())

    def statuses(self) -> dict[MonitorKey, str]:
        """The status by key, of now; of several rows with one key the worst counts."""
        with self._idl.guard:
            return dict(self._index.statuses)


def _monitor(row: Any) -> MonitorRow:
    text = {column: str(datum.first(row, column) or "") for column in TABLES[TABLE].required}
    return MonitorRow(
        text["logical_port"], text["ip"], int(text["port"] or 0), text["protocol"], text["status"]
    )
