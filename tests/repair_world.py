"""A cloud for repair commands: private servers, an Octavia database in a file, commands run in process.

Loading a state replaces everything that was there, so that one cloud serves many tests of a module.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ovnlb.reconciler import cli
from ovnlb.reconciler.commands import orphans
from ovnlb.reconciler.demo.inputs import make_database
from scenario_files import Step
from servers.neutron import FakeNeutron, serving
from servers.octavia_db import write_tables, writer
from servers.ovsdb import NB, SB, OvsdbServer, ovsdb_server
from servers.status_agent import StatusAgent, status_agent

CLEARED = ("Load_Balancer", "Logical_Switch", "Logical_Router", "NB_Global")
# Columns of the recordings that the installed schema lacks, or that lead out of what they hold.
NOT_LOADED = {"ha_chassis_group", "gateway_chassis", "gateway_port"}
OURS = ("Load_Balancer", "Load_Balancer_Health_Check")
# Before and after the load balancers that `write_tables` dates (its EPOCH is 2026-01-01).
LONG_AGO, LATELY = "2025-06-01T00:00:00Z", "2026-06-01T00:00:00Z"
Tables = Mapping[str, Any]


@dataclass(frozen=True)
class Ran:
    """What a command ended with and wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The report in JSON."""
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass
class RepairWorld:
    """The servers. `options` are lines of [ovnlb] in the configuration file."""

    directory: Path
    nb: OvsdbServer
    sb: OvsdbServer
    neutron: FakeNeutron
    url: str
    agent: StatusAgent
    engine: sa.Engine
    config: Path = field(init=False)
    _markers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.config = self.directory / "octavia.conf"
        self.configure()

    def configure(self, **options: Any) -> Path:
        """Write the configuration file, with these options of [ovnlb]."""
        sockets = "".join(
            f"{one}_socket_path = {self.agent.path(one)}\n" for one in ("status", "stats", "get")
        )
        ours = "".join(f"{name} = {value}\n" for name, value in options.items())
        self.config.write_text(
            f"[database]\nconnection = {self.url}\n"
            f"[ovn]\novn_nb_connection = {self.nb.unix}\novn_sb_connection = {self.sb.unix}\n"
            "ovsdb_connection_timeout = 10\n"
            f"[neutron]\nauth_type = none\nendpoint_override = {self.neutron.url}\n"
            f"[driver_agent]\n{sockets}[ovnlb]\n{ours}"
        )
        return self.config

    # States

    def load(self, step: Step, state: str = "nb_before") -> None:
        """Octavia, Neutron and the Northbound database as a recorded step has them."""
        assert step.octavia is not None
        self.octavia(step.octavia)
        self.neutron.load(step.neutron)
        self.date_ports(LONG_AGO)
        self.northbound(northbound_of(step, state))
        self.neutron.calls.clear()

    def octavia(self, tables: Tables) -> None:
        """Replace Octavia's rows."""
        write_tables(self.engine, tables)

    def northbound(self, tables: Tables) -> dict[str, str]:
        """Replace the Northbound rows; symbolic `_uuid` -> UUID."""
        self.nb.transact(*({"op": "delete", "table": table, "where": []} for table in CLEARED))
        found = {
            name: [without_chassis(row) for row in rows] if isinstance(rows, list) else rows
            for name, rows in tables.items()
        }
        return self.nb.insert({"NB_Global": [{"_uuid": "global", "nb_cfg": next(self._markers)}], **found})

    def date_ports(self, created_at: str, ids: Collection[str] | None = None) -> None:
        """Say when Neutron made its ports (or these)."""
        for port_id, port in self.neutron.store["ports"].items():
            if ids is None or port_id in ids:
                port["created_at"] = created_at

    def neutron_writes_ports(self) -> None:
        """From now on a port that is made in Neutron has its LSP before the answer comes, as in OVN."""
        create = type(self.neutron)._create

        def created(kind: str, wanted: dict[str, Any]) -> dict[str, Any]:
            made = create(self.neutron, kind, wanted)
            if kind == "ports":
                self.write_lsp(made)
            return made

        answer = type(self.neutron).answer

        def answered(method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
            status, reply = answer(self.neutron, method, path, query, body)
            if method == "PUT" and path.startswith("ports/"):
                self.show_owner(reply["port"])
            return status, reply

        self.neutron._create = created  # type: ignore[method-assign]
        self.neutron.answer = answered  # type: ignore[method-assign]

    def show_owner(self, port: Mapping[str, Any]) -> None:
        """Write a port's owner and device id into its LSP, as Neutron does."""
        values = {"neutron:device_owner": port["device_owner"], "neutron:device_id": port["device_id"]}
        self.edit(
            "Logical_Switch_Port",
            port["id"],
            ["external_ids", "delete", ["set", sorted(values)]],
            ["external_ids", "insert", ["map", sorted(values.items())]],
        )

    def edit(self, table: str, name: str, *mutations: Any) -> None:
        """Mutations of the rows of that name."""
        where = [["name", "==", name]]
        self.nb.transact({"op": "mutate", "table": table, "where": where, "mutations": list(mutations)})

    def set_keys(self, name: str, column: str, values: Mapping[str, str]) -> None:
        """Set keys of a map column of the Load_Balancer rows of that name, whatever they were."""
        self.edit(
            "Load_Balancer",
            name,
            [column, "delete", ["set", sorted(values)]],
            [column, "insert", ["map", sorted(map(list, values.items()))]],
        )

    def write_lsp(self, port: Mapping[str, Any]) -> None:
        """The row that Neutron makes of a health-monitor port."""
        addresses = " ".join([port["mac_address"], *(one["ip_address"] for one in port["fixed_ips"])])
        ids = {
            "neutron:port_name": port["name"],
            "neutron:device_owner": port["device_owner"],
            "neutron:device_id": port["device_id"],
        }
        row = {"name": port["id"], "type": "localport", "addresses": addresses}
        self.nb.transact(
            {
                "op": "insert",
                "table": "Logical_Switch_Port",
                "row": {**row, "external_ids": ["map", [[key, value] for key, value in ids.items()]]},
                "uuid-name": "lsp",
            },
            {
                "op": "mutate",
                "table": "Logical_Switch",
                "where": [["name", "==", f"neutron-{port['network_id']}"]],
                "mutations": [["ports", "insert", ["set", [["named-uuid", "lsp"]]]]],
            },
        )

    def sql(self, statement: str, **values: Any) -> list[Any]:
        """One statement in a transaction of its own."""
        with self.engine.begin() as connection:
            result = connection.execute(sa.text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    # Commands

    def run(self, *arguments: str) -> Ran:
        """`ovnlb COMMAND ...` with the configuration file."""
        return captured(lambda: cli.main([arguments[0], "--config-file", str(self.config), *arguments[1:]]))

    def orphans(self, *arguments: str, between: Callable[[], None] = lambda: None) -> Ran:
        """`ovnlb orphans ...` on a clock that only its own pause moves; `between` happens meanwhile."""
        parser, now = cli.parser("orphans"), [0.0]
        options = parser.parse_args(["orphans", "--config-file", str(self.config), *arguments])

        def pause(seconds: float) -> None:
            now[0] += seconds
            between()

        return captured(lambda: cli.guarded(lambda: int(orphans.run(options, pause, lambda: now[0]))))

    # What there is

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """The Load_Balancer rows by name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.nb.rows("Load_Balancer"):
            found.setdefault(row["name"], []).append(row)
        return found

    def versions(self) -> dict[str, Any]:
        """The `_version` of every row that we may write: it changes with every write."""
        tables = ("Load_Balancer", "Load_Balancer_Health_Check", "Logical_Switch", "Logical_Router", "NAT")
        selects = [
            {"op": "select", "table": table, "where": [], "columns": ["_uuid", "_version"]}
            for table in tables
        ]
        return {
            f"{table} {row['_uuid'][1]}": row["_version"][1]
            for table, result in zip(tables, self.nb.transact(*selects), strict=True)
            for row in result["rows"]
        }


def captured(command: Callable[[], int]) -> Ran:
    """Run a command with its output caught."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = command()
    return Ran(code, out.getvalue(), err.getvalue())


def northbound_of(step: Step, state: str = "nb_before") -> dict[str, Any]:
    """A recorded state; NAT rows of a topology that came with the step, too."""
    found = step.nb(state)
    nat = {row["_uuid"]: row for row in step.topology.get("NAT", [])}
    nat.update((row["_uuid"], row) for row in found.get("NAT", []) if row["_uuid"] in nat)
    return {**found, "NAT": list(nat.values())}


def without_chassis(row: dict[str, Any]) -> dict[str, Any]:
    """A gateway by its chassis group is one by `neutron:is_ext_gw` in every recording, too."""
    return {key: value for key, value in row.items() if key not in NOT_LOADED}


@contextmanager
def repair_world(directory: Path) -> Iterator[RepairWorld]:
    """The world, empty."""
    path = directory / "octavia.sqlite"
    make_database(path)
    url = f"sqlite:///{path}"
    with ExitStack() as stack:
        nb = stack.enter_context(ovsdb_server(NB))
        sb = stack.enter_context(ovsdb_server(SB))
        neutron = stack.enter_context(serving())
        agent = stack.enter_context(status_agent(url))
        engine = writer(url)
        stack.callback(engine.dispose)
        yield RepairWorld(directory, nb, sb, neutron, url, agent, engine)


@pytest.fixture(scope="module")
def repair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RepairWorld]:
    """A cloud for the tests of one module: each loads its own state."""
    with repair_world(tmp_path_factory.mktemp("repair")) as made:
        yield made
