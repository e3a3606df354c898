"""A whole world for the service: private NB, SB and MariaDB, a Neutron over HTTP, a driver-agent.

Each test gets databases of its own; the service runs in this process' threads, or as `ovnlb run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from ovnlb.desired.verdicts import Outcome, status_update
from ovnlb.reconciler import nudge
from ovnlb.reconciler.agent import provider_agent
from ovnlb.reconciler.service import Service
from ovnlb.reconciler.settings import Settings, load_settings
from ovnlb.reconciler.walk import walk
from servers.mariadb import MariaDb
from servers.neutron import FakeNeutron, serving
from servers.octavia_db import write_tables, writer
from servers.ovsdb import NB, SB, SCHEMAS, OvsdbServer, ovsdb_server, wait_until
from servers.status_agent import status_agent

PENDING = ("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
_SCHEMA = json.loads(SCHEMAS[NB].read_text())["tables"]
# Neutron's and our tables: all that keep their rows by themselves.
NB_TABLES = sorted(
    name
    for name, table in _SCHEMA.items()
    if table.get("isRoot") and name not in ("NB_Global", "Connection", "SSL")
)


@dataclass
class ServiceWorld:
    """Servers, and what tests do to them.

    `overrides` are options of [ovnlb]. `nb_remote`: how daemons reach NB, where not as tests do.
    """

    directory: Path
    url: str
    nb: Any
    sb: OvsdbServer
    neutron: FakeNeutron
    agent: Any
    engine: sa.Engine
    overrides: dict[str, Any] = field(default_factory=dict)
    nb_remote: str = ""

    @property
    def nudge_path(self) -> str:
        """Where the service listens."""
        return str(self.agent.directory / "ovnlb.sock")

    def config(self, **overrides: Any) -> Path:
        """The configuration file of a daemon in this world."""
        sockets = "\n".join(
            f"{name}_socket_path = {self.agent.path(name)}" for name in ("status", "stats", "get")
        )
        options = {"poll_interval": 0.2, **self.overrides, **overrides}
        nb = self.nb_remote or self.nb.remote
        text = "\n".join(
            [
                f"[database]\nconnection = {self.url}",
                f"[ovn]\novn_nb_connection = {nb}\novn_sb_connection = {self.sb.remote}",
                "ovsdb_connection_timeout = 10\novsdb_probe_interval = 5000",
                f"[neutron]\nauth_type = none\nendpoint = {self.neutron.url}",
                f"[driver_agent]\n{sockets}",
                "[ovnlb]",
                *(f"{name} = {value}" for name, value in options.items()),
            ]
        )
        path = self.directory / f"octavia-{len(list(self.directory.iterdir()))}.conf"
        path.write_text(text)
        return path

    def settings(self, **overrides: Any) -> Settings:
        """The same as values."""
        return load_settings([str(self.config(**overrides))])

    @contextmanager
    def service(self, made: Service | None = None, **overrides: Any) -> Iterator[Service]:
        """A service running in threads of this process until the block ends."""
        service, stop, started = (
            made or Service(self.settings(**overrides)),
            threading.Event(),
            threading.Event(),
        )
        failed: list[BaseException] = []

        def run() -> None:
            try:
                service.run(stop, started.set)
            except BaseException as error:  # noqa: BLE001 - raised in the test's thread
                failed.append(error)
                started.set()

        thread = threading.Thread(target=run, name="service", daemon=True)
        thread.start()
        assert started.wait(30), "the service has not started"
        if failed:
            raise failed[0]
        try:
            yield service
        finally:
            stop.set()
            thread.join(60)
            assert not thread.is_alive(), "the service has not stopped"
            if failed:
                raise failed[0]

    @contextmanager
    def daemon(self, **overrides: Any) -> Iterator[Daemon]:
        """`ovnlb run` as a process of its own; killed at the end if it still runs."""
        made = Daemon(self.config(**overrides))
        try:
            yield made
        finally:
            made.kill()

    def load(
        self, tables: Mapping[str, Any], topology: Mapping[str, Any], neutron: Mapping[str, Any]
    ) -> None:
        """Neutron's side of the world, and Octavia's rows."""
        self.nb.insert(topology)
        self.neutron.load(neutron)
        self.octavia(tables)

    def octavia(self, tables: Mapping[str, Any]) -> None:
        """Replace Octavia's rows, in one transaction."""
        write_tables(self.engine, tables)

    def reset(self) -> None:
        """Empty databases again, and a Neutron and an agent without faults."""
        # Switches and routers first: what they hold keeps references for as long as the transaction runs.
        for tables in (("Logical_Switch", "Logical_Router"), NB_TABLES):
            self.nb.transact(*({"op": "delete", "table": table, "where": []} for table in tables))
        self.sb.transact({"op": "delete", "table": "Service_Monitor", "where": []})
        self.nb_remote = ""
        self.neutron.load({})
        self.neutron.faults.clear()
        self.octavia({})
        self.agent.reset()

    def nudge(self, lb_id: str | None) -> bool:
        """What the driver does."""
        return nudge.send(self.nudge_path, lb_id)

    def sql(self, statement: str, **values: Any) -> list[Any]:
        """One statement in a transaction of its own; its rows if it has any."""
        with self.engine.begin() as connection:
            result = connection.execute(sa.text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    def status(self, lb_id: str) -> str | None:
        """A load balancer's provisioning status."""
        rows = self.sql("SELECT provisioning_status FROM load_balancer WHERE id = :id", id=lb_id)
        return rows[0][0] if rows else None

    def unsettled(self) -> list[tuple[str, str, str]]:
        """Every object that is PENDING, children of DELETED load balancers left out."""
        found = [
            ("load_balancer", *row)
            for row in self.sql(
                "SELECT id, provisioning_status FROM load_balancer WHERE provisioning_status LIKE 'PENDING%'"
            )
        ]
        for table in ("listener", "pool", "member", "health_monitor"):
            query = f"SELECT id, provisioning_status FROM {table} WHERE provisioning_status LIKE 'PENDING%'"
            found += [(table, *row) for row in self.sql(query)]
        return found

    def settle(self, patience: float = 60.0) -> None:
        """Wait until nothing is PENDING."""
        try:
            wait_until(lambda: not self.unsettled(), "everything to settle", patience)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.unsettled()}") from None

    def differences(self, service: Service) -> list[str]:
        """What a second walk of everything would still do or tell."""
        living = "SELECT id FROM load_balancer WHERE provisioning_status <> 'DELETED' AND provider = 'ovn'"
        ids = [row[0] for row in self.sql(living)]
        found = []
        for lb in service.connections.database.load(ids).load_balancers:
            walked = walk(lb, service.world)
            plan = walked.plan
            found += [f"{change.op} {change.table} {change.column} {change.key}" for change in plan.changes]
            update = status_update(walked.lb, walked.desired.members, Outcome())
            found += [str(record) for record in update.records]
        return found

    def doubled(self) -> list[tuple[str, str]]:
        """Name and protocol of rows that exist more than once."""
        keys = [(row["name"], str(row["protocol"])) for row in self.balancers()]
        return sorted({key for key in keys if keys.count(key) > 1})

    def balancers(self) -> list[dict[str, Any]]:
        """The Load_Balancer rows."""
        return list(self.nb.dump("Load_Balancer")["Load_Balancer"])


