"""The Service_Monitor rows of the Southbound database, live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ovnlb.observed import datum
from ovnlb.observed.columns import Columns
from ovnlb.observed.connection import Replica

DATABASE = "OVN_Southbound"
TABLES = {"Service_Monitor": Columns(("logical_port", "ip", "port", "protocol", "status"))}


@dataclass(frozen=True, slots=True)
class MonitorRow:
    """One Service_Monitor as the database spells it; `protocol` and `status` empty when absent."""

    logical_port: str
    ip: str
    port: int
    protocol: str
    status: str


class SbReplica(Replica):
    """Service_Monitor rows; `on_change` tells of them as RowEvents."""

    def monitors(self) -> tuple[MonitorRow, ...]:
        """All rows, in no order."""
        with self._idl.guard:
            return tuple(_monitor(row) for row in self._tables["Service_Monitor"].rows.values())


def _monitor(row: Any) -> MonitorRow:
    text = {column: str(datum.first(row, column) or "") for column in TABLES["Service_Monitor"].required}
    return MonitorRow(
        text["logical_port"], text["ip"], int(text["port"] or 0), text["protocol"], text["status"]
    )
