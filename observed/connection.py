"""The OVSDB replica through ovsdbapp: connection, thread, lock, notices and transactions.

One Backend class per replica (ovsdbapp keeps the connection in a class attribute, first wins). The
connection's thread runs the IDL under `guard`; whoever reads rows holds `guard` too. It is never held
while waiting for a server, so a hanging server stops no reader.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar

from ovs import jsonrpc
from ovsdbapp.backend import ovs_idl
from ovsdbapp.backend.ovs_idl import connection

from ovnlb.observed import datum, plain_rows
from ovnlb.observed.columns import Columns, schema_helper
from ovnlb.observed.commit import Commit
from ovnlb.observed.framing import adopt_session
from ovnlb.observed.polling import Link
from ovnlb.observed.remotes import Unreachable, tls
from ovnlb.observed.row_events import RELOADED as RELOADED
from ovnlb.observed.row_events import RowEvent as RowEvent
from ovnlb.observed.source import Endpoint

LOG = logging.getLogger(__name__)
# The lock of ovn-octavia-provider's event connection: both of us at once is what it must prevent.
LOCK_NAME = "neutron_ovn_octavia_event_lock"
_CLOSE_PATIENCE = 10.0
_YIELD = 256


Listener = Callable[[RowEvent], None]


class _Rows(dict[Any, Any]):
    """A table's rows that say when they are all dropped: the IDL sends no notices of that.

    A plain dict: python-ovs' own keeps indexes that nobody here uses, at three times the cost.
    """

    __slots__ = ("table",)
    # python-ovs updates the indexes at each write of a column
    indexes: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table = table

    def clear(self) -> None:
        super().clear()
        self.table.idl.rows_cleared(self.table.name)


class ReplicaIdl(connection.OvsdbIdl):  # type: ignore[misc]
    """An IDL whose rows change only under `guard`."""

    def __init__(
        self,
        endpoint: Endpoint,
        helper: Any,
        plain: Mapping[str, plain_rows.Plain] | None = None,
        **options: Any,
    ) -> None:
        self.plain, self._yields = plain or {}, 0
        super().__init__(endpoint.remotes, helper, **options)
        tables = {name: self.tables[name] for name, plain in self.plain.items() if plain.whole}
        self._whole = {name: plain_rows.PlainTable(table, self.plain[name]) for name, table in tables.items()}
        adopt_session(self._session, {name: table.ready for name, table in self._whole.items()})
        self.endpoint, self.guard, self.complete = endpoint, threading.RLock(), threading.Event()
        self.loads = 0
        self.on_row: Callable[[str, Any], None] = lambda event, row: None
        self.on_clear: Callable[[str], None] = lambda table: None
        self.listeners: tuple[Listener, ...] = ()
        self._events: list[RowEvent] = []
        self._loading = False
        for table in self.tables.values():
            table.rows = _Rows(table)

    def run(self) -> bool:
        """Take in what the server sent; listeners are called afterwards, without the guard."""
        with self.guard:
            if self._session.is_connected():
                changed = super().run()
            else:
                with tls(self.endpoint):
                    changed = super().run()
            if self.state != self.IDL_S_MONITORING:
                self._loading = True
            elif self._loading:
                self._loading = False
                self.loads += 1
                self._events.append(RowEvent("", RELOADED))
                self.complete.set()
            events, self._events = self._events, []
        for event in events:
            self._tell(event)
        return bool(changed)

    def _tell(self, event: RowEvent) -> None:
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # a listener's fault must not stop the replica
                LOG.exception("a listener failed on %s of %s %s", event.event, event.table, event.uuid)

    # Rows and columns that are only read are kept as plain values. The names are python-ovs' private ones.

    def _Idl__process_update2(self, table: Any, uuid: Any, update: Any) -> Any:  # noqa: N802
        if (whole := self._whole.get(table.name)) is not None:
            return whole.update2(uuid, update)
        return super()._Idl__process_update2(table, uuid, update)

    def _Idl__process_update(self, table: Any, uuid: Any, old: Any, new: Any) -> Any:  # noqa: N802
        if (whole := self._whole.get(table.name)) is not None:
            return whole.update1(uuid, new)
        return super()._Idl__process_update(table, uuid, old, new)

    def _Idl__row_update(self, table: Any, row: Any, values: Any) -> Any:  # noqa: N802
        changed = False
        for name in self._plain_columns(table, values):
            row._data[name] = plain_rows.cell(table.columns[name].type, values.pop(name))
            changed = True
        for name in [name for name in values if name in table.columns and table.columns[name].type.is_map()]:
            row._data[name] = plain_rows.datum_of(table.columns[name].type, values.pop(name))
            changed = True
        return super()._Idl__row_update(table, row, values) or changed

    def _Idl__apply_diff(self, table: Any, row: Any, difference: Any) -> Any:  # noqa: N802
        old = {}
        for name in self._plain_columns(table, difference):
            kind, old[name] = table.columns[name].type, tuple(datum.members(row, name))
            new = plain_rows.cell(kind, difference.pop(name))
            row._data[name] = plain_rows.changed(kind, old[name], new)
        return super()._Idl__apply_diff(table, row, difference) | old

    def _plain_columns(self, table: Any, values: Any) -> tuple[str, ...]:
        plain = self.plain.get(table.name)
        return () if plain is None else tuple(name for name in plain.columns if name in values)

    def cooperative_yield(self) -> None:
        """Called for every row of an update; other threads get their turn now and then."""
        self._yields += 1
        if self._yields % _YIELD == 0:
            time.sleep(0)

    def notify(self, event: str, row: Any, updates: Any = None) -> None:
        """Called by the IDL for each changed row, once the whole update is in."""
        self.on_row(event, row)
        if self.listeners and self.state == self.IDL_S_MONITORING:
            old = datum.row_values(updates) if updates is not None else {}
            self._events.append(RowEvent(row._table.name, event, str(row.uuid), datum.row_values(row), old))

    def rows_cleared(self, table: str) -> None:
        """Called by a table that is about to be loaded anew."""
        self._loading = True
        self.on_clear(table)

    @property
    def live(self) -> bool:
        """Whether the session is up and the replica follows it."""
        return bool(
            self.state == self.IDL_S_MONITORING
            and self._session.is_connected()
            and self._session.get_seqno() == self._last_seqno
        )

    def steal_lock(self) -> None:
        """Ask for the configured lock, taking it from whoever holds it (RFC 7047, 4.1.8).

        The server refuses that to a session which is already waiting for the lock.
        """
        with self.guard:
            self._session.send(jsonrpc.Message.create_request("unlock", [self.lock_name]))
            request = jsonrpc.Message.create_request("steal", [self.lock_name])
            self._lock_request_id = request.id
            self._session.send(request)


class Replica:
    """A live copy of some tables of one database. Made by `connect`; closed by `close`."""

    def __init__(self, api: Any, endpoint: Endpoint) -> None:
        self._api, self.endpoint = api, endpoint
        self._connection, self._idl = api.ovsdb_connection, api.idl
        self._tables = self._idl.tables

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Nothing changes in the replica while the block runs (in this thread): keep it short."""
        with self._idl.guard:
            yield

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the replica's tables."""
        return tuple(self._tables)

    def rows(self, table: str) -> Iterator[Any]:
        """All python-ovs rows of a table. Only inside `snapshot`, and never for one load balancer."""
        return iter(self._tables[table].rows.values())

    def enum(self, table: str, column: str) -> frozenset[str]:
        """The values that a column's enum allows; empty for a column without an enum."""
        allowed = self._tables[table].columns[column].type.key.enum
        return frozenset() if allowed is None else frozenset(allowed.as_list())

    @property
    def initialised(self) -> bool:
        """Whether the whole database has been received at least once."""
        return bool(self._idl.complete.is_set())

    @property
    def connected(self) -> bool:
        """Whether the replica follows the server now. When not, it is complete but may be old."""
        return bool(self._idl.live)

    @property
    def generation(self) -> int:
        """Grows whenever anything in the replica changes."""
        return int(self._idl.change_seqno)

    @property
    def reconnects(self) -> int:
        """How often the database was received again after the first time."""
        return max(0, int(self._idl.loads) - 1)

    @property
    def has_lock(self) -> bool:
        """Whether the server has granted our lock on the session of now (False when none was asked)."""
        return bool(self._idl.live and self._idl.has_lock)

    @property
    def wants_lock(self) -> bool:
        """Whether writes are fenced by the lock."""
        return self._idl.lock_name is not None

    @property
    def lock_contended(self) -> bool:
        """Whether somebody else holds the lock."""
        return bool(self._idl.live and self._idl.is_lock_contended)

    def steal_lock(self, patience: float = 10.0) -> bool:
        """Take the lock from its holder; whether we have it now."""
        if self.wants_lock:
            self._idl.steal_lock()
            self._connection.txns.alert_notify()
            self.wait_for(lambda: self.has_lock, patience)
        return self.has_lock

    def wait_for(self, condition: Callable[[], bool], patience: float) -> bool:
        """Wait until `condition`, looked at after every change, holds; False after `patience` seconds."""
        changed = threading.Event()
        forget = self.on_change(lambda event: changed.set())
        deadline = time.monotonic() + patience
        try:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                # Lock replies are no row events: look again now and then.
                changed.wait(min(left, 0.02))
                changed.clear()
            return True
        finally:
            forget()

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each RowEvent from now on, on the replica's thread; returns how to stop."""
        with self._idl.guard:
            self._idl.listeners = (*self._idl.listeners, listener)

        def forget() -> None:
            with self._idl.guard:
                self._idl.listeners = tuple(one for one in self._idl.listeners if one is not listener)

        return forget

    def transact(self, command: Any) -> Any:
        """Run `command.run_idl(txn)` as one transaction on the replica's thread; its Outcome.

        Raises what the command raises, `CommitFailed`, and ovsdbapp's TimeoutException.
        """
        commit = Commit(self._api, self._connection)
        commit.add(command)
        return commit.commit()

    def close(self) -> None:
        """Stop the thread and close every descriptor. Idempotent."""
        self._connection.stop(_CLOSE_PATIENCE)
        self._connection.txns.close()


