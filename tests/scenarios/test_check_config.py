"""`ovnlb check-config` on real parts: MariaDB, private ovsdb-servers, Keystone and Neutron over HTTP.

The cloud is a recorded one whose configuration is right; each test breaks one thing of it.
"""

from __future__ import annotations

import json
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ovnlb.observed.connection import LOCK_NAME
from ovnlb.reconciler import nudge_socket
from ovnlb.reconciler.cli import main
from scenario_files import load_scenario
from servers import keystone as keystones
from servers.mariadb import MariaDb
from servers.neutron import FakeNeutron
from servers.octavia_db import write_tables, writer
from servers.ovsdb import NB, SB, OvsdbServer, free_port, ovsdb_server, raft_cluster, wait_until
from service_world import ServiceWorld

DEAD = "tcp:127.0.0.1:1"
GONE = {"ha_chassis_group", "gateway_chassis"}
NOW = 1_000 * int(time.time())

Options = dict[str, dict[str, Any]]


@dataclass
class Cloud:
    """The options of its octavia.conf, which a test may change before `check`, and the servers."""

    directory: Path
    nb: OvsdbServer
    sb: OvsdbServer
    neutron: FakeNeutron
    keystone: keystones.FakeKeystone
    capsys: pytest.CaptureFixture[str]
    options: Options = field(default_factory=dict)

    def config(self) -> Path:
        """The file as the options are now."""
        lines = [
            line
            for section, options in self.options.items()
            for line in (f"[{section}]", *(f"{name} = {value}" for name, value in options.items()))
        ]
        path = self.directory / "octavia.conf"
        path.write_text("\n".join(lines) + "\n")
        return path

    def run(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output; nothing else may be said."""
        code = main(["check-config", "--config-file", str(self.config()), *arguments])
        out, err = self.capsys.readouterr()
        assert err == ""
        return code, out

    def check(self, *arguments: str) -> Report:
        """The JSON report."""
        code, out = self.run("--format", "json", *arguments)
        return Report(code, json.loads(out))


@dataclass(frozen=True)
class Report:
    """A run's exit code and document."""

    code: int
    document: dict[str, Any]

    def texts(self, name: str, result: str) -> list[str]:
        """What checks of that name and result say."""
        return [c["text"] for c in self.document["checks"] if (c["name"], c["result"]) == (name, result)]

    def one(self, name: str, result: str) -> str:
        """The text of the only check of that name and result."""
        texts = self.texts(name, result)
        assert len(texts) == 1, self.document["checks"]
        return texts[0]

    def all(self, result: str) -> list[str]:
        """`name: text` of every check of that result."""
        return [f"{c['name']}: {c['text']}" for c in self.document["checks"] if c["result"] == result]


@pytest.fixture
def cloud(
    tmp_path: Path,
    nb_server: OvsdbServer,
    sb_server: OvsdbServer,
    fake_neutron: FakeNeutron,
    octavia_mariadb: str,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Cloud]:
    """A cloud in which nothing is wrong: the daemon answers, the driver-agent's sockets are listened to."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    engine = writer(octavia_mariadb)
    write_tables(engine, step.octavia)
    engine.dispose()
    topology = {
        name: [{key: value for key, value in row.items() if key not in GONE} for row in rows]
        for name, rows in step.topology.items()
    }
    nb_server.insert({"NB_Global": [{"_uuid": "g", "options": northd("23.03.1")}], **topology})
    with ExitStack() as stack:
        keystone = stack.enter_context(
            keystones.serving([keystones.network([keystones.endpoint("internal", fake_neutron.url)])])
        )
        sockets = Path(stack.enter_context(short_directory()))
        for name in ("status", "stats", "get"):
            stack.enter_context(listening(sockets / f"{name}.sock"))
        stack.enter_context(answering(sockets / "ovnlb.sock", {"role": "leader", "pid": os.getpid()}))
        made = Cloud(tmp_path, nb_server, sb_server, fake_neutron, keystone, capsys)
        made.options = {
            "database": {"connection": octavia_mariadb},
            "ovn": {"ovn_nb_connection": nb_server.unix, "ovn_sb_connection": sb_server.unix},
            "service_auth": dict(keystone.options),
            "neutron": {"valid_interfaces": "internal", "region_name": "RegionOne"},
            "api_settings": {"enabled_provider_drivers": "amphora: Amphora, ovn: OVN"},
            "driver_agent": {
                f"{name}_socket_path": sockets / f"{name}.sock" for name in ("status", "stats", "get")
            },
            "ovnlb": {},
        }
        yield made


def northd(release: str) -> dict[str, str]:
    """What ovn-northd of a release leaves in NB_Global options."""
    return {"northd_internal_version": f"{release}-20.27.0-70.6"}


@contextmanager
def short_directory() -> Iterator[str]:
    """A directory whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="ovnlb-c") as name:
        yield name


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A stream socket that must not be connected to: an unanswered connection would stay in its queue."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        made.listen(5)
        made.setblocking(False)
        yield made
        with pytest.raises(BlockingIOError):
            made.accept()


