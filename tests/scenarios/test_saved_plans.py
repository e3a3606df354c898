"""Saved plans and the lock: what was reviewed is what is applied, by whoever may write."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from ovnlb.observed.idl import connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler import cli
from ovnlb.reconciler.commands import apply
from ovnlb.reconciler.ports import Ports
from ovnlb.reconciler.service import Service
from repair_world import LONG_AGO, Ran, RepairWorld, captured, without_chassis
from scenario_files import load_scenario
from servers.ovsdb import wait_until
from service_world import ServiceWorld

FIRST = "1b000000-0000-4000-8000-000000000001"
SECOND = "1b000000-0000-4000-8000-000000000002"


@pytest.fixture
def unwritten(repair: RepairWorld) -> RepairWorld:
    """Two load balancers in Octavia, and no rows."""
    repair.configure()
    repair.neutron.faults.clear()
    repair.load(load_scenario("two_lbs_same_network").steps[9])
    repair.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
    return repair


@pytest.fixture
def monitored(repair: RepairWorld) -> RepairWorld:
    """A load balancer with a health monitor whose port does not exist yet, and no rows."""
    repair.configure()
    repair.neutron.faults.clear()
    repair.load(load_scenario("sync_missing_lb_row").steps[6])
    repair.neutron_writes_ports()
    repair.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
    hm_ports = {
        port_id for port_id, port in repair.neutron.store["ports"].items() if "ovn-lb-hm" in port["name"]
    }
    for port_id in hm_ports:
        del repair.neutron.store["ports"][port_id]
    name_is = [[["name", "==", port_id]] for port_id in hm_ports]
    for where in name_is:
        (found,) = repair.nb.transact({"op": "select", "table": "Logical_Switch_Port", "where": where})
        for row in found["rows"]:
            port = ["set", [row["_uuid"]]]
            repair.nb.transact(
                {
                    "op": "mutate",
                    "table": "Logical_Switch",
                    "where": [],
                    "mutations": [["ports", "delete", port]],
                }
            )
    return repair


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """Where a plan is saved."""
    return str(tmp_path / "plan.json")


def disable(world: RepairWorld, lb_id: str = FIRST) -> None:
    """A user changes something."""
    world.sql("UPDATE load_balancer SET enabled = 0 WHERE id = :id", id=lb_id)


def test_saved_plan_is_applied_and_only_once(unwritten: RepairWorld, saved: str) -> None:
    """The plan that was saved is written; a second time it has moved."""
    assert unwritten.run("plan", "--out", saved).code == 2
    ran = unwritten.run("apply", saved)
    assert ran.code == 0, (ran.out, ran.err)
    assert set(unwritten.rows()) == {FIRST, SECOND}
    before = unwritten.versions()
    again = unwritten.run("apply", saved)
    assert (again.code, unwritten.versions()) == (3, before)
    assert FIRST in again.err
    assert SECOND in again.err


def test_moved_intent_is_refused_and_named(unwritten: RepairWorld, saved: str) -> None:
    """One load balancer changed in Octavia: nothing at all is written, and the change is told."""
    unwritten.run("plan", "--out", saved)
    disable(unwritten)
    ran = unwritten.run("apply", saved)
    assert (ran.code, unwritten.rows()) == (3, {})
    assert FIRST in ran.err
    assert SECOND not in ran.err
    assert "what Octavia and Neutron ask for changed" in ran.err
    assert '"True" -> "False"' in ran.err


def test_moved_rows_are_refused_and_named(unwritten: RepairWorld, saved: str) -> None:
    """Somebody edited a row since: the row's new value is told."""
    unwritten.run("apply")
    disable(unwritten)
    assert unwritten.run("plan", "--out", saved).code == 2
    unwritten.nb.transact(
        {
            "op": "mutate",
            "table": "Load_Balancer",
            "where": [["name", "==", SECOND]],
            "mutations": [["external_ids", "delete", ["set", ["neutron:vip"]]]],
        }
    )
    before = unwritten.versions()
    ran = unwritten.run("apply", saved)
    assert (ran.code, unwritten.versions()) == (3, before)
    assert "its rows in the Northbound database changed" in ran.err
    assert 'neutron:vip "10.0.0.11" -> null' in ran.err


