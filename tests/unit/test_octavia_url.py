"""Octavia's database URL: drivers, parameters, TLS, and what is said when it cannot be used."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from ovnlb.desired import octavia
from ovnlb.desired.octavia import DatabaseUnavailable, DatabaseUnusable, open_engine
from servers.mariadb import MariaDb, running_mariadb
from servers.octavia_db import write_tables, writer


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, a server certificate for 127.0.0.1 of it, and an unrelated CA."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        subject = ["-subj", f"/CN={name}", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem"]
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject)
    request = ["-subj", "/CN=db", "-keyout", f"{folder}/server.key", "-out", f"{folder}/server.csr"]
    openssl("req", "-newkey", "rsa:2048", "-nodes", *request)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signer = ["-CA", f"{folder}/ca.pem", "-CAkey", f"{folder}/ca.key", "-CAcreateserial", "-days", "2"]
    files = ["-in", f"{folder}/server.csr", "-out", f"{folder}/server.pem", "-extfile", f"{folder}/names"]
    openssl("x509", "-req", *files, *signer)
    return folder


@pytest.fixture(scope="module")
def tls_only(certificates: Path) -> Iterator[str]:
    """The URL, with a client that must use TLS, of a server that refuses plain connections."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    tls = [f"--ssl-cert={certificates}/server.pem", f"--ssl-key={certificates}/server.key"]
    tls += ["--require-secure-transport=ON", "--bind-address=127.0.0.1", f"--port={port}"]
    with running_mariadb(*tls) as server:
        name = server.create_octavia()
        server.execute(
            "CREATE USER octavia@'127.0.0.1' IDENTIFIED BY 'pass'",
            f"GRANT SELECT ON {name}.* TO octavia@'127.0.0.1'",
        )
        yield f"octavia:pass@127.0.0.1:{port}/{name}"


def cipher(engine: sa.Engine) -> str:
    with engine.connect() as connection:
        return str(connection.exec_driver_sql("SHOW STATUS LIKE 'Ssl_cipher'").all()[0][1])


@pytest.mark.parametrize(
    "parameters",
    [
        "ssl_ca={0}/ca.pem",
        "ssl_ca={0}/ca.pem&ssl_check_hostname=true",
        "ssl_ca={0}/ca.pem&ssl_verify_cert=true&ssl_verify_identity=true&charset=utf8",
        "ssl_ca={0}/ca.pem&ssl_mode=VERIFY_IDENTITY",
        "ssl_ca={0}/other.pem&ssl_mode=REQUIRED",
        "ssl=true",
        "ssl_ca={0}/ca.pem&ssl_cipher=ECDHE-RSA-AES256-GCM-SHA384",
    ],
)
def test_tls_only_server(tls_only: str, certificates: Path, parameters: str) -> None:
    parameters = parameters.format(certificates)
    for engine in (
        open_engine(f"mysql://{tls_only}?{parameters}"),
        open_engine(f"mysql+mysqldb://{tls_only}", connection_parameters=parameters),
    ):
        octavia.check_schema(engine)
        assert octavia.load_all(engine, ["ovn"]).load_balancers == ()
        assert cipher(engine)


def test_read_default_file(tls_only: str, certificates: Path, tmp_path: Path) -> None:
    """An option file may hold user, password, database and the CA."""
    login, _, place = tls_only.partition("@")
    user, _, password = login.partition(":")
    address, _, database = place.partition("/")
    host, _, port = address.partition(":")
    file = tmp_path / "my.cnf"
    file.write_text(
        f"[client]\nuser={user}\npassword={password}\ndatabase={database}\nhost={host}\nport={port}\n"
        f"ssl-ca={certificates}/ca.pem\n"
    )
    engine = open_engine(f"mysql+pymysql://?read_default_file={file}")
    assert octavia.pending(engine, ["ovn"]) == []
    assert cipher(engine)


def test_wrong_ca_and_plain_connection_are_refused(tls_only: str, certificates: Path) -> None:
    with pytest.raises(octavia.DatabaseError, match="certificate verify failed"):
        octavia.check_schema(open_engine(f"mysql://{tls_only}?ssl_ca={certificates}/other.pem"))
    # MariaDB 10.11 answers a plain login as it answers a wrong password.
    with pytest.raises(DatabaseUnusable, match=r"insecure transport|Access denied for user 'octavia'"):
        octavia.check_schema(open_engine(f"mysql://{tls_only}?ssl_mode=DISABLED"))


@pytest.mark.parametrize("driver", ["mysql", "mysql+pymysql", "mysql+mysqldb", "mysql+aiomysql", "mariadb"])
def test_any_mysql_driver_name_becomes_pymysql(octavia_mariadb: str, driver: str) -> None:
    engine = open_engine(octavia_mariadb.replace("mysql+pymysql", driver))
    assert engine.url.drivername == "mysql+pymysql"
    octavia.check_schema(engine)