class Daemon:
    """`ovnlb run` with a configuration file. `log` is what it wrote."""

    def __init__(self, config: Path, *program: str) -> None:
        self.config = config
        self.log_path = config.with_suffix(".log")
        command = program or ("-m", "ovnlb.reconciler.cli", "run", "--config-file", str(config), "--debug")
        environment = {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(Path(__file__).parent)}
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command], stdout=log, stderr=log, env={**os.environ, **environment}
            )

    @property
    def log(self) -> str:
        """Everything it has logged so far."""
        return self.log_path.read_text()

    def await_log(self, text: str, patience: float = 20.0) -> None:
        """Wait until the log holds a text."""
        wait_until(
            lambda: text in self.log or self.process.poll() is not None, f"{text!r} in the log", patience
        )
        assert text in self.log, f"the daemon ended with {self.process.poll()}: {self.log[-3000:]}"

    def stop(self, patience: float = 30.0) -> int:
        """SIGTERM, and its exit code."""
        self.process.terminate()
        return self.process.wait(patience)

    def kill(self) -> None:
        """SIGKILL."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@contextmanager
def service_world(
    mariadb: MariaDb,
    directory: Path,
    make_nb: Callable[[], Any] = lambda: ovsdb_server(NB),
    make_agent: Callable[[str], Any] = status_agent,
) -> Iterator[ServiceWorld]:
    """The world, empty. The makers give context managers, the agent's takes the database URL."""
    name = mariadb.create_octavia()
    url = mariadb.url(name)
    with ExitStack() as stack:
        stack.callback(mariadb.drop, name)
        nb = stack.enter_context(make_nb())
        sb = stack.enter_context(ovsdb_server(SB))
        neutron = stack.enter_context(serving())
        agent = stack.enter_context(make_agent(url))
        engine = writer(url)
        stack.callback(engine.dispose)
        yield ServiceWorld(directory, url, nb, sb, neutron, agent, engine)


@pytest.fixture
def world(mariadb: MariaDb, tmp_path: Path) -> Iterator[ServiceWorld]:
    """The world of one test."""
    with service_world(mariadb, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def servers(mariadb: MariaDb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceWorld]:
    """The servers of one module of tests."""
    with service_world(mariadb, tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture
def shared_world(servers: ServiceWorld) -> ServiceWorld:
    """The module's world, emptied for one test."""
    servers.reset()
    return servers


def elapsed(action: Callable[[], Any]) -> float:
    """How many seconds an action takes."""
    started = time.monotonic()
    action()
    return time.monotonic() - started


def agent_process(config: str, exit_event: Any, started: Any) -> None:
    """What octavia-driver-agent does in the process of a provider agent; importable by a spawned one."""
    cfg.CONF(["--config-file", config], project="octavia")
    started.set()
    provider_agent(exit_event)