def test_new_and_gone_load_balancers_are_refused(unwritten: RepairWorld, saved: str) -> None:
    """The saved plan is of a whole scope."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    unwritten.run("plan", "--out", saved)
    for table in ("member", "listener", "pool", "vip"):
        unwritten.sql(f"DELETE FROM {table}")
    unwritten.sql("DELETE FROM load_balancer WHERE id = :id", id=FIRST)
    ran = unwritten.run("apply", saved)
    assert ran.code == 3
    assert "is not there any more" in ran.err
    assert unwritten.rows() == {}
    unwritten.run("plan", "--out", saved)
    unwritten.octavia(step.octavia)
    ran = unwritten.run("apply", saved)
    assert ran.code == 3
    assert "is not in the saved plan" in ran.err
    assert unwritten.rows() == {}


def test_scope_of_a_saved_plan_is_its_own(unwritten: RepairWorld, saved: str) -> None:
    """A plan of one load balancer writes that one; --lb beside a file is an error."""
    assert unwritten.run("plan", "--lb", SECOND, "--out", saved).code == 2
    ran = unwritten.run("apply", "--lb", FIRST, saved)
    assert (ran.code, unwritten.rows()) == (1, {})
    assert unwritten.run("apply", saved).code == 0
    assert set(unwritten.rows()) == {SECOND}


def test_address_of_a_new_monitor_port_is_the_one_difference_allowed(
    monitored: RepairWorld, saved: str
) -> None:
    """The plan shows the address as a placeholder; what is written has Neutron's."""
    ran = monitored.run("plan", "--out", saved)
    assert "(address of the new HM port on" in Path(saved).read_text()
    assert ran.code == 2
    ran = monitored.run("apply", saved)
    assert ran.code == 0, (ran.out, ran.err)
    ((row,),) = monitored.rows().values()
    (made,) = [port for port in monitored.neutron.dump()["ports"] if "ovn-lb-hm" in port["name"]]
    address = made["fixed_ips"][0]["ip_address"]
    assert {value.partition(":")[2] for value in row["ip_port_mappings"].values()} == {address}


def test_other_change_beside_the_new_address_is_refused(
    monitored: RepairWorld, saved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user changes the load balancer while the port is made: the gate holds after the effect, too."""
    monitored.run("plan", "--out", saved)
    perform = Ports.perform

    def performed(self: Ports, lb: Any, effects: Any) -> bool:
        disable(monitored, lb.id)
        return perform(self, lb, effects)

    monkeypatch.setattr(Ports, "perform", performed)
    ran = monitored.run("apply", saved)
    assert (ran.code, monitored.rows()) == (3, {})
    assert "what Octavia and Neutron ask for changed" in ran.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "Expecting value"),
        ("[]", "no plan"),
        ('{"kind": "ovnlb plan", "format_version": "9.0"}', "9.0"),
        ('{"kind": "ovnlb plan", "format_version": "1.0"}', "missing"),
        (None, "No such file"),
    ],
    ids=["empty", "other", "version", "torn", "absent"],
)
def test_file_that_is_no_saved_plan(
    unwritten: RepairWorld, saved: str, content: str | None, words: str
) -> None:
    """A message that names the file; nothing written."""
    if content is not None:
        Path(saved).write_text(content)
    ran = unwritten.run("apply", saved)
    assert (ran.code, unwritten.rows()) == (1, {})
    assert saved in ran.err
    assert words in ran.err


def test_saved_plan_is_complete_or_not_there(unwritten: RepairWorld, tmp_path: Path) -> None:
    """A place that cannot be written is named, and a plan made from a bundle is never saved."""
    target = tmp_path / "nowhere" / "plan.json"
    ran = unwritten.run("plan", "--out", str(target))
    assert ran.code == 1
    assert str(target) in ran.err
    bundle = tmp_path / "bundle.json"
    unwritten.run("snapshot", "--out", str(bundle))
    ran = unwritten.run("plan", "--from", str(bundle), "--out", str(tmp_path / "p"))
    assert ran.code == 1
    assert "bundle" in ran.err


# The lock


def test_take_lock_steals_it(unwritten: RepairWorld, saved: str) -> None:
    """Without a daemon that answers nothing is written and the holder is unknown; --take-lock writes."""
    unwritten.run("plan", "--out", saved)
    holder = connect_nb(Endpoint(unwritten.nb.unix, timeout=5), lock=True)
    try:
        assert holder.wait_for(lambda: holder.has_lock, 5)
        for arguments in (("apply",), ("apply", saved)):
            ran = unwritten.run(*arguments)
            assert (ran.code, unwritten.rows()) == (1, {})
            assert "does not answer on this host" in ran.err
        assert unwritten.run("apply", saved, "--take-lock").code == 0
        assert set(unwritten.rows()) == {FIRST, SECOND}
    finally:
        holder.close()


def loaded(world: ServiceWorld) -> dict[str, Any]:
    """The two load balancers in a service's world."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    topology = {
        "NB_Global": [{"_uuid": "global"}],
        **{
            name: [without_chassis(row) for row in rows] if isinstance(rows, list) else rows
            for name, rows in step.topology.items()
        },
    }
    ports = [{**port, "created_at": LONG_AGO} for port in step.neutron["ports"]]
    world.load(step.octavia, topology, {**step.neutron, "ports": ports})
    return dict(step.octavia)


