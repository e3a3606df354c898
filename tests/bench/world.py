"""The servers of a bench, filled with a cloud: MariaDB, NB, SB, a Neutron over HTTP, an agent's sockets.

The correct Northbound rows are those that the product plans for the empty database, written by raw
transactions, so that filling shares no writing code with what is measured.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from bench import api, clouds
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import live_inputs
from ovnlb.reconciler.settings import Settings, load_settings
from ovnlb.reconciler.walk import Pass, walk_all
from servers.mariadb import MariaDb, running_mariadb
from servers.neutron import FakeNeutron, serving
from servers.octavia_db import DEFAULTS, TABLES
from servers.ovsdb import NB, SB, OvsdbServer, insert_rows, ovsdb_server, transact
from servers.status_agent import status_agent

_CHUNK = 500


@dataclass
class BenchWorld:
    """Servers that hold a cloud of `count`."""

    count: int
    directory: Path
    mariadb: MariaDb
    database: str
    nb: OvsdbServer
    sb: OvsdbServer
    neutron: FakeNeutron
    agent: Any

    def config(self, **overrides: Any) -> Path:
        """A configuration file for this world; `overrides` are options of [ovnlb]."""
        sockets = "\n".join(
            f"{name}_socket_path = {self.agent.path(name)}" for name in ("status", "stats", "get")
        )
        text = f"""
[database]
connection = {self.mariadb.url(self.database)}
[ovn]
ovn_nb_connection = {self.nb.remote}
ovn_sb_connection = {self.sb.remote}
[neutron]
auth_type = none
endpoint_override = {self.neutron.url}
[driver_agent]
{sockets}
[ovnlb]
"""
        path = self.directory / f"octavia-{len(list(self.directory.iterdir()))}.conf"
        path.write_text(text + "\n".join(f"{name} = {value}" for name, value in overrides.items()) + "\n")
        return path

    def settings(self, **overrides: Any) -> Settings:
        """The same as values."""
        return load_settings([str(self.config(**overrides))])

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements on Octavia's database; the rows of the last."""
        return self.mariadb.execute(*statements, database=self.database)

    def commits(self) -> int:
        """How many transactions the Northbound database has logged since it was made or compacted."""
        return self.nb.file.read_bytes().count(b"OVSDB JSON ")

    def cpu(self, server: str) -> float:
        """CPU seconds that `nb`, `sb` or `mariadb` has used."""
        process = self.mariadb.process if server == "mariadb" else getattr(self, server).process
        return cpu_seconds(process.pid)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def bench_world(count: int, *, rows: bool = True) -> Iterator[BenchWorld]:
    """A cloud of `count` load balancers; without `rows` the Northbound database has none of ours."""
    with ExitStack() as stack:
        mariadb = stack.enter_context(running_mariadb("--skip-networking", "--innodb-buffer-pool-size=256M"))
        database = mariadb.create_octavia()
        nb = stack.enter_context(ovsdb_server(NB))
        sb = stack.enter_context(ovsdb_server(SB))
        neutron = stack.enter_context(serving(api.neutron(count)))
        agent = stack.enter_context(status_agent(mariadb.url(database)))
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ovnlb-bench-")))
        world = BenchWorld(count, directory, mariadb, database, nb, sb, neutron, agent)
        write_octavia(world, clouds.octavia(count))
        nb.insert(clouds.northbound_global())
        for tables in clouds.topology(count):
            nb.insert(tables)
        if rows:
            write_rows(world)
        yield world


def write_octavia(world: BenchWorld, tables: Mapping[str, list[dict[str, Any]]]) -> None:
    """Insert rows into Octavia's tables, what a table requires filled up with defaults."""
    connection = pymysql.connect(
        unix_socket=str(world.mariadb.socket), user="root", database=world.database, autocommit=False
    )
    with connection, connection.cursor() as cursor:
        for table in TABLES:
            if rows := tables.get(table):
                cursor.execute(f"SHOW COLUMNS FROM {table}")
                needed = {
                    name
                    for name, _, null, _, default, _ in cursor.fetchall()
                    if null == "NO" and default is None
                }
                filled = [_filled(row, needed) for row in rows]
                names = list(filled[0])
                marks = ", ".join(["%s"] * len(names))
                cursor.executemany(
                    f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",
                    [tuple(row[name] for name in names) for row in filled],
                )
        connection.commit()