@contextmanager
def answering(path: Path, about: dict[str, Any]) -> Iterator[None]:
    """The daemon's end of the nudge socket, with this answer to every question."""
    made = nudge_socket.NudgeSocket(str(path), lambda lb: None, lambda question: about)
    made.open()
    assert made.is_open
    try:
        yield
    finally:
        made.close()


def test_nothing_is_wrong(cloud: Cloud) -> None:
    """Every check is ok, in the order of the list, with what an operator wants to know. B113."""
    report = cloud.check("--strict")
    assert (report.all("failed"), report.all("warning")) == ([], [])
    assert report.code == 0
    assert [check["name"] for check in report.document["checks"]] == [
        "configuration", "database", "database tables", "database rights", "load balancers",
        "northbound", "northbound columns", "northbound writes", "northbound features", "northbound rows",
        "southbound", "southbound columns", "clocks", "lock", "keystone", "neutron endpoint", "neutron",
        "neutron policy", "octavia driver", "octavia agent", "status socket", "stats socket", "get socket",
        "nudge socket", "packages",
    ]  # fmt: skip
    assert "MariaDB" in report.one("database", "ok")
    assert "ALL PRIVILEGES on *.*" in report.one("database rights", "ok")
    assert report.one("load balancers", "ok").startswith("2 of provider ovn")
    assert f"{cloud.nb.unix} answers, standalone, schema version " in report.one("northbound", "ok")
    assert "tried, and aborted" in report.one("northbound writes", "ok")
    assert "OVN 23.03: session persistence yes" in report.one("northbound features", "ok")
    assert report.one("lock", "ok") == f"{LOCK_NAME}: held by the daemon of this host (process {os.getpid()})"
    assert "roles admin" in report.one("keystone", "ok")
    assert "region_name = RegionOne" in report.one("neutron endpoint", "ok")
    assert cloud.neutron.url in report.one("neutron endpoint", "ok")
    assert pwd.getpwuid(os.geteuid()).pw_name in report.one("status socket", "ok")
    assert "0660" in report.one("nudge socket", "ok")
    assert report.document["format_version"] == "1.0"
    assert report.document["config_files"] == [str(cloud.directory / "octavia.conf")]
    assert report.document["summary"] == {"checks": 25, "ok": 25, "warnings": 0, "failed": 0}


def test_nothing_is_written_and_no_lock_is_asked_for(cloud: Cloud) -> None:
    """Only GET reaches Neutron; the servers see no lock and no write but the one that aborts itself."""
    for server in (cloud.nb, cloud.sb):
        server.stop()
        server.start("-vjsonrpc:file:dbg")
    assert cloud.check().code == 0
    logs = [(server.directory / f"{server.name}.log").read_text() for server in (cloud.nb, cloud.sb)]
    requests = [line for log in logs for line in log.splitlines() if 'received request, method="' in line]
    methods = {line.partition('method="')[2].partition('"')[0] for line in requests}
    assert methods == {"list_dbs", "transact"}
    writing = [
        line
        for line in requests
        if any(f'"op":"{op}"' in line for op in ("insert", "update", "mutate", "delete"))
    ]
    assert len(writing) == 1
    assert '"op":"abort"' in writing[0]
    assert cloud.neutron.changes() == []
    assert cloud.nb.rows("Load_Balancer") == []


