"""The running service on real servers: events, leadership, lost servers, failures, what it tells.

One load balancer with a listener, a pool, a member, a health monitor and a floating IP; everything
around it is private to the test.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime

import pytest

from ovnlb.observed.idl import connect_nb
from ovnlb.observed.remotes import Unreachable
from ovnlb.reconciler.cli import main
from ovnlb.reconciler.nudge_socket import ask
from ovnlb.reconciler.service import Service
from ovnlb.reconciler.settings import load_settings
from scenario_files import load_scenario
from servers.ovsdb import wait_until
from service_world import ServiceWorld, agent_process

LB = "1b000000-0000-4000-8000-000000000001"
LISTENER = "11500000-0000-4000-8000-000000000001"
POOL = "b0010000-0000-4000-8000-000000000001"
MEMBER = "3e3be000-0000-4000-8000-000000000001"
MONITOR = "4ea17000-0000-4000-8000-000000000001"
VIP_PORT = "a0700000-0000-4000-8000-000000000001"
FIP = "172.24.4.10"
TABLES = {
    LB: "load_balancer",
    LISTENER: "listener",
    POOL: "pool",
    MEMBER: "member",
    MONITOR: "health_monitor",
}
# Only what is asked for by the test itself happens in its time.
QUIET = {"resync_interval": 3600, "sweep_interval": 3600}


def populate(world: ServiceWorld, hm_port: bool = True, **statuses: str) -> None:
    """The load balancer with all its parts, ACTIVE, or with these provisioning statuses.

    hm_port: the health monitor's port exists.
    """
    steps = load_scenario("fip_vip_with_hm").steps
    step = next(step for step in steps if step.call.startswith("event."))
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0).isoformat()
    octavia = {name: [dict(row) for row in rows] for name, rows in step.octavia.items()}
    octavia["load_balancer"][0]["updated_at"] = now
    around = step if hm_port else steps[0]
    world.load(octavia, around.topology, around.neutron)
    for object_id, status in statuses.items():
        pend(world, object_id, status)


def pend(world: ServiceWorld, object_id: str, status: str = "PENDING_UPDATE") -> None:
    """What a call of octavia-api commits: this status on the object, PENDING_UPDATE on the LB."""
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    world.sql(f"UPDATE {TABLES[object_id]} SET provisioning_status = :s WHERE id = :i", s=status, i=object_id)
    own = status if object_id == LB else "PENDING_UPDATE"
    world.sql(
        "UPDATE load_balancer SET provisioning_status = :s, updated_at = :t WHERE id = :i", s=own, t=now, i=LB
    )


def statuses(world: ServiceWorld) -> dict[str, tuple[str, str]]:
    """Object id -> (provisioning, operating)."""
    found = {}
    for object_id, table in TABLES.items():
        query = f"SELECT provisioning_status, operating_status FROM {table} WHERE id = :i"
        for row in world.sql(query, i=object_id):
            found[object_id] = row
    return found


def row(world: ServiceWorld) -> dict:
    """The load balancer's row."""
    (found,) = world.balancers()
    return found


def pairs(values: dict[str, str]) -> list:
    """A map column's value in a transaction."""
    return ["map", [list(pair) for pair in values.items()]]


def edit(world: ServiceWorld, table: str, name: str, **values) -> None:
    """An edit by somebody else."""
    world.nb.transact({"op": "update", "table": table, "where": [["name", "==", name]], "row": values})


def passed(service: Service) -> None:
    wait_until(service.first_pass.is_set, "the first full pass")
    wait_until(lambda: service.queue.idle, "the rounds that are under way")


@pytest.fixture
def world(shared_world):
    return shared_world


