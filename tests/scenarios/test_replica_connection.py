"""Connecting, locks, events and descriptors of the replicas; and every way to connect to the wrong thing."""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ovnlb.observed.idl import LOCK_NAME, Unreachable, WrongDatabase, connect_nb, connect_sb
from ovnlb.observed.monitors import MonitorRow
from ovnlb.observed.source import Endpoint
from servers.ovsdb import NB, SB, SCHEMAS, OvsdbServer, free_port, ovsdb_server, raft_cluster, wait_until


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_connect_and_close_leaks_nothing_B017(nb_server):
    connect_nb(Endpoint(nb_server.unix, timeout=10)).close()
    gc.collect()
    before, threads = descriptors(), threading.active_count()
    gc.disable()
    try:
        for _ in range(50):
            nb = connect_nb(Endpoint(nb_server.unix, timeout=10), lock=True)
            nb.close()
            nb.close()
            assert descriptors() == before
            assert threading.active_count() == threads
    finally:
        gc.enable()


def test_failed_connects_leak_nothing_B017(sb_server, tmp_path):
    before, threads = descriptors(), threading.active_count()
    for remotes in (sb_server.unix, f"unix:{tmp_path}/nobody", f"tcp:127.0.0.1:{free_port()}"):
        for _ in range(5):
            with pytest.raises((Unreachable, WrongDatabase)):
                connect_nb(Endpoint(remotes, timeout=0.05))
    gc.collect()
    assert (descriptors(), threading.active_count()) == (before, threads)