def test_text_is_one_line_a_check(cloud: Cloud) -> None:
    """`ok`, `warning` or `FAILED`, name and text, no colours in a pipe; warnings alone exit with 0."""
    cloud.options["ovnlb"]["pol1cy"] = "sync"
    cloud.options["ovn"]["ovn_sb_connection"] = DEAD
    code, out = cloud.run("--timeout", "3")
    lines = out.splitlines()
    assert code == 1
    assert all(line.startswith(("ok       ", "warning  ", "FAILED   ")) for line in lines[:-1])
    assert any(line.startswith("warning  configuration: unknown option [ovnlb]pol1cy in ") for line in lines)
    assert any(
        line.startswith("FAILED   southbound: [ovn]ovn_sb_connection: tcp:127.0.0.1:1: ") for line in lines
    )
    assert lines[-1] == "23 ok, 1 warning, 1 failed."
    assert "\x1b" not in out
    cloud.options["ovn"]["ovn_sb_connection"] = cloud.sb.unix
    assert cloud.run()[0] == 0
    assert cloud.run("--strict")[0] == 2


@pytest.mark.parametrize(
    ("section", "option", "value", "named"),
    [
        pytest.param("ovn", "ovn_nb_connection", "tcp:1.2.3.4", "[ovn]ovn_nb_connection", id="B111"),
        pytest.param("ovnlb", "policy", "everything", "[ovnlb]policy", id="no-such-policy"),
        pytest.param("neutron", "auth_type", "no-such-plugin", "[neutron]auth_type", id="no-such-plugin"),
    ],
)
def test_settings_that_the_service_would_refuse(
    cloud: Cloud, section: str, option: str, value: str, named: str
) -> None:
    """The service's own error, exit 1; what needs no settings is still checked."""
    cloud.options[section][option] = value
    report = cloud.check()
    assert report.code == 1
    text = report.one("configuration", "failed")
    assert named in text
    assert "octavia.conf" in text
    assert report.all("ok") == [f"packages: {text}" for text in report.texts("packages", "ok")]
    assert len(report.all("ok")) == 1


# One server away or frozen


def test_every_server_is_away(cloud: Cloud) -> None:
    """Each is named with its option, and the checks of this host still run."""
    cloud.options["database"]["connection"] = "mysql+pymysql://octavia:hidden@127.0.0.1:1/octavia"
    cloud.options["ovn"] = {"ovn_nb_connection": f"{DEAD},{DEAD[:-1]}2", "ovn_sb_connection": DEAD}
    cloud.options["service_auth"]["auth_url"] = "http://127.0.0.1:1/v3"
    report = cloud.check("--timeout", "4")
    assert report.code == 1
    assert "[database]connection in " in report.one("database", "failed")
    assert "hidden" not in json.dumps(report.document)
    assert report.one("northbound", "failed").count("tcp:127.0.0.1:") == 2
    assert "Connection refused" in report.one("southbound", "failed")
    assert "http://127.0.0.1:1/v3" in report.one("keystone", "failed")
    assert report.texts("status socket", "ok")
    assert len(report.all("failed")) == 4


def test_frozen_servers_hide_nothing(cloud: Cloud) -> None:
    """Servers that accept and say nothing cost the time limit once, not once each."""
    cloud.neutron.fail("GET", "extensions", hang=30)
    cloud.nb.freeze()
    started = time.monotonic()
    try:
        report = cloud.check("--timeout", "2")
    finally:
        cloud.nb.thaw()
    assert time.monotonic() - started < 8
    assert report.code == 1
    assert "timed out" in report.one("northbound", "failed").lower()
    assert report.texts("neutron", "failed")
    assert report.texts("keystone", "ok")
    assert report.texts("database tables", "ok")
    assert report.texts("southbound columns", "ok")


# Octavia's database


def test_wrong_provider_and_user_without_rights(cloud: Cloud, mariadb: MariaDb) -> None:
    """Nothing of our provider is suspicious; a user that may only read is as good as any."""
    name = cloud.options["database"]["connection"].partition("?")[0].rsplit("/", 1)[1]
    mariadb.execute(
        "CREATE OR REPLACE USER reader@localhost IDENTIFIED BY 'secret'",
        f"GRANT SELECT ON {name}.* TO reader@localhost",
    )
    cloud.options["ovnlb"].update(
        database_connection=mariadb.url(name, "reader", "secret"), providers="ovnlb"
    )
    cloud.options["api_settings"]["enabled_provider_drivers"] = "ovnlb: OVN"
    report = cloud.check()
    assert report.code == 0
    assert "[ovnlb]database_connection in " in report.one("database", "ok")
    assert report.texts("database rights", "ok") == []
    assert "none of provider ovnlb" in report.one("load balancers", "warning")
    assert "2 of ovn" in report.one("load balancers", "warning")
    mariadb.execute(
        f"REVOKE SELECT ON {name}.* FROM reader@localhost", f"GRANT SELECT ON {name}.vip TO reader@localhost"
    )
    assert "load_balancer" in cloud.check().one("database", "failed")


