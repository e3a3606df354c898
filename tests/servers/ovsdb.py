"""Private ovsdb-servers for tests: standalone or a RAFT cluster, and rows written and read as JSON.

Everything goes over raw JSON-RPC (RFC 7047), so that a test's own edits share no code with the product.
Rows have the form of the scenario files and bundles: maps as objects, sets as lists, references as
the `_uuid` of the row they lead to, which may be a symbolic name ("ls:neutron-...").
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

NB, SB = "OVN_Northbound", "OVN_Southbound"
SCHEMAS = {NB: Path("/usr/share/ovn/ovn-nb.ovsschema"), SB: Path("/usr/share/ovn/ovn-sb.ovsschema")}
_GLOBAL = {NB: "NB_Global", SB: "SB_Global"}
# References of a topology to rows that Neutron owns and no test describes: made up as they are named.
_STUBS = {"HA_Chassis_Group": {}, "Gateway_Chassis": {"chassis_name": "chassis-1"}}
_PATIENCE = 15.0

Row = Mapping[str, Any]
Tables = Mapping[str, Any]


class TransactionError(Exception):
    """The server refused an operation; the text is its reply."""


def free_port() -> int:
    """A TCP port of the loopback interface that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(condition: Any, what: str, patience: float = _PATIENCE, pause: float = 0.005) -> Any:
    """Poll until `condition()` is true and return its value; AssertionError naming `what` after that."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {patience} s in vain for {what}"
        time.sleep(pause)
    return value


def rpc(remote: str, method: str, params: Sequence[Any], patience: float = _PATIENCE) -> Any:
    """One JSON-RPC call to `unix:PATH` or `tcp:IP:PORT` and its result."""
    kind, _, where = remote.partition(":")
    family, address = (socket.AF_UNIX, where) if kind == "unix" else (socket.AF_INET, _host_port(where))
    with socket.socket(family) as sock:
        sock.settimeout(patience)
        sock.connect(address)
        sock.sendall(json.dumps({"method": method, "params": list(params), "id": 0}).encode())
        decoder, text = json.JSONDecoder(), b""
        while True:
            chunk = sock.recv(1 << 20)
            if not chunk:
                raise ConnectionError(f"{remote} closed the connection during {method}")
            text += chunk
            if not text.endswith(b"}"):
                continue
            try:
                reply, _ = decoder.raw_decode(text.decode())
            except (json.JSONDecodeError, UnicodeDecodeError):
                continue
            if reply.get("id") != 0 or "result" not in reply:
                text = b""
                continue
            if reply.get("error"):
                raise TransactionError(json.dumps(reply["error"]))
            return reply["result"]


def _host_port(where: str) -> tuple[str, int]:
    host, _, port = where.rpartition(":")
    return host, int(port)


def transact(remote: str, db: str, *operations: Row) -> list[dict[str, Any]]:
    """One transaction; every operation's result. TransactionError when any of them failed."""
    results: list[Any] = rpc(remote, "transact", [db, *operations])
    for result in results:
        if isinstance(result, dict) and "error" in result:
            raise TransactionError(json.dumps(result))
    return results


def schema(remote: str, db: str) -> dict[str, Any]:
    """The schema as the server has it."""
    result: dict[str, Any] = rpc(remote, "get_schema", [db])
    return result


def _reference(column: Mapping[str, Any]) -> str | None:
    """The table that a column's keys refer to."""
    kind = column["type"]
    key = kind["key"] if isinstance(kind, dict) else kind
    return key.get("refTable") if isinstance(key, dict) else None


