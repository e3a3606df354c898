"""The demo's inputs: its SQLite Octavia database, its private Northbound, Neutron's facts from a file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.graph import Graph
from ovnlb.desired.octavia import check_schema, load_all, load_many, open_engine
from ovnlb.diff.plan import Plan
from ovnlb.observed.bundle import BundleNeutron
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.inputs import Scope, scoped
from ovnlb.reconciler.rounds import Means
from ovnlb.reconciler.walk import World
from ovnlb.reconciler.writing import write_batch

PROVIDERS = ("ovn",)


def data(name: str) -> Any:
    """One of the demo's JSON files."""
    return json.loads(resources.files("ovnlb.reconciler.demo").joinpath(name).read_text("utf-8"))


def make_database(path: Path) -> None:
    """Create the SQLite file with Octavia's tables, empty."""
    schema = resources.files("ovnlb.reconciler").joinpath("octavia_sqlite.sql").read_text("utf-8")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)


def fill_database(path: Path, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Replace the content of the tables, in one transaction, as Octavia's API commits."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, rows in tables.items():
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own file
            for row in rows:
                columns, marks = ", ".join(row), ", ".join("?" * len(row))
                connection.execute(
                    f"INSERT INTO {table} ({columns}) VALUES ({marks})",  # noqa: S608
                    list(row.values()),
                )


class DemoInputs:
    """Graphs from the SQLite file, planned against the private Northbound."""

    def __init__(self, path: Path, nb: NbReplica) -> None:
        self._engine, self._nb = open_engine(f"sqlite:///{path}"), nb
        check_schema(self._engine)
        self.world = World(nb=nb, neutron=BundleNeutron(data("neutron.json")), health=self._health)
        self.transactions = 0

    def graph(self, scope: Scope) -> Graph:
        """The graph in scope."""
        return scoped(load_all(self._engine, PROVIDERS), scope)

    def means(self) -> Means:
        """How a round reads and writes here."""
        return Means(self.world, self._load, self._write)

    @contextmanager
    def foreign_write(self) -> Iterator[None]:
        """A block in which somebody else writes; at its end the replica has seen it."""
        before = self._nb.generation
        yield
        self._nb.wait_for(lambda: self._nb.generation > before, 10)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _load(self, ids: Collection[str]) -> Graph:
        return load_many(self._engine, ids)

    def _write(self, plans: Sequence[Plan]) -> AppliedEach:
        outcome = write_batch(self._nb, plans)
        self.transactions += outcome.transactions
        return outcome

    def _health(self) -> Health:
        # Nobody probes the demo's backends: no northd runs. The two web servers are taken as alive.
        alive = (("021", "10.0.0.21"), ("021", "fd00:1::21"), ("022", "10.0.0.22"))
        keys = (MonitorKey(f"b0000000-0000-4000-8000-000000000{port}", ip, 8080, "tcp") for port, ip in alive)
        return Health(dict.fromkeys(keys, "online"), complete=True)


@contextmanager
def demo_inputs(path: Path, remote: str) -> Iterator[DemoInputs]:
    """Connect to both databases of the demo."""
    nb = connect_nb(Endpoint(remote, timeout=10), lock=True)
    try:
        nb.wait_for(lambda: nb.has_lock, 10)
        inputs = DemoInputs(path, nb)
        try:
            yield inputs
        finally:
            inputs.close()
    finally:
        nb.close()