def test_older_schema_names_what_is_missing(cloud: Cloud, mariadb: MariaDb) -> None:
    """A table that came with a later release of Octavia is named, with the way out."""
    name = cloud.options["database"]["connection"].partition("?")[0].rsplit("/", 1)[1]
    mariadb.execute("DROP TABLE additional_vip", database=name)
    text = cloud.check().one("database", "failed")
    assert "additional_vip" in text
    assert "octavia-db-manage upgrade head" in text


# OVN's databases


def test_cluster_members(cloud: Cloud) -> None:
    """The leader is found among all members; one member named is a warning, or no leader at all."""
    with raft_cluster(NB) as cluster:
        cluster.leader().insert({"NB_Global": [{}]})
        cloud.options["ovn"]["ovn_nb_connection"] = cluster.remotes
        assert f"{cluster.leader().tcp} leads the cluster (3 members answer)" in cloud.check().one(
            "northbound", "ok"
        )
        cloud.options["ovn"]["ovn_nb_connection"] = cluster.leader().tcp
        assert "names one member" in cloud.check().one("northbound", "warning")
        follower = cluster.followers()[0]
        cloud.options["ovn"]["ovn_nb_connection"] = follower.tcp
        text = cloud.check().one("northbound", "failed")
        assert f"{follower.tcp} answer and only follow" in text
        cloud.options["ovn"]["ovn_nb_connection"] = cluster.remotes
        follower.kill()
        report = cloud.check("--timeout", "5")
        assert report.code == 0
        assert follower.tcp in report.one("northbound", "warning")


def test_wrong_database_behind_the_connection(cloud: Cloud) -> None:
    """Northbound and Southbound exchanged."""
    cloud.options["ovn"] = {"ovn_nb_connection": cloud.sb.unix, "ovn_sb_connection": cloud.nb.unix}
    report = cloud.check()
    assert f"has no database {NB}; it serves {SB}" in report.one("northbound", "failed")
    assert f"has no database {SB}; it serves {NB}" in report.one("southbound", "failed")