def test_session_is_repeatable_read_and_charset_is_honoured(octavia_mariadb: str) -> None:
    url = octavia_mariadb.replace("charset=utf8", "charset=latin1")
    assert url != octavia_mariadb
    with open_engine(url).connect() as connection:
        found = connection.exec_driver_sql("SELECT @@tx_isolation, @@character_set_client").one()
    assert tuple(found) == ("REPEATABLE-READ", "latin1")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "is no database URL"),
        ("nonsense", "is no database URL"),
        ("mysql://user:hunter2@host:port/octavia", "is no database URL"),
        ("postgresql://user:hunter2@host/octavia", "postgresql is not supported, only mysql"),
        ("mysql://user:hunter2@host", "names no database"),
        ("mysql://user:hunter2@host/", "names no database"),
        ("mysql://user:hunter2@host/octavia?ssl_ca=/no/such.pem", "ssl_ca names a missing file /no/such.pem"),
        (
            "mysql://u:hunter2@h/octavia?read_default_file=/no/my.cnf",
            "read_default_file names a missing file",
        ),
        ("mysql://user:hunter2@host/octavia?charsett=utf8", "unknown parameter charsett"),
        ("mysql://user:hunter2@host/octavia?ssl_caa=/x", "unknown parameter ssl_caa"),
        ("mysql://user:hunter2@host/octavia?ssl_mode=MAYBE", "unknown parameter ssl_mode=MAYBE"),
        (
            "mysql://user:hunter2@host/octavia?ssl_verify_cert=si",
            "ssl_verify_cert is neither true nor false: si",
        ),
        ("mysql://user:hunter2@host/octavia?connect_timeout=x", "connect_timeout is no number: x"),
        ("sqlite://", "names no SQLite file"),
        ("sqlite:////no/such/file.sqlite", "there is no file /no/such/file.sqlite"),
    ],
)
def test_unusable_urls(url: str, reason: str) -> None:
    with pytest.raises(DatabaseUnusable) as raised:
        open_engine(url, option="[ovnlb]database_connection in /etc/o.conf")
    text = str(raised.value)
    assert text.startswith("[ovnlb]database_connection in /etc/o.conf")
    assert reason in text
    assert "hunter2" not in text


def test_unreachable_server() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        engine = open_engine(f"mysql://octavia:hunter2@127.0.0.1:{port}/octavia")
        with pytest.raises(DatabaseUnavailable) as raised:
            octavia.check_schema(engine)
    text = str(raised.value)
    assert text.startswith(f"[database]connection (mysql+pymysql://octavia:***@127.0.0.1:{port}/octavia): ")
    assert "Connection refused" in text
    assert "hunter2" not in text


def test_silent_server_is_given_up_after_the_timeout() -> None:
    """A server that accepts and says nothing, as behind a dead load balancer."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"mysql://u@127.0.0.1:{listener.getsockname()[1]}/octavia"
        with pytest.raises(DatabaseUnavailable, match="timed out"):
            octavia.pending(open_engine(url, connect_timeout=1, read_timeout=1), ["ovn"])


def test_refusals_of_the_server_are_terminal(mariadb: MariaDb, octavia_mariadb: str) -> None:
    database = str(sa.make_url(octavia_mariadb).database)
    mariadb.execute("CREATE OR REPLACE USER nobody@localhost IDENTIFIED BY 'x'")
    with pytest.raises(DatabaseUnusable, match="Access denied for user 'nobody'"):
        octavia.pending(open_engine(mariadb.url(database, "nobody", "wrong")), ["ovn"])
    with pytest.raises(DatabaseUnusable, match="Access denied for user 'nobody'"):
        octavia.pending(open_engine(mariadb.url(database, "nobody", "x")), ["ovn"])
    with pytest.raises(DatabaseUnusable, match="Unknown database 'absent'"):
        octavia.pending(open_engine(mariadb.url("absent")), ["ovn"])
    mariadb.execute(f"GRANT SELECT ON {database}.vip TO nobody@localhost")
    with pytest.raises(DatabaseUnusable, match="SELECT command denied"):
        octavia.pending(open_engine(mariadb.url(database, "nobody", "x")), ["ovn"])


def test_lost_connection_is_unavailable_and_comes_back(mariadb: MariaDb, octavia_mariadb: str) -> None:
    engine = open_engine(octavia_mariadb)
    write_tables(writer(octavia_mariadb), {"load_balancer": [{"id": "a", "provider": "ovn"}]})
    database = sa.make_url(octavia_mariadb).database

    killed: list[object] = []

    def kill(*_arguments: object) -> None:
        sessions = f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"
        for (session,) in () if killed else mariadb.execute(sessions):
            mariadb.execute(f"KILL {session}")
            killed.append(session)

    octavia.pending(engine, ["ovn"])
    sa.event.listen(engine, "before_cursor_execute", kill)
    with pytest.raises(DatabaseUnavailable):
        octavia.load_all(engine, ["ovn"])
    assert len(octavia.load_all(engine, ["ovn"]).broken) == 1


def test_unreadable_certificate_is_terminal(certificates: Path, tls_only: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    with pytest.raises(DatabaseUnusable, match=r"\[database\]connection"):
        octavia.pending(open_engine(f"mysql://{tls_only}?ssl_ca={broken}"), ["ovn"])
    engine = open_engine(f"mysql://{tls_only}?ssl_ca={certificates}/ca.pem&ssl_cert={broken}")
    with pytest.raises(DatabaseUnusable, match=r"\[database\]connection"):
        octavia.pending(engine, ["ovn"])


def test_locked_and_foreign_sqlite_files(octavia_sqlite: str, tmp_path: Path) -> None:
    owner = sa.create_engine(octavia_sqlite)
    with owner.connect() as connection:
        connection.exec_driver_sql("BEGIN EXCLUSIVE")
        with pytest.raises(DatabaseUnavailable, match="locked"):
            octavia.pending(open_engine(octavia_sqlite, connect_timeout=0), ["ovn"])
    other = tmp_path / "other"
    other.write_text("this is no database, but a text of some length\n" * 30)
    with pytest.raises(DatabaseUnusable, match="not a database"):
        octavia.pending(open_engine(f"sqlite:///{other}"), ["ovn"])