def test_works_beyond_1024_descriptors_B017(nb_server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= 2048
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        nb = connect_nb(Endpoint(nb_server.unix, timeout=10))
        nb_server.insert({"Load_Balancer": [{"name": "lb"}]})
        assert nb.wait_for(lambda: len(nb.load_balancers("lb")) == 1, 5)
        nb.close()
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_two_replicas_of_one_process_are_independent(nb_server):
    with ovsdb_server(NB) as other:
        other.insert({"Load_Balancer": [{"name": "other"}]})
        first = connect_nb(Endpoint(nb_server.unix, timeout=10))
        second = connect_nb(Endpoint(other.unix, timeout=10))
        try:
            assert (list(first.load_balancer_names()), list(second.load_balancer_names())) == ([], ["other"])
            second.close()
            nb_server.insert({"Load_Balancer": [{"name": "one"}]})
            assert first.wait_for(lambda: bool(first.load_balancers("one")), 5)
        finally:
            first.close()
            second.close()


def test_events_tell_old_and_new(nb_server):
    nb = connect_nb(Endpoint(nb_server.unix, timeout=10))
    events = []
    forget = nb.on_change(events.append)

    def broken(event: object) -> None:
        raise ZeroDivisionError

    nb.on_change(broken)
    try:
        generation = nb.generation
        uuid = nb_server.insert({"Load_Balancer": [{"_uuid": "x", "name": "one", "protocol": "tcp"}]})["x"]
        assert nb.wait_for(lambda: len(events) == 1, 5)
        where = [["_uuid", "==", ["uuid", uuid]]]
        update = {"op": "update", "table": "Load_Balancer", "where": where}
        nb_server.transact({**update, "row": {"name": "two"}})
        assert nb.wait_for(lambda: len(events) == 2, 5)
        nb_server.transact({"op": "delete", "table": "Load_Balancer", "where": where})
        assert nb.wait_for(lambda: len(events) == 3, 5)
        assert [(one.table, one.event, one.uuid) for one in events] == [
            ("Load_Balancer", event, uuid) for event in ("create", "update", "delete")
        ]
        assert (events[0].new["name"], events[0].new["protocol"], events[0].old) == ("one", ["tcp"], {})
        assert (events[1].new["name"], events[1].old) == ("two", {"name": "one"})
        assert nb.generation > generation
        forget()
        nb_server.insert({"Load_Balancer": [{"name": "three"}]})
        assert nb.wait_for(lambda: bool(nb.load_balancers("three")), 5)
        assert len(events) == 3
    finally:
        nb.close()


def test_snapshot_stands_still(nb_server):
    nb = connect_nb(Endpoint(nb_server.unix, timeout=10))
    try:
        with nb.snapshot():
            nb_server.insert({"Load_Balancer": [{"name": "later"}]})
            time.sleep(0.1)
            assert list(nb.load_balancer_names()) == []
        assert nb.wait_for(lambda: list(nb.load_balancer_names()) == ["later"], 5)
    finally:
        nb.close()


@pytest.fixture
def standby(nb_server: OvsdbServer) -> Iterator[tuple]:
    pair = [connect_nb(Endpoint(nb_server.unix, timeout=10), lock=True) for _ in range(2)]
    yield tuple(pair)
    for one in pair:
        one.close()


def test_lock_is_dropped_with_the_session_and_asked_for_again(nb_server, standby):
    first, second = standby
    assert (first.has_lock, second.has_lock, second.lock_contended) == (True, False, True)
    nb_server.stop()
    for one in standby:
        assert one.wait_for(lambda one=one: not one.connected, 5)
        assert not one.has_lock
        assert not one.lock_contended
    nb_server.start()
    for one in standby:
        assert one.wait_for(lambda one=one: one.connected, 20)
    assert first.wait_for(lambda: first.has_lock or second.has_lock, 5)
    assert [first.has_lock, second.has_lock].count(True) == 1
    assert (first.reconnects, second.reconnects) == (1, 1)


def test_lock_has_the_name_of_the_provider_that_we_replace(nb_server):
    """The same name in an `assert` of another session is refused: it is not the holder."""
    nb = connect_nb(Endpoint(nb_server.unix, timeout=10), lock=True)
    try:
        assert LOCK_NAME == "neutron_ovn_octavia_event_lock"
        request = ["/usr/bin/ovsdb-client", "lock", nb_server.unix, LOCK_NAME]
        with subprocess.Popen(request, stdout=subprocess.PIPE, text=True) as client:
            assert json.loads("".join(_object(client))) == {"locked": False}
            client.terminate()
    finally:
        nb.close()


def _object(client: subprocess.Popen) -> Iterator[str]:
    """The first JSON object that the client prints."""
    depth = 0
    while char := client.stdout.read(1):
        depth += {"{": 1, "}": -1}.get(char, 0)
        yield char
        if char == "}" and depth == 0:
            return


def test_probes_keep_a_tcp_session(nb_server):
    nb = connect_nb(Endpoint(nb_server.listen_tcp(1000), timeout=10, probe_interval=1))
    try:
        time.sleep(3.5)
        assert (nb.connected, nb.reconnects) == (True, 0)
    finally:
        nb.close()


def test_probes_notice_a_hanging_server_and_come_back():
    with ovsdb_server(NB, tcp=True) as server:
        nb = connect_nb(Endpoint(server.tcp, timeout=10, probe_interval=1))
        try:
            server.freeze()
            assert nb.wait_for(lambda: not nb.connected, 10)
            server.thaw()
            assert nb.wait_for(lambda: nb.connected, 20)
            assert nb.reconnects == 1
        finally:
            server.thaw()
            nb.close()


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """A self-signed certificate for localhost, as private key, certificate and CA."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    made = subprocess.run(
        ["/usr/bin/openssl", "req", "-x509", *words.split(), "-keyout", str(key), "-out", str(certificate)],
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return {"private_key": str(key), "certificate": str(certificate), "ca_cert": str(certificate)}


def test_tls(nb_server, keys):
    port = free_port()
    nb_server.insert({"NB_Global": [{}], "Load_Balancer": [{"name": "lb"}]})
    nb_server.stop()
    nb_server.start(
        f"--private-key={keys['private_key']}",
        f"--certificate={keys['certificate']}",
        f"--ca-cert={keys['ca_cert']}",
        f"--remote=pssl:{port}:127.0.0.1",
    )
    nb = connect_nb(Endpoint(f"ssl:127.0.0.1:{port}", timeout=10, **keys))
    try:
        assert list(nb.load_balancer_names()) == ["lb"]
    finally:
        nb.close()
    nb_server.stop()
    with pytest.raises(Unreachable, match=f"ssl:127.0.0.1:{port}: "):
        connect_nb(Endpoint(f"ssl:127.0.0.1:{port}", timeout=0.2, **keys))


@pytest.mark.parametrize("missing", ["private_key", "certificate", "ca_cert"])
def test_tls_files_that_are_missing(keys, missing):
    endpoint = Endpoint("ssl:127.0.0.1:6641", timeout=1, **keys)
    what = {"private_key": "private key", "certificate": "certificate", "ca_cert": "CA certificate"}[missing]
    with pytest.raises(WrongDatabase, match=f"the {what} for .*No such file"):
        connect_nb(replace(endpoint, **{missing: "/nonexistent.pem"}))
    with pytest.raises(WrongDatabase, match=f"no {what} is configured"):
        connect_nb(replace(endpoint, **{missing: ""}))


@pytest.mark.parametrize(
    "remotes", ["", "127.0.0.1:6641", "tcp:127.0.0.1", "tcp::6641", "tcp:h:99999", "http:x:1"]
)
def test_malformed_connection(remotes):
    with pytest.raises(WrongDatabase, match="connection"):
        connect_nb(Endpoint(remotes, timeout=1))


def test_nobody_listens(tmp_path):
    remotes = f"unix:{tmp_path}/nobody.sock,tcp:127.0.0.1:{free_port()}"
    started = time.monotonic()
    with pytest.raises(Unreachable, match=r"OVN_Northbound is not reachable after 0.5 s: unix:.*; tcp:"):
        connect_nb(Endpoint(remotes, timeout=0.5))
    assert time.monotonic() - started < 3


def test_server_that_accepts_and_says_nothing(nb_server):
    nb_server.freeze()
    with pytest.raises(Unreachable, match="timed out"):
        connect_nb(Endpoint(nb_server.unix, timeout=0.5))
    nb_server.thaw()


def test_wrong_database(sb_server):
    with pytest.raises(WrongDatabase, match="has no database OVN_Northbound; it serves OVN_Southbound"):
        connect_nb(Endpoint(sb_server.unix, timeout=5))


def schema_without(directory: Path, table: str, column: str | None) -> Path:
    schema = json.loads(SCHEMAS[NB].read_text())
    if column:
        del schema["tables"][table]["columns"][column]
    else:
        del schema["tables"][table]
        for other in schema["tables"].values():
            for name, found in list(other["columns"].items()):
                if f'"refTable": "{table}"' in json.dumps(found):
                    del other["columns"][name]
    schema.pop("cksum", None)
    file = directory / "schema.json"
    file.write_text(json.dumps(schema))
    return file


@pytest.mark.parametrize(
    ("table", "column", "named"),
    [
        ("Load_Balancer", "ip_port_mappings", "Load_Balancer.ip_port_mappings"),
        ("Load_Balancer_Health_Check", None, "Load_Balancer.health_check, Load_Balancer_Health_Check"),
    ],
)
def test_schema_that_lacks_what_we_need(tmp_path, table, column, named):
    with (
        ovsdb_server(NB, schema_file=schema_without(tmp_path, table, column)) as server,
        pytest.raises(WrongDatabase, match=rf"lacks {named}$"),
    ):
        connect_nb(Endpoint(server.unix, timeout=5))


@pytest.mark.parametrize("column", ["ha_chassis_group", "gateway_chassis"])
def test_schema_that_lacks_an_optional_column(tmp_path, column):
    with ovsdb_server(NB, schema_file=schema_without(tmp_path, "Logical_Router_Port", column)) as server:
        port = {"_uuid": "p", "name": "lrp", "mac": "fa:16:3e:00:00:01", "networks": ["10.0.0.1/24"]}
        server.insert({"Logical_Router_Port": [port], "Logical_Router": [{"name": "lr", "ports": ["p"]}]})
        nb = connect_nb(Endpoint(server.unix, timeout=5))
        try:
            router = nb.router("lr")
            assert router is not None
            assert [one.gateway for one in router.interfaces] == [False]
        finally:
            nb.close()


@pytest.mark.parametrize("known", [False, True], ids=["before 25.03", "25.03"])
def test_ipv6_hash_follows_the_schema(tmp_path, known):
    schema = json.loads(SCHEMAS[NB].read_text())
    enum = schema["tables"]["Load_Balancer"]["columns"]["selection_fields"]["type"]["key"]["enum"][1]
    enum[:] = [one for one in enum if not one.startswith("ipv6")] + (
        ["ipv6_dst", "ipv6_src"] if known else []
    )
    schema.pop("cksum", None)
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(schema))
    with ovsdb_server(NB, schema_file=file) as server:
        nb = connect_nb(Endpoint(server.unix, timeout=5))
        assert nb.ipv6_hash() is known
        nb.close()


def test_cluster_without_a_leader():
    with raft_cluster(NB) as cluster:
        leader = cluster.leader()
        for member in cluster.members:
            if member is not leader:
                member.kill()
        wait_until(lambda: cluster.role(leader) != "leader", "the leader to step down")
        with pytest.raises(Unreachable, match="without a leader"):
            connect_nb(Endpoint(cluster.remotes, timeout=3))


def test_service_monitors(sb_server):
    monitor = {"ip": "10.0.0.21", "port": 80, "protocol": "tcp", "logical_port": "vm1", "src_mac": "m"}
    monitor |= {"src_ip": "10.0.0.2", "status": "offline"}
    uuid = sb_server.insert({"Service_Monitor": [{"_uuid": "x", **monitor}]})["x"]
    with pytest.raises(WrongDatabase, match="OVN_Southbound"):
        connect_nb(Endpoint(sb_server.unix, timeout=5))
    sb = connect_sb(Endpoint(sb_server.unix, timeout=5), lock=True)
    events = []
    sb.on_change(events.append)
    try:
        assert sb.has_lock
        assert sb.monitors() == (MonitorRow("vm1", "10.0.0.21", 80, "tcp", "offline"),)
        where = [["_uuid", "==", ["uuid", uuid]]]
        update = {"op": "update", "table": "Service_Monitor", "where": where, "row": {"status": "online"}}
        sb_server.transact(update)
        assert sb.wait_for(lambda: len(events) == 1, 5)
        assert sb.monitors()[0].status == "online"
        assert (events[0].old, events[0].new["status"]) == ({"status": ["offline"]}, ["online"])
        sb_server.restart()
        assert sb.wait_for(lambda: sb.reconnects == 1, 20)
        assert len(sb.monitors()) == 1
    finally:
        sb.close()


def test_southbound_schema_is_the_southbound_one(nb_server):
    with pytest.raises(WrongDatabase, match=f"has no database {SB}"):
        connect_sb(Endpoint(nb_server.unix, timeout=5))