def test_schema_without_what_is_needed(cloud: Cloud) -> None:
    """Columns that OVN of long ago lacks are named."""
    schema = json.loads(Path("/usr/share/ovn/ovn-nb.ovsschema").read_text())
    del schema["tables"]["Load_Balancer"]["columns"]["selection_fields"]
    file = cloud.directory / "old.ovsschema"
    file.write_text(json.dumps(schema))
    with ovsdb_server(NB, schema_file=file) as old:
        cloud.options["ovn"]["ovn_nb_connection"] = old.unix
        report = cloud.check()
    assert "lacks Load_Balancer.selection_fields" in report.one("northbound columns", "failed")
    assert report.code == 1


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A key and a self-signed certificate."""
    key, made = folder / f"{name}.key", folder / f"{name}.pem"
    words = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command = ["/usr/bin/openssl", "req", "-x509", *words.split(), "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, capture_output=True, check=True)
    return key, made


def test_tls(cloud: Cloud) -> None:
    """With the right CA it answers; with another one, or a file that is none, TLS is what is named."""
    key, own = certificate(cloud.directory, "nb")
    other = certificate(cloud.directory, "other")[1]
    port = free_port()
    cloud.nb.stop()
    tls = (f"--private-key={key}", f"--certificate={own}", f"--ca-cert={own}")
    cloud.nb.start(*tls, f"--remote=pssl:{port}:127.0.0.1")
    options = cloud.options["ovn"]
    options.update(ovn_nb_connection=f"ssl:127.0.0.1:{port}", ovn_nb_ca_cert=own)
    options.update(ovn_nb_private_key=key, ovn_nb_certificate=own)
    assert f"ssl:127.0.0.1:{port} answers" in cloud.check().one("northbound", "ok")
    options["ovn_nb_ca_cert"] = other
    assert "the TLS handshake failed" in cloud.check("--timeout", "4").one("northbound", "failed")
    options["ovn_nb_ca_cert"] = key
    assert "TLS: " in cloud.check("--timeout", "4").one("northbound", "failed")


def test_empty_northbound(cloud: Cloud) -> None:
    """No NB_Global row and no network of Neutron: probably another database."""
    with ovsdb_server(NB) as empty:
        cloud.options["ovn"]["ovn_nb_connection"] = empty.unix
        report = cloud.check("--strict")
    assert report.code == 2
    assert len(report.texts("northbound rows", "warning")) == 2


@pytest.mark.parametrize(("policy", "result"), [("sync", "failed"), ("observe-only", "ok")])
def test_server_that_lets_nobody_write(cloud: Cloud, policy: str, result: str) -> None:
    """The backup of an active-backup pair is fatal for who must write, and fine for who only observes."""
    with ovsdb_server(NB) as backup:
        backup.stop()
        backup.start(f"--sync-from={cloud.nb.unix}")
        wait_until(lambda: backup.rows("NB_Global"), "the backup to follow")
        cloud.options["ovn"]["ovn_nb_connection"] = backup.unix
        cloud.options["ovnlb"]["policy"] = policy
        report = cloud.check()
    assert "refuses to insert a Load_Balancer" in report.one("northbound writes", result)
    assert report.code == (1 if result == "failed" else 0)


def test_northd_tells_its_release(cloud: Cloud) -> None:
    """A real ovn-northd: its own release is what decides about session persistence."""
    cloud.nb.transact({"op": "update", "table": "NB_Global", "where": [], "row": {"options": ["map", []]}})
    assert "unknown release" in cloud.check().one("northbound features", "ok")
    command = ["/usr/bin/ovn-northd", "-vconsole:off", f"--unixctl={cloud.directory}/n.ctl"]
    command += [f"--ovnnb-db={cloud.nb.unix}", f"--ovnsb-db={cloud.sb.unix}"]
    process = subprocess.Popen(command)
    try:
        wait_until(lambda: cloud.nb.rows("NB_Global")[0]["options"].get("northd_internal_version"), "northd")
        release = subprocess.run([command[0], "--version"], capture_output=True, text=True, check=True).stdout
        found = release.split()[1].rsplit(".", 1)[0]
        assert f"OVN {found}: session persistence yes" in cloud.check().one("northbound features", "ok")
    finally:
        process.kill()
        process.wait()


def test_release_without_session_persistence(cloud: Cloud) -> None:
    """OVN 22.09 ignores options:affinity_timeout."""
    options = ["map", list(map(list, northd("22.09.0").items()))]
    cloud.nb.transact({"op": "update", "table": "NB_Global", "where": [], "row": {"options": options}})
    text = cloud.check().one("northbound features", "warning")
    assert "OVN 22.09: session persistence no, OVN 22.12 brings it" in text


def test_clocks_ahead_and_behind(cloud: Cloud) -> None:
    """Stamps from the future, a chassis that was done before northd began, and northd behind."""
    state = {"nb_cfg": 7, "sb_cfg": 6, "nb_cfg_timestamp": NOW, "sb_cfg_timestamp": NOW}
    cloud.nb.transact({"op": "update", "table": "NB_Global", "where": [], "row": state})
    cloud.sb.insert(
        {
            "Chassis_Private": [
                {"name": "good", "nb_cfg": 7, "nb_cfg_timestamp": NOW + 500},
                {"name": "idle", "nb_cfg": 3, "nb_cfg_timestamp": NOW - 3_600_000},
                {"name": "ahead", "nb_cfg": 7, "nb_cfg_timestamp": NOW + 3_600_000},
                {"name": "behind", "nb_cfg": 7, "nb_cfg_timestamp": NOW - 60_000},
            ]
        }
    )
    report = cloud.check()
    text = report.one("clocks", "warning")
    assert "chassis ahead is 3" in text
    assert "chassis behind is 60 s behind ovn-northd" in text
    assert "good" not in text
    assert "idle" not in text
    assert "sb_cfg 6 is behind nb_cfg 7" in report.one("northd", "warning")
    assert report.code == 0


# Keystone and Neutron


def test_wrong_password(cloud: Cloud) -> None:
    """Keystone's own words, and nothing more of Neutron."""
    cloud.options["service_auth"]["password"] = "wrong"
    report = cloud.check()
    assert "wrong password" in report.one("keystone", "failed")
    assert cloud.neutron.calls == []