class _Writer:
    """Turns tables of the bundle form into operations of one transaction."""

    def __init__(self, tables: Mapping[str, Any], known: Mapping[str, str]) -> None:
        self.schema, self.names, self.operations = tables, dict(known), list[dict[str, Any]]()
        self.inserted: list[str] = []

    def declare(self, table: str, row: Row) -> None:
        symbol = str(row.get("_uuid", f"{table}-{len(self.inserted)}"))
        self.names[symbol] = f"row{len(self.inserted)}"
        self.inserted.append(symbol)

    def insert(self, table: str, row: Row, symbol: str) -> None:
        if table not in self.schema:
            raise ValueError(f"the schema has no table {table}")
        columns = self.schema[table]["columns"]
        values = {}
        for name, value in row.items():
            if name == "_uuid":
                continue
            if name not in columns:
                raise ValueError(f"the schema has no column {table}.{name}")
            values[name] = self.datum(table, name, value)
        operation = {"op": "insert", "table": table, "row": values, "uuid-name": self.names[symbol]}
        if _is_uuid(symbol):
            operation["uuid"] = symbol
            del operation["uuid-name"]
        self.operations.append(operation)

    def datum(self, table: str, name: str, value: Any) -> Any:
        target = _reference(self.schema[table]["columns"][name])
        if isinstance(value, Mapping):
            return ["map", [[key, item] for key, item in value.items()]]
        many = isinstance(value, list | tuple | set | frozenset)
        # The server refuses a set with a member twice; recorded states have some.
        items = list(dict.fromkeys(value if many else [] if value is None else [value]))
        if target:
            items = [self.reference(target, f"{table}.{name}", str(item)) for item in items]
        return ["set", items] if len(items) != 1 else items[0]

    def reference(self, target: str, column: str, symbol: str) -> list[str]:
        if _is_uuid(symbol):
            return ["uuid", symbol]
        if symbol not in self.names and target in _STUBS:
            row = {"_uuid": symbol, "name": symbol, **_STUBS[target]}
            self.declare(target, row)
            self.insert(target, row, symbol)
        if symbol not in self.names:
            raise ValueError(f"{column} refers to {symbol}, which is in no table")
        name = self.names[symbol]
        return ["uuid", name] if _is_uuid(name) else ["named-uuid", name]


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def insert_rows(
    remote: str, db: str, tables: Tables, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Insert tables of the bundle form in one transaction; symbolic `_uuid` -> UUID of every row.

    `known`: what an earlier call returned, for references to its rows. A row with a real UUID as
    `_uuid` gets that UUID. `attached_switches` and `attached_routers` ({name: [_uuid of Load_Balancer
    rows]}) become references. ValueError for a table, column or reference that does not exist.
    """
    writer = _Writer(schema(remote, db)["tables"], known or {})
    attached = {
        "Logical_Switch": tables.get("attached_switches") or {},
        "Logical_Router": tables.get("attached_routers") or {},
    }
    pending: list[tuple[str, Row, str]] = []
    first: dict[str, Row] = {}
    for table, rows in tables.items():
        if table in ("attached_switches", "attached_routers"):
            continue
        for row in rows:
            if "_uuid" in row and first.setdefault(row["_uuid"], row) is not row:
                if first[row["_uuid"]] != row:
                    raise ValueError(f"two rows are called {row['_uuid']}")
                continue  # recorded twice
            writer.declare(table, row)
            pending.append((table, row, writer.inserted[-1]))
    for table, row, symbol in pending:
        writer.insert(table, row, symbol)
    for table, by_name in attached.items():
        for name, references in by_name.items():
            writer.operations.append(_attach(writer, table, name, references))
    if not writer.operations:
        return {}
    results = transact(remote, db, *writer.operations)
    uuids = iter(result["uuid"][1] for result in results if result and "uuid" in result)
    ordered = [
        operation.get("uuid-name", operation.get("uuid"))
        for operation in writer.operations
        if operation["op"] == "insert"
    ]
    by_operation = dict(zip(ordered, uuids, strict=True))
    return {
        symbol: symbol if _is_uuid(symbol) else by_operation[writer.names[symbol]]
        for symbol in writer.inserted
    }


def _attach(writer: _Writer, table: str, name: str, references: Sequence[str]) -> dict[str, Any]:
    column = f"{table}.load_balancer"
    rows = ["set", [writer.reference("Load_Balancer", column, item) for item in dict.fromkeys(references)]]
    return {
        "op": "mutate",
        "table": table,
        "where": [["name", "==", name]],
        "mutations": [["load_balancer", "insert", rows]],
    }


def _plain(value: Any) -> Any:
    """An OVSDB value as JSON: maps as objects, sets as sorted lists, references as UUIDs."""
    if not isinstance(value, list):
        return value
    kind, content = value
    if kind == "map":
        return {str(_plain(key)): _plain(item) for key, item in content}
    if kind == "set":
        return sorted(_plain(item) for item in content)
    return content


def dump(remote: str, db: str, tables: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """All rows of these tables in the bundle form, in the order of their UUIDs.

    Every column that may hold other than exactly one value is a list (or an object).
    """
    described = schema(remote, db)["tables"]
    columns = {table: described[table]["columns"] for table in tables}
    selects = [{"op": "select", "table": table, "where": []} for table in tables]
    found: dict[str, list[dict[str, Any]]] = {}
    for table, result in zip(tables, transact(remote, db, *selects), strict=True):
        rows = []
        for raw in result["rows"]:
            row = {"_uuid": raw["_uuid"][1]}
            for name, column in columns[table].items():
                kind = column["type"]
                scalar = not isinstance(kind, dict) or ("min" not in kind and "max" not in kind)
                value = _plain(raw[name])
                row[name] = value if scalar or isinstance(value, list | dict) else [value]
            rows.append(row)
        found[table] = sorted(rows, key=lambda row: str(row["_uuid"]))
    return found


def attachments(remote: str, table: str) -> dict[str, list[str]]:
    """Name of each Logical_Switch or Logical_Router -> UUIDs of its Load_Balancer rows, empty ones out."""
    rows = dump(remote, NB, [table])[table]
    return {row["name"]: row["load_balancer"] for row in rows if row["load_balancer"]}


def appctl(control: Path, *command: str) -> str:
    """Run ovs-appctl on the daemon that listens on this socket; what it printed."""
    done = subprocess.run(
        ["/usr/bin/ovs-appctl", "-t", str(control), *command],
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"ovs-appctl {command}: {done.stderr}"
    return done.stdout


class OvsdbServer:
    """One ovsdb-server process on `unix` (and `tcp` on the loopback interface when asked for)."""

    def __init__(self, directory: Path, db: str = NB, *, tcp: bool = False, name: str = "db") -> None:
        self.db, self.directory, self.name = db, directory, name
        self.file = directory / f"{name}.db"
        self.socket, self.control = directory / f"{name}.sock", directory / f"{name}.ctl"
        self.unix = f"unix:{self.socket}"
        self.port = free_port() if tcp else None
        self.tcp = f"tcp:127.0.0.1:{self.port}" if tcp else ""
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def remote(self) -> str:
        """What a client connects to: TCP when the server listens there."""
        return self.tcp or self.unix

    def create(self, schema_file: Path | None = None) -> None:
        """Make the empty standalone database."""
        _tool("create", self.file, schema_file or SCHEMAS[self.db])

    def start(self, *options: str) -> None:
        """Start the process, with more options of its own, and wait until it answers."""
        table = _GLOBAL.get(self.db)
        remotes = [f"--remote=punix:{self.socket}"]
        remotes += [f"--remote=ptcp:{self.port}:127.0.0.1"] if self.port else []
        remotes += [f"--remote=db:{self.db},{table},connections"] if table else []
        self.process = subprocess.Popen(
            [
                "/usr/sbin/ovsdb-server",
                "-vconsole:off",
                f"--log-file={self.directory / self.name}.log",
                f"--unixctl={self.control}",
                *remotes,
                *options,
                str(self.file),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self.answers, f"{self.name} to answer on {self.socket}")

    def answers(self) -> bool:
        """Whether a client can call it now."""
        if self.process is not None and self.process.poll() is not None:
            log = (self.directory / f"{self.name}.log").read_text()
            raise AssertionError(f"ovsdb-server ended with {self.process.returncode}: {log}")
        try:
            return bool(rpc(self.unix, "list_dbs", [], patience=2.0))
        except (OSError, TransactionError):
            return False

    def listen_tcp(self, inactivity_probe_ms: int) -> str:
        """Listen on one more TCP port whose clients are probed that often; its remote."""
        port = free_port()
        table = _GLOBAL[self.db]
        self.transact({"op": "insert", "table": table, "row": {}})
        target = {"target": f"ptcp:{port}:127.0.0.1", "inactivity_probe": inactivity_probe_ms}
        self.transact(
            {"op": "insert", "table": "Connection", "row": target, "uuid-name": "listener"},
            {
                "op": "update",
                "table": table,
                "where": [],
                "row": {"connections": ["named-uuid", "listener"]},
            },
        )
        return f"tcp:127.0.0.1:{port}"

    def stop(self) -> None:
        """End it with SIGTERM and wait."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL and wait."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop and start on the same file and addresses."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Stop answering without closing any connection (SIGSTOP)."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Go on after `freeze`."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
            self.process.send_signal(signal.SIGCONT)
            self.process.wait(_PATIENCE)
        self.process = None

    def appctl(self, *command: str) -> str:
        """Run ovs-appctl on it; what it printed."""
        return appctl(self.control, *command)

    def transactions(self) -> int:
        """How many transactions the database file has seen."""
        log = subprocess.run(
            ["/usr/bin/ovsdb-tool", "show-log", str(self.file)], capture_output=True, text=True, check=True
        )
        return log.stdout.count("record ")

    def transact(self, *operations: Row) -> list[dict[str, Any]]:
        """`transact` on this server."""
        return transact(self.unix, self.db, *operations)

    def insert(self, tables: Tables, known: Mapping[str, str] | None = None) -> dict[str, str]:
        """`insert_rows` on this server."""
        return insert_rows(self.unix, self.db, tables, known)

    def dump(self, *tables: str) -> dict[str, list[dict[str, Any]]]:
        """`dump` on this server."""
        return dump(self.unix, self.db, tables)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of one table."""
        return dump(self.unix, self.db, [table])[table]


def _tool(*command: Any) -> None:
    done = subprocess.run(["/usr/bin/ovsdb-tool", *map(str, command)], capture_output=True, check=False)
    assert done.returncode == 0, f"ovsdb-tool {command}: {done.stderr.decode()}"


class RaftCluster:
    """Members of one cluster; `remotes` is what a client gets."""

    def __init__(self, members: Sequence[OvsdbServer]) -> None:
        self.members = tuple(members)

    @property
    def remotes(self) -> str:
        """The comma-separated TCP remotes of all members."""
        return ",".join(member.tcp for member in self.members)

    def status(self, member: OvsdbServer) -> dict[str, str]:
        """What cluster/status says, by its labels."""
        lines = member.appctl("cluster/status", member.db).splitlines()
        return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}

    def role(self, member: OvsdbServer) -> str:
        """`leader`, `follower`, `candidate`; empty for a member that is down."""
        alive = member.process is not None and member.process.poll() is None
        return self.status(member).get("Role", "") if alive else ""

    def leader(self) -> OvsdbServer:
        """The leader, waiting for an election to end."""
        return wait_until(self._leader, "a leader")

    def followers(self) -> tuple[OvsdbServer, ...]:
        """The members that are up and follow the leader."""
        leader = self.leader()
        return tuple(item for item in self.members if item is not leader and self.role(item) == "follower")

    def _leader(self, without: OvsdbServer | None = None) -> OvsdbServer | None:
        others = (member for member in self.members if member is not without)
        return next((member for member in others if self.role(member) == "leader"), None)

    def transfer_leadership(self) -> OvsdbServer:
        """Pause the leader until the others have elected another, which is returned."""
        old = self.leader()
        old.freeze()
        try:
            return wait_until(lambda: self._leader(without=old), "another leader")
        finally:
            old.thaw()


@contextmanager
def ovsdb_server(
    db: str = NB, *, tcp: bool = False, schema_file: Path | None = None
) -> Iterator[OvsdbServer]:
    """A running standalone server with an empty database; its files go when the block ends."""
    directory = Path(tempfile.mkdtemp(prefix="ovnlb-db-"))
    server = OvsdbServer(directory, db, tcp=tcp)
    try:
        server.create(schema_file)
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def raft_cluster(db: str = NB, size: int = 3) -> Iterator[RaftCluster]:
    """A running RAFT cluster on the loopback interface, all members joined."""
    directory = Path(tempfile.mkdtemp(prefix="ovnlb-raft-"))
    members = [OvsdbServer(directory, db, tcp=True, name=f"m{number}") for number in range(size)]
    cluster, peers = RaftCluster(members), [f"tcp:127.0.0.1:{free_port()}" for _ in members]
    try:
        for member, peer in zip(members, peers, strict=True):
            if member is members[0]:
                _tool("create-cluster", member.file, SCHEMAS[db], peer)
            else:
                _tool("join-cluster", member.file, db, peer, peers[0])
            member.start()
            wait_until(lambda m=member: _joined(cluster, m), f"{member.name} to join")
        cluster.leader()
        yield cluster
    finally:
        for member in members:
            member.kill()
        shutil.rmtree(directory, ignore_errors=True)


def _joined(cluster: RaftCluster, member: OvsdbServer) -> bool:
    return cluster.status(member).get("Status") == "cluster member" and db_answers(member)


def db_answers(member: OvsdbServer) -> bool:
    """Whether the member serves its database (a joining one lists it only when it has it)."""
    return member.db in rpc(member.unix, "list_dbs", [])


@pytest.fixture
def nb_server() -> Iterator[OvsdbServer]:
    """An empty Northbound database of its own for one test."""
    with ovsdb_server(NB) as server:
        yield server


@pytest.fixture
def sb_server() -> Iterator[OvsdbServer]:
    """An empty Southbound database of its own for one test."""
    with ovsdb_server(SB) as server:
        yield server


@pytest.fixture
def nb_cluster() -> Iterator[RaftCluster]:
    """A Northbound RAFT cluster of three members for one test."""
    with raft_cluster(NB) as cluster:
        yield cluster
