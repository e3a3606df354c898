"""A driver-agent for tests: its three sockets, and what DriverUpdater does with a status message.

Frames and rules are those of octavia-contract.md sections 3 and 5: records in fixed order, one commit
each, the first failure stops the rest; DELETED removes a row (the load balancer's stays, DELETED).
The suites in tests/octavia_api and tests/faults use Octavia's own agent instead.
"""

from __future__ import annotations

import json
import shutil
import socketserver
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

ORDER = {
    "members": "member",
    "healthmonitors": "health_monitor",
    "pools": "pool",
    "l7rules": "l7rule",
    "l7policies": "l7policy",
    "listeners": "listener",
    "loadbalancers": "load_balancer",
}


class StatusAgent:
    """The sockets in a directory of their own, over one Octavia database.

    `messages`: all that were processed. `delay`: seconds before each is. `refuse`: ids of objects whose
    record fails. `hang`: set, messages are taken and never answered.
    """

    def __init__(self, url: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ovnlb-a"))
        self._engine = sa.create_engine(url)
        self._metadata = sa.MetaData()
        self._metadata.reflect(self._engine, only=[*ORDER.values(), "session_persistence"])
        self.messages: list[dict[str, Any]] = []
        self.delay = 0.0
        self.refuse: set[str] = set()
        self.hang = threading.Event()
        self._server: socketserver.BaseServer | None = None

    def path(self, name: str) -> Path:
        """The socket's path: status, stats or get."""
        return self.directory / f"{name}.sock"

    def start(self) -> None:
        """Listen, as the agent does at its start."""
        for name in ("stats", "get"):
            self.path(name).touch()
        self.path("status").unlink(missing_ok=True)
        self._server = _server(self.path("status"), self.answer)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether anybody listens."""
        return self._server is not None

    def stop(self) -> None:
        """Die: the socket's file stays, nobody listens."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def reset(self) -> None:
        """Listening, without messages and faults."""
        self.messages.clear()
        self.refuse.clear()
        self.hang.clear()
        self.delay = 0.0
        if not self.running:
            self.start()

    def close(self) -> None:
        """End of the test."""
        self.stop()
        self._engine.dispose()
        shutil.rmtree(self.directory, ignore_errors=True)

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Process one message; None: no answer ever."""
        if self.hang.is_set():
            return None
        time.sleep(self.delay)
        self.messages.append(message)
        for kind, table in ORDER.items():
            for record in message.get(kind, ()):
                try:
                    self._record(table, record)
                except Exception as error:  # noqa: BLE001 - as the agent does
                    return {
                        "status_code": 500,
                        "fault_string": str(error),
                        "status_object": kind,
                        "status_object_id": record.get("id"),
                    }
        return {"status_code": 200}

    def _record(self, name: str, record: dict[str, Any]) -> None:
        if record["id"] in self.refuse:
            raise RuntimeError(f"refused on behalf of a test: {record['id']}")
        table = self._metadata.tables[name]
        mine = table.c.id == record["id"]
        with self._engine.begin() as connection:
            if record.get("provisioning_status") == "DELETED" and name != "load_balancer":
                self._delete(connection, name, record["id"])
                return
            values = {
                column: record[column]
                for column in ("provisioning_status", "operating_status")
                if record.get(column)
            }
            if "updated_at" in table.c and values:
                values["updated_at"] = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
            found = connection.execute(sa.update(table).where(mine).values(values)).rowcount if values else 1
            if not found and name in ("listener", "l7policy", "l7rule"):
                known = connection.execute(sa.select(table.c.id).where(mine)).first()
                if known is None:
                    raise RuntimeError(f"{name} {record['id']} not found.")

    def _delete(self, connection: sa.Connection, name: str, object_id: str) -> None:
        tables = self._metadata.tables
        if name == "pool":
            for child in ("member", "health_monitor", "session_persistence"):
                connection.execute(sa.delete(tables[child]).where(tables[child].c.pool_id == object_id))
            listener = tables["listener"]
            connection.execute(
                sa.update(listener)
                .where(listener.c.default_pool_id == object_id)
                .values(default_pool_id=None)
            )
        if name == "listener":
            policies = sa.select(tables["l7policy"].c.id).where(tables["l7policy"].c.listener_id == object_id)
            rule = tables["l7rule"]
            connection.execute(sa.delete(rule).where(rule.c.l7policy_id.in_(policies)))
            policy = tables["l7policy"]
            connection.execute(sa.delete(policy).where(policy.c.listener_id == object_id))
        connection.execute(sa.delete(tables[name]).where(tables[name].c.id == object_id))


def _server(path: Path, answer: Any) -> socketserver.BaseServer:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            size = self.rfile.readline()
            if not size.strip().isdigit():
                return
            reply = answer(json.loads(self.rfile.read(int(size))))
            if reply is None:
                self.rfile.read()  # until the client gives up
                return
            data = json.dumps(reply).encode()
            self.wfile.write(b"%d\n" % len(data) + data)

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
        request_queue_size = 5

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that has gone is no error of the server's."""

    return Server(str(path), Handler)


@contextmanager
def status_agent(url: str) -> Iterator[StatusAgent]:
    """A listening agent over the database at `url`."""
    agent = StatusAgent(url)
    agent.start()
    try:
        yield agent
    finally:
        agent.close()


@pytest.fixture
def agent(octavia_mariadb: str) -> Iterator[StatusAgent]:
    """A listening agent over the test's MariaDB."""
    with status_agent(octavia_mariadb) as found:
        yield found
