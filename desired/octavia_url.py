"""From `[database]connection` to an engine that only reads.

Octavia's own URL works as it is: any MySQL driver name, TLS and option-file parameters, SQLite files.
Every transaction of these engines is one snapshot: REPEATABLE READ, read-only, taken when it begins.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymysql.connections
import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import URL, make_url

from ovnlb.desired.octavia_errors import OPTION, DatabaseUnusable

READ_TIMEOUT = 60  # seconds that one answer may take
RECYCLE = 3600  # seconds, oslo.db's connection_recycle_time

TLS_FILES = {"ssl_ca": "ca", "ssl_capath": "capath", "ssl_cert": "cert", "ssl_key": "key"}
TLS_WORDS = {"ssl_cipher": "cipher", "ssl_key_password": "password"}
TLS_SWITCHES = {
    "ssl_check_hostname": "check_hostname",
    "ssl_verify_identity": "check_hostname",
    "ssl_verify_cert": "verify_mode",
}
# mysqlclient's ssl_mode, as (whether TLS, certificate verified, host name verified).
TLS_MODES = {
    "DISABLED": (False, False, False),
    "PREFERRED": (True, False, False),
    "REQUIRED": (True, False, False),
    "VERIFY_CA": (True, True, False),
    "VERIFY_IDENTITY": (True, True, True),
}
INTEGERS = frozenset({"connect_timeout", "read_timeout", "write_timeout", "client_flag"})
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})


def open_engine(
    url: str,
    *,
    connection_parameters: str = "",
    connect_timeout: int = 10,
    option: str = "[database]connection",
    read_timeout: int = READ_TIMEOUT,
    pool_size: int = 20,
) -> sa.Engine:
    """An engine for Octavia's database; nothing is connected yet.

    `connection_parameters` is appended to the URL as oslo.db does; times in seconds; `pool_size` is the
    most connections to a server at any time. Raises DatabaseUnusable, whose text names `option` and
    never shows the password.
    """
    if connection_parameters:
        url = f"{url}{'&' if '?' in url else '?'}{connection_parameters}"
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        raise DatabaseUnusable(
            f"{option} is no database URL (driver://user:password@host/database)"
        ) from None
    backend = parsed.get_backend_name()
    if backend in ("mysql", "mariadb"):
        return _mysql_engine(parsed, connect_timeout, option, read_timeout, pool_size)
    if backend == "sqlite":
        return _sqlite_engine(parsed, connect_timeout, option)
    raise DatabaseUnusable(f"{option}: {backend} is not supported, only mysql (MariaDB) and sqlite are")


def _mysql_engine(
    url: URL, connect_timeout: int, option: str, read_timeout: int, pool_size: int
) -> sa.Engine:
    query = {key: value if isinstance(value, str) else value[-1] for key, value in url.query.items()}
    if not url.database and "read_default_file" not in query:
        raise DatabaseUnusable(f"{option} names no database")
    _check_files(query, option)
    arguments = {"connect_timeout": connect_timeout, "read_timeout": read_timeout}
    arguments |= _plain_parameters(query, option)
    arguments |= _tls(query, option)
    engine = sa.create_engine(
        url.set(drivername="mysql+pymysql", query={}),
        connect_args=arguments,
        isolation_level="REPEATABLE READ",
        pool_pre_ping=True,
        pool_recycle=RECYCLE,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=connect_timeout,
        execution_options={OPTION: option},
    )

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        # Without the consistent snapshot InnoDB takes it at the first read only.
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

    return engine


def _sqlite_engine(url: URL, connect_timeout: int, option: str) -> sa.Engine:
    path = url.database or ""
    if not path or path == ":memory:":
        raise DatabaseUnusable(f"{option} names no SQLite file")
    if not path.startswith("file:") and not Path(path).is_file():
        raise DatabaseUnusable(f"{option}: there is no file {path}")
    engine = sa.create_engine(
        url.set(drivername="sqlite"),
        connect_args={"timeout": connect_timeout},
        execution_options={OPTION: option},
    )

    # sqlite3 begins no transaction before a SELECT, so two queries would see two states: SQLAlchemy's
    # recipe for pysqlite takes the transaction away from the driver.
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _check_files(query: Mapping[str, str], option: str) -> None:
    for parameter in ("read_default_file", *TLS_FILES):
        path = query.get(parameter)
        if path and not Path(path).exists():
            raise DatabaseUnusable(f"{option}: {parameter} names a missing file {path}")


def _plain_parameters(query: Mapping[str, str], option: str) -> dict[str, Any]:
    """The parameters that go to PyMySQL as they are."""
    known = inspect.signature(pymysql.connections.Connection.__init__).parameters
    plain: dict[str, Any] = {}
    for name, text in query.items():
        if name.startswith("ssl"):
            continue
        if name not in known:
            raise DatabaseUnusable(f"{option}: unknown parameter {name}")
        if name in INTEGERS:
            plain[name] = _integer(name, text, option)
        elif name in ("use_unicode", "local_infile", "compress"):
            plain[name] = _switch(name, text, option)
        else:
            plain[name] = text
    return plain


def _tls(query: Mapping[str, str], option: str) -> dict[str, Any]:
    """PyMySQL's `ssl` argument; none when the URL says nothing of TLS."""
    tls: dict[str, Any] = {}
    wanted = False
    for name, text in query.items():
        if not name.startswith("ssl"):
            continue
        wanted = True
        if name in TLS_FILES or name in TLS_WORDS:
            tls[{**TLS_FILES, **TLS_WORDS}[name]] = text
        elif name in TLS_SWITCHES:
            tls[TLS_SWITCHES[name]] = _switch(name, text, option)
        elif name == "ssl_mode" and text.upper() in TLS_MODES:
            wanted, tls["verify_mode"], tls["check_hostname"] = TLS_MODES[text.upper()]
        elif name in ("ssl", "ssl_disabled"):
            wanted = _switch(name, text, option) == (name == "ssl")
        else:
            raise DatabaseUnusable(f"{option}: unknown parameter {name}={text}")
        if not wanted:
            return {"ssl_disabled": True}
    # An empty mapping would ask for no TLS at all; this key changes nothing else.
    return {"ssl": {"check_hostname": True, **tls}} if wanted else {}


def _integer(name: str, text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DatabaseUnusable(f"{option}: {name} is no number: {text}") from None


def _switch(name: str, text: str, option: str) -> bool:
    if text.lower() in TRUE | FALSE:
        return text.lower() in TRUE
    raise DatabaseUnusable(f"{option}: {name} is neither true nor false: {text}")