def prepare(
    endpoint: Endpoint,
    database: str,
    tables: Mapping[str, Columns],
    lock: bool | str = False,
    leader_only: bool = True,
    plain: Mapping[str, plain_rows.Plain] | None = None,
) -> ReplicaIdl:
    """The IDL of these tables, not started yet. `lock`: True for LOCK_NAME, or a name.

    plain: by table, what is never written and kept as plain values.

    Raises Unreachable and WrongDatabase.
    """
    made = ReplicaIdl(
        endpoint,
        schema_helper(endpoint, database, tables),
        plain,
        probe_interval=int(endpoint.probe_interval * 1000),
        leader_only=leader_only,
    )
    if lock:
        made.set_lock(LOCK_NAME if lock is True else lock)
    return made


def start(made: ReplicaIdl, database: str) -> Any:
    """Start the IDL's thread and wait for the whole database; the ovsdbapp Backend over it.

    Raises Unreachable when it has not come within the endpoint's timeout (no leader, for example).
    """
    endpoint = made.endpoint
    backend = type(f"{database}Backend", (ovs_idl.Backend,), {"_ovsdb_connection": None})
    api = backend(Link(made, endpoint.timeout), start=False, auto_index=False)
    api.ovsdb_connection.start()
    if not made.complete.wait(endpoint.timeout):
        Replica(api, endpoint).close()
        raise Unreachable(
            f"{database} at {endpoint.remotes} is not complete after {endpoint.timeout:g} s"
            " (a cluster without a leader?)"
        )
    return api