def apply_beside(world: ServiceWorld, *arguments: str) -> Ran:
    """`ovnlb apply` while a service runs."""
    options = cli.parser("apply").parse_args(["apply", "--config-file", str(world.config()), *arguments])
    return captured(lambda: cli.guarded(lambda: int(apply.run(options))))


def test_apply_hands_its_keys_to_the_daemon(world: ServiceWorld) -> None:
    """The daemon holds the lock: apply names it, hands over, waits until its own plan is empty: 0."""
    loaded(world)
    with world.service(resync_interval=3600):
        wait_until(lambda: len(world.balancers()) == 2, "two rows")
        world.settle()
        world.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
        ran = apply_beside(world, "--timeout", "30", "--format", "json")
        assert ran.code == 0, (ran.out, ran.err)
        assert "the ovnlb daemon of this host" in ran.err
        assert "2 load balancers handed over" in ran.err
        assert len(world.balancers()) == 2
        assert json.loads(ran.out)["summary"]["in_sync"] == 2


def test_apply_prints_what_the_daemon_left_undone(world: ServiceWorld) -> None:
    """The time is over: 1, and the rest is listed."""
    tables = loaded(world)
    with world.service(resync_interval=3600):
        wait_until(lambda: len(world.balancers()) == 2, "two rows")
        world.settle()
        vips = [row for row in tables["vip"] if row["load_balancer_id"] != FIRST]
        world.octavia({**tables, "vip": vips})
        ran = apply_beside(world, "--timeout", "1")
        assert ran.code == 1
        assert FIRST in ran.out


def test_saved_plan_beside_a_daemon_is_not_applied(world: ServiceWorld, saved: str) -> None:
    """The daemon knows nothing of the review: the file needs the lock."""
    loaded(world)
    cloud = ["--config-file", str(world.config())]
    assert captured(lambda: cli.main(["plan", *cloud, "--out", saved])).code == 2
    with world.service():
        ran = apply_beside(world, saved)
    assert ran.code == 1
    assert "the ovnlb daemon of this host" in ran.err


def test_apply_goes_on_itself_when_the_holder_goes_away(
    world: ServiceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock comes free while apply waits: it does the work."""
    tables, handed_over = loaded(world), threading.Event()
    answer = Service.answer

    def answered(self: Service, question: Any) -> Any:
        if question["ask"] == "reconcile":
            handed_over.set()
        return answer(self, question)

    monkeypatch.setattr(Service, "answer", answered)
    with world.service(resync_interval=3600) as service:
        wait_until(lambda: len(world.balancers()) == 2, "two rows")
        world.settle()
        service.queue.park()  # the daemon takes keys no more
        world.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
        found: list[Ran] = []
        waiting = threading.Thread(target=lambda: found.append(apply_beside(world, "--timeout", "60")))
        waiting.start()
        assert handed_over.wait(30)
    waiting.join(60)
    assert found[0].code == 0, (found[0].out, found[0].err)
    assert {row["name"] for row in world.balancers()} == {row["id"] for row in tables["load_balancer"]}
