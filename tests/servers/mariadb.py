"""A private mariadbd for tests, with Octavia's real schema, and the SQLite form of the same schema.

The server has its own data directory, listens on a unix socket only (unless a test asks for TCP) and
gives durability up for speed. A missing binary is a failure, never a skip.
"""

from __future__ import annotations

import getpass
import itertools
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pymysql
import pytest

SCHEMA = Path(__file__).parent.parent / "data" / "octavia_empty.sql"
START_TIMEOUT = 60.0

_numbers = itertools.count(1)


@dataclass(frozen=True)
class MariaDb:
    """A running server. `socket` is its unix socket; root needs no password there.

    spare: databases that were given back, as fresh as new ones: to make one takes a second or two.
    pristine: what Octavia's schema is, and its tables that are empty.
    """

    socket: Path
    process: subprocess.Popen[bytes]
    spare: list[str] = field(default_factory=list)
    pristine: dict[str, Any] = field(default_factory=dict)

    def url(self, database: str = "", user: str = "root", password: str = "") -> str:
        """A SQLAlchemy URL to one of its databases over the unix socket."""
        secret = f":{password}" if password else ""
        return f"mysql+pymysql://{user}{secret}@localhost/{database}?charset=utf8&unix_socket={self.socket}"

    def execute(self, *statements: str, database: str | None = None) -> list[tuple[object, ...]]:
        """Run statements as root in one connection; the rows of the last one."""
        connection = pymysql.connect(
            unix_socket=str(self.socket), user="root", database=database, autocommit=True
        )
        with connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def create_octavia(self) -> str:
        """A fresh database with Octavia's schema; its name."""
        name = f"octavia_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb3")
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={self.socket}", name]
        with SCHEMA.open("rb") as dump:
            subprocess.run(client, stdin=dump, check=True, capture_output=True)
        return name

    def lend_octavia(self) -> str:
        """A database with Octavia's schema and nothing else in it; its name."""
        return self.spare.pop() if self.spare else self.create_octavia()

    def give_back(self, database: str) -> None:
        """Empty a lent database for the next test; drop it when its schema is no longer Octavia's."""
        self.end_sessions(database)
        if not self.pristine:
            self._look_at_a_new_one()
        if self.columns(database) != self.pristine["columns"]:
            self.drop(database)
            return
        emptied = [f"DELETE FROM {table}" for table in self.pristine["empty"]]
        self.execute("SET foreign_key_checks = 0", *emptied, database=database)
        self.spare.append(database)

    def _look_at_a_new_one(self) -> None:
        new = self.create_octavia()
        columns = self.columns(new)
        counts = " UNION ".join(
            f"SELECT '{name}', COUNT(*) FROM {name}" for name in {row[0] for row in columns}
        )
        empty = [name for name, rows in self.execute(counts, database=new) if not rows]
        self.pristine.update(columns=columns, empty=empty)
        self.spare.append(new)

    def columns(self, database: str) -> list[tuple[object, ...]]:
        """The columns of all its tables."""
        return self.execute(
            "SELECT table_name, column_name, column_type, is_nullable, column_default FROM "
            f"information_schema.columns WHERE table_schema = '{database}' ORDER BY 1, 2"
        )

    def end_sessions(self, database: str) -> None:
        """End the sessions that a test left open: they would block."""
        sessions = f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"
        for (session,) in self.execute(sessions):
            with suppress(pymysql.err.OperationalError):
                self.execute(f"KILL {session}")

    def drop(self, database: str) -> None:
        """Drop a database, whoever is using it."""
        self.end_sessions(database)
        self.execute("SET lock_wait_timeout = 10", f"DROP DATABASE {database}")


def _binary(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/usr/libexec")
    if found is None:
        pytest.fail(f"{name} is not installed (package mariadb-server)", pytrace=False)
    return found


def _await_start(server: MariaDb, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        try:
            server.execute("SELECT 1")
        except pymysql.err.OperationalError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"mariadbd did not start: {log.read_text()[-2000:]}", pytrace=False)
            time.sleep(0.02)
        else:
            return


@contextmanager
def running_mariadb(*arguments: str) -> Iterator[MariaDb]:
    """A new, empty server with these extra arguments; without any it does not listen on TCP."""
    with tempfile.TemporaryDirectory(prefix="ovnlb-db-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        log = directory / "log"
        _install(directory)
        process = _launch(directory, log, arguments or ("--skip-networking",))
        try:
            server = MariaDb(directory / "s", process)
            _await_start(server, log)
            yield server
        finally:
            process.kill()
            process.wait()


def _install(directory: Path) -> None:
    (directory / "data").mkdir()
    command = [_binary("mariadb-install-db"), "--no-defaults", f"--datadir={directory / 'data'}"]
    command += [f"--user={getpass.getuser()}", "--auth-root-authentication-method=normal", "--skip-test-db"]
    command += ["--skip-name-resolve"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment(directory))
    if done.returncode:
        pytest.fail(f"mariadb-install-db: {done.stdout[-2000:]}{done.stderr[-2000:]}", pytrace=False)


def _launch(directory: Path, log: Path, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
    command = [_binary("mariadbd"), "--no-defaults", f"--datadir={directory / 'data'}"]
    command += [f"--user={getpass.getuser()}"]
    command += [f"--socket={directory / 's'}", f"--pid-file={directory / 'pid'}", f"--log-error={log}"]
    command += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--skip-log-bin"]
    command += ["--innodb-doublewrite=0", "--skip-name-resolve", *arguments]
    environment = _environment(directory)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def _environment(directory: Path) -> dict[str, str]:
    # A starting mariadbd removes every #sql-temptable from its TMPDIR, those of the next server too.
    return {**os.environ, "TMPDIR": str(directory)}


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    """The server of this test session."""
    with running_mariadb() as server:
        yield server


@pytest.fixture
def octavia_mariadb(mariadb: MariaDb) -> Iterator[str]:
    """The URL of a fresh Octavia database on MariaDB."""
    name = mariadb.lend_octavia()
    yield mariadb.url(name)
    mariadb.give_back(name)


@pytest.fixture
def octavia_sqlite(tmp_path: Path) -> str:
    """The URL of a fresh Octavia database in an SQLite file."""
    path = tmp_path / "octavia.sqlite"
    schema = (files("ovnlb.reconciler") / "octavia_sqlite.sql").read_text()
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(params=["mariadb", "sqlite"])
def octavia_url(request: pytest.FixtureRequest) -> str:
    """The URL of a fresh Octavia database, once on MariaDB and once on SQLite."""
    url: str = request.getfixturevalue(f"octavia_{request.param}")
    return url