def test_endpoints_B108(cloud: Cloud) -> None:
    """No endpoint in the region names what there is; two that fit are a warning, or strictly an error."""
    cloud.options["neutron"]["region_name"] = "Elsewhere"
    text = cloud.check().one("neutron endpoint", "failed")
    assert "Elsewhere" in text
    assert "RegionOne" in text
    del cloud.options["neutron"]["region_name"]
    urls = [
        keystones.endpoint("internal", cloud.neutron.url, region) for region in ("RegionOne", "RegionTwo")
    ]
    cloud.keystone.catalog = [keystones.network(urls)]
    report = cloud.check()
    assert report.code == 0
    assert "RegionTwo" in report.one("neutron endpoint", "warning")
    cloud.options["ovnlb"]["strict_endpoint"] = True
    assert "strict_endpoint" in cloud.check().one("neutron endpoint", "failed")
    cloud.options["neutron"]["endpoint_override"] = cloud.neutron.url
    assert "by [neutron]endpoint_override" in cloud.check().one("neutron endpoint", "ok")


def test_neutron_refuses(cloud: Cloud) -> None:
    """An error of Neutron's is reported with its text and status."""
    cloud.neutron.fail("GET", "ports", status=503, message="maintenance", times=9)
    text = cloud.check().one("neutron", "failed")
    assert "maintenance" in text
    assert "503" in text


@pytest.mark.parametrize(
    ("fault", "result", "says"),
    [
        (None, "ok", "(tried)"),
        (
            {"status": 403, "message": "rule:create_port is disallowed by policy"},
            "failed",
            "disallowed by policy",
        ),
        ({"status": 400, "message": "Unrecognized attribute(s)"}, "failed", "400"),
    ],
    ids=["allowed", "forbidden", "unknown-attribute"],
)
def test_write_test(cloud: Cloud, fault: dict[str, Any] | None, result: str, says: str) -> None:
    """One POST with our attributes on a network that does not exist; no port comes of it."""
    before = cloud.neutron.dump()
    if fault:
        cloud.neutron.fail("POST", "ports", **fault)
    report = cloud.check("--write-test")
    assert says in report.one("neutron policy", result)
    (call,) = cloud.neutron.changes()
    assert call.body is not None
    assert (call.method, call.body["device_owner"]) == ("POST", "ovn-lb-hm:distributed")
    assert cloud.neutron.dump() == before


def test_no_token_at_all(cloud: Cloud) -> None:
    """auth_type none: the endpoint is that of endpoint_override, roles cannot be told."""
    cloud.options["neutron"] = {"auth_type": "none", "endpoint_override": cloud.neutron.url}
    report = cloud.check()
    assert report.code == 0
    assert "needs no token" in report.one("keystone", "ok")
    assert "--write-test" in report.one("neutron policy", "ok")


# Octavia and this host


@pytest.mark.parametrize("form", ["absent", "unset"])
def test_driver_is_not_enabled_B113(cloud: Cloud, form: str) -> None:
    """`Provider ovn is not enabled` is found before a user finds it."""
    if form == "unset":
        del cloud.options["api_settings"]
        assert "[api_settings]enabled_provider_drivers" in cloud.check().one("octavia driver", "warning")
        return
    cloud.options["api_settings"]["enabled_provider_drivers"] = "amphora: Amphora"
    report = cloud.check()
    assert report.code == 1
    assert "has amphora, not ovn" in report.one("octavia driver", "failed")


