"""Connecting to the Northbound and the Southbound database: the replicas that a process keeps.

Each call makes a connection of its own. Both return once the needed tables are complete, and raise
`Unreachable` or `WrongDatabase`, whose text names the remotes and what is wrong.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ovnlb.observed import monitors, northbound
from ovnlb.observed.connection import LOCK_NAME, RELOADED, RowEvent, prepare, start
from ovnlb.observed.indexes import NorthboundIndexes
from ovnlb.observed.monitors import MonitorIndex, SbReplica
from ovnlb.observed.remotes import Unreachable, WrongDatabase
from ovnlb.observed.replica import NbReplica
from ovnlb.observed.source import Endpoint

__all__ = [
    "LOCK_NAME",
    "RELOADED",
    "NbReplica",
    "RowEvent",
    "SbReplica",
    "Unreachable",
    "WrongDatabase",
    "connect_nb",
    "connect_sb",
]

_MANY = 10_000


def connect_nb(
    endpoint: Endpoint,
    lock: bool | str = False,
    *,
    leader_only: bool = True,
    persistent_uuids: bool = True,
) -> NbReplica:
    """Connect to the Northbound database.

    `lock`: fence every transaction by the OVSDB lock of that name (True: `LOCK_NAME`); not having it is
    no error here, see `has_lock`. `leader_only`: of a cluster, use the leader alone.
    `persistent_uuids`: the server lets a client choose a new row's UUID (ovsdb-server 3.1 and later);
    one that does not is found out at the first insert.
    """
    with _without_gc():
        made = prepare(endpoint, northbound.DATABASE, northbound.TABLES, lock, leader_only, northbound.PLAIN)
        indexes = NorthboundIndexes(made.tables)
        made.on_row, made.on_clear = indexes.changed, indexes.cleared
        api = start(made, northbound.DATABASE)
        if sum(len(table.rows) for table in made.tables.values()) > _MANY:
            # They live as long as the process: no collection needs to look through them again.
            gc.freeze()
        return NbReplica(api, made, indexes, persistent_uuids)


def connect_sb(endpoint: Endpoint, lock: bool | str = False, *, leader_only: bool = True) -> SbReplica:
    """Connect to the Southbound database: its Service_Monitor table. Arguments as of `connect_nb`."""
    with _without_gc():
        made = prepare(endpoint, monitors.DATABASE, monitors.TABLES, lock, leader_only, monitors.PLAIN)
        index = MonitorIndex()
        made.on_row, made.on_clear = index.changed, index.cleared
        return SbReplica(start(made, monitors.DATABASE), made, index)


_loading = threading.Lock()


@contextmanager
def _without_gc() -> Iterator[None]:
    """Loading makes millions of objects and no garbage: the collector would take half of the time."""
    with _loading:
        enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if enabled:
                gc.enable()
