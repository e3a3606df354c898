"""The stack's MariaDB: one server on loopback and a unix socket, fast instead of durable."""

from __future__ import annotations

from pathlib import Path

import pymysql

from stack.processes import Processes

SCHEMAS = ("keystone", "neutron", "octavia")


class Database:
    """One mariadbd with a schema and a user of the same name for each service."""

    def __init__(self, processes: Processes, directory: Path, port: int, password: str) -> None:
        self.processes, self.directory, self.port, self.password = processes, directory, port, password
        self.socket = directory / "my.sock"

    def url(self, schema: str) -> str:
        """SQLAlchemy URL of a schema for the services' configuration files."""
        return f"mysql+pymysql://{schema}:{self.password}@127.0.0.1:{self.port}/{schema}"

    def start(self) -> None:
        """Make the data directory when it is absent, start the server, create schemas and users."""
        data = self.directory / "data"
        fresh = not data.exists()
        if fresh:
            self.processes.run(
                "mariadb-install-db",
                [
                    "mariadb-install-db",
                    "--no-defaults",
                    "--user=root",
                    f"--datadir={data}",
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                ],
            )
        self.processes.start(
            "mariadbd",
            [
                "/usr/sbin/mariadbd",
                "--no-defaults",
                "--user=root",
                f"--datadir={data}",
                f"--socket={self.socket}",
                f"--pid-file={self.directory}/mariadbd.pid",
                "--bind-address=127.0.0.1",
                f"--port={self.port}",
                "--skip-name-resolve",
                "--skip-log-bin",
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-doublewrite=0",
                "--innodb-buffer-pool-size=128M",
                "--innodb-log-file-size=48M",
                "--performance-schema=OFF",
                "--max-connections=300",
                "--character-set-server=utf8mb3",
                "--collation-server=utf8mb3_general_ci",
            ],
        )
        self.processes.wait_for("mariadbd", self._answers, 60)
        if fresh:
            self._create_schemas()

    def _answers(self) -> bool:
        try:
            self.rows("SELECT 1")
        except pymysql.err.OperationalError:
            return False
        return True

    def _create_schemas(self) -> None:
        for name in SCHEMAS:
            self.rows(f"CREATE DATABASE {name} CHARACTER SET utf8mb3")
            for host in ("localhost", "127.0.0.1"):
                self.rows(f"GRANT ALL ON {name}.* TO '{name}'@'{host}' IDENTIFIED BY '{self.password}'")

    def rows(
        self, statement: str, *parameters: object, schema: str | None = None
    ) -> list[dict[str, object]]:
        """Run one statement as root, commit, and return its rows as mappings."""
        connection = pymysql.connect(
            unix_socket=str(self.socket),
            user="root",
            database=schema,
            autocommit=True,
            cursorclass=pymysql.cursors.DictCursor,
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)
            return list(cursor.fetchall())