def test_a_start_brings_everything_right_and_reports_nothing_twice(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        assert row(world)["external_ids"]["neutron:vip_fip"] == FIP
        assert f"{FIP}:80" in row(world)["vips"]
        sent = service.metrics.registry.get_sample_value("ovnlb_ovsdb_txn_total", {"status": "success"})
        time.sleep(2.5)
        # Our own writes come back as events: they are looked at, and lead to nothing.
        assert sent == 1
        assert sent == service.metrics.registry.get_sample_value(
            "ovnlb_ovsdb_txn_total", {"status": "success"}
        )


@pytest.mark.parametrize("column", ["vips", "external_ids", "attachment", "row"])
def test_a_foreign_edit_of_our_row_is_undone(world, column):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        before = row(world)
        switches = world.nb.dump("Logical_Switch")
        if column == "row":
            world.nb.transact({"op": "delete", "table": "Load_Balancer", "where": [["name", "==", LB]]})
        elif column == "attachment":
            edit(
                world,
                "Logical_Switch",
                "neutron-4e700000-0000-4000-8000-000000000001",
                load_balancer=["set", []],
            )
        elif column == "vips":
            edit(world, "Load_Balancer", LB, vips=["map", []])
        else:
            edit(
                world,
                "Load_Balancer",
                LB,
                external_ids=["map", [["enabled", "False"], ["neutron:vip", "1.1.1.1"]]],
            )
        wait_until(lambda: world.balancers() and row(world) == before, "the repair")
        wait_until(lambda: world.nb.dump("Logical_Switch") == switches, "the attachment")


def test_keys_of_others_in_our_row_stay(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        ids = {**row(world)["external_ids"], "theirs": "1"}
        edit(world, "Load_Balancer", LB, external_ids=pairs(ids))
        time.sleep(1.5)
        assert row(world)["external_ids"]["theirs"] == "1"


def test_a_floating_ip_that_neutron_notes_on_the_vip_port_is_followed(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        port = next(p for p in world.nb.rows("Logical_Switch_Port") if p["name"] == VIP_PORT)
        ids = {key: value for key, value in port["external_ids"].items() if key != "neutron:port_fip"}
        edit(world, "Logical_Switch_Port", VIP_PORT, external_ids=pairs(ids))
        wait_until(lambda: f"{FIP}:80" not in row(world)["vips"], "the FIP to go")
        ids["neutron:port_fip"] = "172.24.4.99"
        edit(world, "Logical_Switch_Port", VIP_PORT, external_ids=pairs(ids))
        wait_until(lambda: "172.24.4.99:80" in row(world)["vips"], "the new FIP")


def test_without_events_the_resync_finds_it_only_later(world, monkeypatch):
    monkeypatch.setattr("ovnlb.reconciler.sources.EventSource._add", lambda *args: None)
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        edit(world, "Load_Balancer", LB, vips=["map", []])
        wait_until(lambda: not service.connections.nb.load_balancers(LB)[0].vips, "the damage to be seen")
        assert service.queue.idle
        service.resync.request("test")
        wait_until(lambda: row(world)["vips"], "the repair")
        wait_until(lambda: service.queue.idle, "its round to end")
        assert service.journal.about(LB).triggers == ("resync:test",)


def test_a_new_router_interface_is_attached(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        assert row(world)["external_ids"]["lr_ref"].count("neutron-") == 1
        name = "neutron-40073000-0000-4000-8000-0000000000aa"
        subnet = "5b4e7000-0000-4000-8000-000000000001"
        network = "neutron-4e700000-0000-4000-8000-000000000001"
        external_ids = {"neutron:network_name": network, "neutron:subnet_ids": subnet}
        interface = {
            "_uuid": "lrp:new",
            "name": "lrp-new",
            "mac": "fa:16:3e:00:02:01",
            "networks": ["10.0.0.254/24"],
            "external_ids": external_ids,
        }
        world.nb.insert(
            {
                "Logical_Router": [{"_uuid": "lr:new", "name": name, "ports": ["lrp:new"]}],
                "Logical_Router_Port": [interface],
            }
        )
        wait_until(lambda: name in row(world)["external_ids"]["lr_ref"], "the attachment")
        world.nb.transact({"op": "delete", "table": "Logical_Router", "where": [["name", "==", name]]})
        wait_until(lambda: name not in row(world)["external_ids"]["lr_ref"], "the detachment")


def monitor(world: ServiceWorld, status: str) -> None:
    """Make OVN's monitor of the member say this."""
    where = [["logical_port", "==", "b0470000-0000-4000-8000-000000000001"]]
    world.sb.transact({"op": "update", "table": "Service_Monitor", "where": where, "row": {"status": status}})


def test_health_events_are_reported_damped_and_leave_the_data_path_alone_B118(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        vips = row(world)["vips"]
        world.sb.insert(
            {
                "Service_Monitor": [
                    {
                        "logical_port": "b0470000-0000-4000-8000-000000000001",
                        "ip": "10.0.0.21",
                        "port": 8080,
                        "protocol": "tcp",
                        "status": "online",
                    }
                ]
            }
        )
        wait_until(lambda: service.connections.southbound.connected, "the Southbound replica")
        monitor(world, "offline")
        wait_until(lambda: statuses(world)[MEMBER] == ("ACTIVE", "ERROR"), "the member's ERROR")
        above = (POOL, LISTENER, LB)
        wait_until(lambda: {statuses(world)[one] for one in above} == {("ACTIVE", "ERROR")}, "ERROR above it")
        told = len(world.agent.messages)
        for status in ("online", "offline", "online", "offline", "online"):
            monitor(world, status)
            time.sleep(0.05)
        wait_until(lambda: statuses(world)[LB] == ("ACTIVE", "ONLINE"), "everything to be ONLINE")
        assert len(world.agent.messages) - told <= 2
        assert row(world)["vips"] == vips
        sent = [record for message in world.agent.messages for kind in message for record in message[kind]]
        assert not [record for record in sent if "provisioning_status" in record]


def test_two_daemons_one_writes_the_other_takes_over_B016(world):
    populate(world)
    with world.service(**QUIET) as first:
        passed(first)
        with world.service(**QUIET) as second:
            time.sleep(0.5)
            assert (first.role, second.role) == ("leader", "follower")
            pend(world, LISTENER)
            world.settle()
            assert second.metrics.registry.get_sample_value(
                "ovnlb_ovsdb_txn_total", {"status": "success"}
            ) in (None, 0)
            assert second.ready()[0]
            edit(world, "Load_Balancer", LB, vips=["map", []])
            first.connections.nb.close()
            wait_until(lambda: second.leading, "the take-over")
            passed(second)
            assert row(world)["vips"]
            pend(world, LISTENER)
            world.settle()
            wait_until(lambda: not first.leading, "the first to stand back")


def test_a_foreign_holder_of_the_lock_keeps_us_from_writing(world):
    populate(world)
    holder = connect_nb(world.settings().nb, lock=True)
    try:
        wait_until(lambda: holder.has_lock, "the lock")
        with world.service(**QUIET) as service:
            time.sleep(0.7)
            assert not service.leading
            assert world.balancers() == []
            assert not os.path.exists(world.nudge_path)
            holder.close()
            passed(service)
            assert world.balancers()
    finally:
        holder.close()


def test_the_northbound_server_restarts(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        world.nb.restart()
        edit(world, "Load_Balancer", LB, vips=["map", []])
        wait_until(lambda: row(world)["vips"], "the repair after the reconnect", 30)
        pend(world, LISTENER)
        world.settle()


def test_an_absent_agent_holds_up_the_reports_only_B002(world):
    world.agent.stop()
    populate(world, **{LISTENER: "PENDING_CREATE"})
    with world.service(**QUIET) as service:
        wait_until(world.balancers, "the row")
        wait_until(lambda: service.reporter.last_error, "the failing report")
        writes = row(world)
        time.sleep(1)
        assert row(world) == writes
        assert world.status(LB) == "PENDING_UPDATE"
        assert service.about(LB)["report_waits"]
        world.agent.start()
        world.settle()


def test_a_hanging_agent_blocks_no_reconciling(world):
    world.agent.hang.set()
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    with world.service(**QUIET) as service:
        passed(service)
        edit(world, "Load_Balancer", LB, vips=["map", []])
        wait_until(lambda: row(world)["vips"], "the repair")
        world.agent.hang.clear()
        world.agent.stop()
        world.agent.start()
        world.settle(60)


def test_a_refused_status_is_built_anew(world):
    world.agent.refuse = {LISTENER}
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    with world.service(**QUIET) as service:
        wait_until(lambda: service.reporter.last_error, "the refusal")
        assert world.status(LB) == "PENDING_UPDATE"
        world.agent.refuse = set()
        world.settle()


def test_a_delete_waits_for_neutron_for_ever_and_is_never_ERROR_B007(world):
    populate(world)
    with world.service(error_after=1, **QUIET) as service:
        passed(service)
        world.neutron.fail("DELETE", "ports", status=503, times=10_000)
        port = world.neutron.store["ports"][VIP_PORT]
        port["name"] = f"ovn-lb-vip-{LB}"
        pend(world, LB, "PENDING_DELETE")
        wait_until(lambda: not world.balancers(), "the rows to go")
        wait_until(lambda: service.queue.failing(), "a failure")
        time.sleep(2)
        assert world.status(LB) == "PENDING_DELETE"
        about = service.about(LB)
        assert about["last"]["result"] == "transient"
        assert "503" in about["last"]["error"]
        assert about["pending_since"] > 1
        world.neutron.faults.clear()
        wait_until(lambda: world.status(LB) == "DELETED", "the deletion", 30)
        assert VIP_PORT not in world.neutron.store["ports"]


def test_what_cannot_be_applied_becomes_ERROR_and_is_healed(world):
    """The failed child ERROR, its parents ACTIVE; ACTIVE once it can be applied."""
    populate(world, hm_port=False)
    pend(world, MONITOR, "PENDING_CREATE")
    world.sql("UPDATE pool SET provisioning_status = 'PENDING_UPDATE'")
    world.sql("UPDATE listener SET provisioning_status = 'PENDING_UPDATE'")
    world.neutron.fail("POST", "ports", status=403, message="quota", times=10_000)
    with world.service(error_after=1, **QUIET) as service:
        world.settle(30)
        found = statuses(world)
        assert found[MONITOR][0] == "ERROR"
        assert {found[one][0] for one in (LB, LISTENER, POOL, MEMBER)} == {"ACTIVE"}
        assert "quota" in service.about(LB)["last"]["error"]
        world.neutron.faults.clear()
        service.resync.request("test")
        wait_until(lambda: statuses(world)[MONITOR][0] == "ACTIVE", "the heal", 30)


def test_a_load_balancer_that_cannot_be_read_becomes_ERROR_and_is_healed(world):
    """Nothing stays PENDING for want of a graph; its reason is told."""
    populate(world, **{LB: "PENDING_UPDATE", LISTENER: "PENDING_UPDATE"})
    address = world.sql("SELECT ip_address FROM vip")[0][0]
    world.sql("UPDATE vip SET ip_address = NULL")
    with world.service(error_after=1, **QUIET) as service:
        world.settle(30)
        assert {statuses(world)[one][0] for one in (LB, LISTENER)} == {"ERROR"}
        assert "has no ip_address in its row of table vip" in service.about(LB)["last"]["error"]
        world.sql("UPDATE vip SET ip_address = :address", address=address)
        service.resync.request("test")
        wait_until(lambda: {statuses(world)[one][0] for one in (LB, LISTENER)} == {"ACTIVE"}, "the heal", 30)


def test_children_that_stay_PENDING_below_an_ACTIVE_load_balancer_are_found_by_the_sweep(world):
    """The end of another writer's message can make it ACTIVE right after the next operation's commit."""
    populate(world)
    with world.service(**{**QUIET, "sweep_interval": 1}) as service:
        passed(service)
        world.settle(30)
        pend(world, LISTENER)
        world.sql("UPDATE load_balancer SET provisioning_status = 'ACTIVE' WHERE id = :i", i=LB)
        wait_until(lambda: statuses(world)[LISTENER][0] == "ACTIVE", "the listener", 20)


def test_an_observer_writes_and_reports_nothing(world):
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    with world.service(policy="observe-only", **QUIET) as service:
        wait_until(lambda: service.about(LB)["last"].get("result") == "refused", "a look")
        assert service.role == "observer"
        assert (world.balancers(), world.agent.messages) == ([], [])
        assert not service.connections.nb.wants_lock


def get(service: Service, page: str) -> tuple[int, str]:
    host = service.settings.metrics_listen
    try:
        with urllib.request.urlopen(f"http://{host}{page}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def test_pages_tell_health_readiness_and_metrics(world):
    populate(world)
    with world.service(metrics_listen=f"127.0.0.1:{free_port()}", **QUIET) as service:
        passed(service)
        assert get(service, "/healthz")[0] == 200
        status, body = get(service, "/readyz")
        ready = json.loads(body)
        assert (status, ready["role"], ready["errors"], ready["load_balancers"]) == (200, "leader", [], 1)
        assert ready["last_full_pass_seconds"] >= 0
        metrics = get(service, "/metrics")[1]
        assert "ovnlb_leader 1.0" in metrics
        assert 'ovnlb_idl_connected{db="nb"} 1.0' in metrics
        assert 'ovnlb_reconcile_total{result="changed"} 1.0' in metrics
        assert LB not in metrics
        assert get(service, "/nothing")[0] == 404
        world.nb.stop()
        wait_until(lambda: get(service, "/readyz")[0] == 503, "not ready without the database")
        world.nb.start()


def test_the_socket_answers_questions(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        wait_until(lambda: service.socket.is_open, "the socket")
        assert os.stat(world.nudge_path).st_mode & 0o777 == 0o660
        about = ask(world.nudge_path, {"ask": "show", "lb": LB})
        assert (about["role"], about["last"]["result"], about["pending_since"]) == ("leader", "changed", None)
        assert ask(world.nudge_path, {"ask": "show"})["load_balancers"] == 1
        assert "unknown question" in ask(world.nudge_path, {"ask": "what"})["error"]
        edit(world, "Load_Balancer", LB, vips=["map", []])
        assert ask(world.nudge_path, {"ask": "reconcile", "lb": [LB]}) == {"queued": 1}
        wait_until(lambda: row(world)["vips"], "the repair", 0.9)
    assert ask(world.nudge_path, {"ask": "show"}, timeout=0.2) is None
    assert not os.path.exists(world.nudge_path)


def test_garbage_on_the_socket_harms_nobody(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
            made.connect(world.nudge_path)
            for datagram in (
                b"",
                b"\xff" * 900,
                b'{"ask": 1}',
                b'{"ask": "show", "lb": 7}',
                b"[" * 5000,
                b'{"lb": {}}',
            ):
                made.send(datagram)
        assert ask(world.nudge_path, {"ask": "show", "lb": LB})["lb"] == LB


def test_every_non_empty_plan_leaves_one_line_B152(world, caplog):
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    with caplog.at_level("INFO", "ovnlb"), world.service(**QUIET) as service:
        passed(service)
        world.settle()
        lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("applied ")]
        (line,) = lines
        assert line.endswith(f"transaction='ovnlb {LB}'")
        fields = dict(field.split("=", 1) for field in line.split()[1:] if "=" in field)
        assert fields["lb"] == LB
        assert fields["trigger"]
        assert "missing" in fields["reasons"] or "intent" in fields["reasons"]
        assert int(fields["operations"]) > 0
        assert fields["result"] == "changed"


def test_reload_changes_what_it_can_and_names_the_rest(world):
    populate(world)
    with world.service(**QUIET) as service:
        passed(service)
        changed, restart = service.reload(world.settings(poll_interval=3, error_after=9, workers=7, **QUIET))
        assert (set(changed), set(restart)) == ({"poll_interval", "error_after"}, {"workers"})
        assert (service.watch.intervals.poll, service.settings.error_after, service.settings.workers) == (
            3,
            9,
            4,
        )


def test_the_command_runs_reloads_and_ends_cleanly(world, tmp_path, monkeypatch):
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notified.bind(str(tmp_path / "notify"))
    notified.settimeout(20)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "400000")
    with world.daemon(**QUIET) as daemon:
        assert notified.recv(100) == b"READY=1"
        world.settle()
        assert notified.recv(100) == b"WATCHDOG=1"
        daemon.process.send_signal(signal.SIGHUP)
        daemon.await_log("configuration read again: changed nothing")
        assert daemon.stop() == 0
        assert "stopped" in daemon.log
        assert "Traceback" not in daemon.log
    states = [b"WATCHDOG=1"]
    while states[-1] != b"STOPPING=1":
        states.append(notified.recv(100))
    assert b"RELOADING=1" in states
    notified.close()


def test_an_unreachable_northbound_ends_the_start_with_a_message(world):
    config = world.config()
    text = config.read_text().replace(world.nb.remote, "tcp:127.0.0.1:1")
    config.write_text(text.replace("ovsdb_connection_timeout = 10", "ovsdb_connection_timeout = 1"))
    with pytest.raises(Unreachable, match=r"tcp:127\.0\.0\.1:1"):
        Service(load_settings([str(config)])).run(threading.Event())
    assert main(["run", "--config-file", str(config)]) == 1


def test_the_provider_agent_works_until_its_event(world):
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    context = multiprocessing.get_context("spawn")
    exit_event, started = context.Event(), context.Event()
    process = context.Process(target=agent_process, args=(str(world.config(**QUIET)), exit_event, started))
    process.start()
    try:
        assert started.wait(30)
        world.settle(30)
        assert process.is_alive()
        begun = time.monotonic()
        exit_event.set()
        process.join(10)
        assert process.exitcode == 0
        assert time.monotonic() - begun < 5
    finally:
        process.kill()
        process.join()


def test_wait_ends_when_the_load_balancer_is_settled(world, capsys):
    populate(world, **{LISTENER: "PENDING_UPDATE"})
    config = str(world.config(**QUIET))
    assert main(["wait", "--config-file", config, "--lb", LB, "--timeout", "0.3"]) == 1
    assert "still PENDING_UPDATE (no daemon" in capsys.readouterr().err
    with world.service(**QUIET):
        assert main(["wait", "--config-file", config, "--lb", LB, "--timeout", "20"]) == 0
    assert f"{LB} ACTIVE" in capsys.readouterr().out
    assert main(["wait", "--config-file", config, "--lb", "nobody"]) == 1
    assert "nobody" in capsys.readouterr().err