def _filled(row: Mapping[str, Any], needed: set[str]) -> dict[str, Any]:
    made = {name: DEFAULTS[name] for name in sorted(needed) if name not in row and name in DEFAULTS}
    times = {} if "load_balancer_id" in row and "ip_address" in row else {"created_at": clouds.EPOCH}
    return {**made, **times, **row}


def planned(world: BenchWorld) -> Pass:
    """The plans of everything, as the product makes them."""
    with live_inputs(world.settings()) as found:
        return walk_all(found.graph(Scope()), found.world)


def write_rows(world: BenchWorld) -> None:
    """The rows that must exist, and the monitors that OVN would make of them."""
    done = planned(world)
    assert not done.failed, done.failed[:3]
    remote = world.nb.unix
    for start in range(0, len(done.walked), _CHUNK):
        chunk = done.walked[start : start + _CHUNK]
        rows = [row for walked in chunk for row in walked.desired.state.rows]
        insert_rows(remote, NB, dict(_tables(rows)))
    monitors = [
        {"op": "insert", "table": "Service_Monitor", "row": _monitor(key)}
        for key in dict.fromkeys(key for walked in done.walked for key in walked.desired.monitors)
    ]
    for start in range(0, len(monitors), 2000):
        transact(world.sb.unix, SB, *monitors[start : start + 2000])
    # Monitors that are online change what the rows say of their members.
    for start in range(0, len(done.walked), _CHUNK):
        chunk = done.walked[start : start + _CHUNK]
        statuses = [_status(walked.desired.state.rows) for walked in chunk if walked.desired.monitors]
        operations = [operation for group in statuses for operation in group]
        if operations:
            transact(remote, NB, *operations)


def _tables(rows: list[LoadBalancerRow]) -> Iterator[tuple[str, Any]]:
    balancers, checks = [], []
    attached: dict[str, dict[str, list[str]]] = {"attached_switches": {}, "attached_routers": {}}
    for row in rows:
        symbol = f"lb:{len(balancers)}"
        names = []
        for check in row.health_checks:
            names.append(f"hc:{len(checks)}")
            options, ids = dict(check.options), dict(check.external_ids)
            checks.append({"_uuid": names[-1], "vip": check.vip, "options": options, "external_ids": ids})
        balancers.append(
            {
                "_uuid": symbol,
                "name": row.name,
                "protocol": row.protocol,
                "vips": dict(row.vips),
                "external_ids": dict(row.external_ids),
                "options": dict(row.options),
                "selection_fields": sorted(row.selection_fields),
                "ip_port_mappings": dict(row.ip_port_mappings),
                "health_check": names,
            }
        )
        for kind, targets in (("attached_switches", row.switches), ("attached_routers", row.routers)):
            for target in targets:
                attached[kind].setdefault(target, []).append(symbol)
    yield "Load_Balancer", balancers
    yield "Load_Balancer_Health_Check", checks
    yield from attached.items()


def _monitor(key: Any) -> dict[str, Any]:
    row = {"logical_port": key.logical_port, "ip": key.ip, "port": key.port, "protocol": key.protocol}
    return {**row, "src_mac": "fa:16:3e:ff:ff:fe", "src_ip": "10.0.0.2", "status": "online"}


def _status(rows: tuple[LoadBalancerRow, ...]) -> Iterator[dict[str, Any]]:
    for row in rows:
        told = row.external_ids["neutron:member_status"].replace('"ERROR"', '"ONLINE"')
        yield {
            "op": "mutate",
            "table": "Load_Balancer",
            "where": [["name", "==", row.name]],
            "mutations": [
                ["external_ids", "delete", ["set", ["neutron:member_status"]]],
                ["external_ids", "insert", ["map", [["neutron:member_status", told]]]],
            ],
        }