def test_agent_sockets_are_missing_or_dead(cloud: Cloud) -> None:
    """A path without a socket fails, one that nobody listens to is a warning: it cannot be certain."""
    options = cloud.options["driver_agent"]
    options["status_socket_path"].unlink()
    options["get_socket_path"].unlink()
    options["get_socket_path"].touch()
    options["stats_socket_path"] = options["stats_socket_path"].with_name("dead.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(options["stats_socket_path"]))
    report = cloud.check()
    assert report.code == 1
    assert "No such file" in report.one("status socket", "failed")
    assert "[driver_agent]status_socket_path" in report.one("status socket", "failed")
    assert "is no socket" in report.one("get socket", "failed")
    assert "nobody listens" in report.one("stats socket", "warning")


def test_no_reconciler_on_this_host(cloud: Cloud) -> None:
    """Neither agent nor daemon; then an agent that does not answer; the lock is not asked for."""
    cloud.options["ovnlb"]["nudge_socket"] = cloud.directory / "none.sock"
    report = cloud.check()
    assert "no reconciler on this host" in report.one("octavia agent", "warning")
    assert "not asked for" in report.one("lock", "ok")
    assert "may make it in" in report.one("nudge socket", "ok")
    cloud.options["driver_agent"]["enabled_provider_agents"] = "ovn"
    assert "nobody answers" in cloud.check().one("octavia agent", "warning")
    cloud.options["driver_agent"]["enabled_provider_agents"] = "ovn,ovnlb"
    assert "two reconcilers" in cloud.check().texts("octavia agent", "warning")[0]


def test_what_the_daemon_tells_of_itself(cloud: Cloud) -> None:
    """A follower holds no lock; what it has lost and what fails is a warning each."""
    about = {
        "role": "follower", "pid": 1, "northbound": True, "database": False,
        "errors": [{"lb": "x"}, {"lb": "y"}], "errors_omitted": 3,
    }  # fmt: skip
    path = cloud.options["driver_agent"]["get_socket_path"].with_name("other.sock")
    cloud.options["ovnlb"]["nudge_socket"] = path
    with answering(path, about):
        report = cloud.check()
    assert report.one("lock", "ok").endswith("the daemon of this host (process 1) is follower")
    lost, failing = report.texts("daemon", "warning")
    assert "has lost [database]connection" in lost
    assert "fails for 5 load balancers" in failing


def test_roles_that_neutron_does_not_trust(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without admin or service role the policy may refuse: a warning that names the way to know."""
    token = cloud.keystone.token()
    monkeypatch.setattr(cloud.keystone, "token", lambda: {**token, "roles": [{"id": "m", "name": "member"}]})
    report = cloud.check()
    assert "roles member" in report.one("keystone", "ok")
    assert "--write-test" in report.one("neutron policy", "warning")


def test_broken_load_balancers_are_named(cloud: Cloud, mariadb: MariaDb) -> None:
    """A graph that cannot be read is a failure of the check, too."""
    name = cloud.options["database"]["connection"].partition("?")[0].rsplit("/", 1)[1]
    mariadb.execute("DELETE FROM vip LIMIT 1", database=name)
    assert "1 cannot be read" in cloud.check().one("load balancers", "failed")


def test_nudge_socket_cannot_be_made(cloud: Cloud) -> None:
    """A directory that does not exist, and a socket of a daemon that died."""
    cloud.options["ovnlb"]["nudge_socket"] = cloud.directory / "none" / "ovnlb.sock"
    assert "does not exist" in cloud.check().one("nudge socket", "warning")
    left = cloud.options["driver_agent"]["get_socket_path"].with_name("left.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(str(left))
    cloud.options["ovnlb"]["nudge_socket"] = left
    assert "left behind" in cloud.check().one("nudge socket", "warning")


def test_socket_that_this_user_may_not_open(cloud: Cloud) -> None:
    """Mode and owner are told, and nothing is tried. Root may open everything, so it looks as nobody."""
    path = cloud.options["driver_agent"]["status_socket_path"]
    path.parent.chmod(0o755)
    path.chmod(0o400)
    program = (
        "import os, sys; from ovnlb.reconciler.checks.sockets import why_unusable\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "print(why_unusable(sys.argv[1]))"
    )
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    owner = pwd.getpwuid(os.geteuid()).pw_name
    assert f"({0o400:04o} {owner}:" in done.stdout
    assert "may not be opened by user" in done.stdout


def test_a_real_daemon_holds_the_lock(world: ServiceWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """`ovnlb run` beside an enabled provider agent: its role is told, the second instance is a warning."""
    with world.daemon() as daemon:
        wait_until(lambda: nudge_socket.ask(world.nudge_path, {"ask": "show"}), "the daemon to answer")
        extra = world.directory / "agent.conf"
        extra.write_text("[driver_agent]\nenabled_provider_agents = ovn\n")
        files = ["--config-file", str(world.config()), "--config-file", str(extra)]
        main(["check-config", *files, "--format", "json"])
        report = Report(0, json.loads(capsys.readouterr().out))
        pid = daemon.process.pid
        assert report.one("lock", "ok") == f"{LOCK_NAME}: held by the daemon of this host (process {pid})"
        assert f"ovnlb run (process {pid}) besides" in report.one("octavia agent", "warning")
        assert daemon.process.poll() is None
