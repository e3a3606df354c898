"""Lost and restored databases: rows are rebuilt, nothing is deleted for a reading that lacks something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from repair_world import LATELY, RepairWorld
from scenario_files import load_scenario, scenario_names

FIRST = "1b000000-0000-4000-8000-000000000001"
SECOND = "1b000000-0000-4000-8000-000000000002"
# Load balancers of every shape: HMs, floating IPs, two protocols, dual stack, two routers.
SHAPES = [
    "fip_additional_vip",
    "hm_dual_stack",
    "hm_two_listeners_one_pool",
    "lb_fully_populated_create",
    "member_two_lbs_two_pools_hm_event",
    "router_two_routers",
    "several_listeners_one_pool",
    "sync_nothing_missing_two_protocols",
]


@pytest.fixture
def cloud(repair: RepairWorld) -> RepairWorld:
    """Two load balancers, both right."""
    repair.configure()
    repair.neutron.faults.clear()
    repair.load(load_scenario("two_lbs_same_network").steps[9])
    assert repair.run("apply").code == 0
    repair.neutron.calls.clear()
    return repair


def whole_step(name: str) -> int:
    """The last step of a scenario at which no load balancer is being deleted."""
    steps = load_scenario(name).steps
    return max(
        index
        for index, step in enumerate(steps)
        if step.octavia
        and step.octavia["load_balancer"]
        and {row["provisioning_status"] for row in step.octavia["load_balancer"]} <= ALIVE
    )


ALIVE = {"ACTIVE", "PENDING_CREATE", "PENDING_UPDATE"}


@pytest.mark.parametrize("name", SHAPES)
def test_empty_northbound_is_rebuilt_B100(name: str, repair: RepairWorld) -> None:
    """All rows and references come back in one run, the second one has nothing to do."""
    assert name in scenario_names()
    repair.configure()
    repair.neutron_writes_ports()
    repair.load(load_scenario(name).steps[whole_step(name)])
    repair.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
    ran = repair.run("apply")
    assert ran.code == 0, (ran.out, ran.err)
    assert repair.rows()
    before = repair.versions()
    again = repair.run("apply")
    assert (again.code, repair.versions()) == (0, before)
    assert "Nothing had to be written." in again.out


def test_rebuild_tells_octavia_what_it_understands_B101(cloud: RepairWorld) -> None:
    """Status records are flat: an id and statuses, nothing nested; everything ends ACTIVE."""
    cloud.sql("UPDATE load_balancer SET provisioning_status = 'PENDING_UPDATE'")
    cloud.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
    cloud.agent.messages.clear()
    assert cloud.run("apply").code == 0
    assert cloud.agent.messages
    for message in cloud.agent.messages:
        assert set(message) <= {"loadbalancers", "listeners", "pools", "members", "healthmonitors"}
        for record in (one for records in message.values() for one in records):
            assert set(record) <= {"id", "provisioning_status", "operating_status"}
            assert all(isinstance(value, str) for value in record.values())
    assert cloud.sql("SELECT DISTINCT provisioning_status FROM load_balancer") == [("ACTIVE",)]


def test_neutron_rows_that_are_still_missing_B103(cloud: RepairWorld) -> None:
    """Rows are made without references and wait for Neutron; a later run completes them by itself."""
    step = load_scenario("two_lbs_same_network").steps[9]
    cloud.northbound({})
    ran = cloud.run("apply")
    assert ran.code == 1
    assert "waiting for Neutron" in ran.out
    assert set(cloud.rows()) == {FIRST, SECOND}
    uuids = {row["_uuid"] for rows in cloud.rows().values() for row in rows}
    assert cloud.run("plan").code == 2
    switches = {name: rows for name, rows in step.topology.items() if isinstance(rows, list)}
    cloud.nb.insert({name: [without(row) for row in rows] for name, rows in switches.items()})
    ran = cloud.run("apply")
    assert ran.code == 0, (ran.out, ran.err)
    assert {row["_uuid"] for rows in cloud.rows().values() for row in rows} == uuids
    attached = [row for row in cloud.nb.rows("Logical_Switch") if set(row["load_balancer"]) == uuids]
    assert attached
    assert cloud.run("plan").code == 0


def without(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row without columns that lead out of the recording."""
    gone = {"ha_chassis_group", "gateway_chassis", "gateway_port"}
    return {key: value for key, value in row.items() if key not in gone}


def test_northbound_restored_from_an_old_backup(repair: RepairWorld) -> None:
    """Rows as they were some operations ago, one load balancer not yet among them: brought up to date."""
    scenario = load_scenario("two_lbs_same_network")
    repair.configure()
    repair.load(scenario.steps[9])
    old = scenario.steps[4]
    repair.northbound({**scenario.steps[9].topology, **old.expected})
    uuids = {row["_uuid"] for rows in repair.rows().values() for row in rows}
    assert set(repair.rows()) == {FIRST}
    assert repair.run("apply").code == 0
    assert set(repair.rows()) == {FIRST, SECOND}
    assert uuids <= {row["_uuid"] for rows in repair.rows().values() for row in rows}
    assert repair.run("plan").code == 0


def restored(cloud: RepairWorld) -> None:
    """Octavia's backup is older than the second load balancer."""
    step = load_scenario("two_lbs_same_network").steps[4]
    assert step.octavia is not None
    cloud.octavia(step.octavia)
    cloud.date_ports(LATELY)


def wrong(cloud: RepairWorld) -> None:
    """Another cloud's database: nobody in it is known here."""
    cloud.octavia({"load_balancer": [{"id": "1b000000-0000-4000-8000-000000000077", "provider": "ovn"}]})
    cloud.sql(
        "INSERT INTO vip (load_balancer_id, ip_address, port_id, subnet_id, network_id) "
        "VALUES ('1b000000-0000-4000-8000-000000000077', '192.0.2.1', 'p', 's', 'n')"
    )
    cloud.date_ports(LATELY)


def empty(cloud: RepairWorld) -> None:
    """A database that was just made."""
    cloud.octavia({})


@pytest.mark.parametrize("lost", [restored, wrong, empty], ids=["restored-or-lagging", "wrong", "empty"])
def test_nothing_is_deleted_for_what_octavia_lacks(cloud: RepairWorld, lost: Any) -> None:
    """A restored backup, a lagging replica, the wrong database: rows and ports stay, whoever asks."""
    before = {name: rows for name, rows in cloud.rows().items() if name != FIRST or lost is not restored}
    lost(cloud)
    assert cloud.run("apply").code == 1
    assert cloud.orphans("--prune", "--prune-max-percent", "100", "--prune-max-count", "99").code == 2
    after = cloud.rows()
    assert {name: after[name] for name in before} == before
    assert not [call for call in cloud.neutron.changes() if call.method == "DELETE"]


def test_northbound_that_does_not_answer_is_no_empty_one_B104(cloud: RepairWorld) -> None:
    """Before the replica is complete nothing is called missing and nothing is written."""
    before = cloud.versions()
    config = cloud.config.read_text()
    cloud.config.write_text(config.replace("ovsdb_connection_timeout = 10", "ovsdb_connection_timeout = 1"))
    cloud.nb.freeze()
    try:
        ran = cloud.run("apply")
    finally:
        cloud.nb.thaw()
        cloud.config.write_text(config)
    assert ran.code == 1
    assert (ran.out, cloud.versions()) == ("", before)
    assert str(cloud.nb.socket) in ran.err


def test_row_that_is_replaced_gets_its_references_with_it_B143(cloud: RepairWorld) -> None:
    """A lost row comes back attached to every switch and router, as part of one plan: one transaction."""
    cloud.nb.transact({"op": "delete", "table": "Load_Balancer", "where": [["name", "==", FIRST]]})
    report = cloud.run("plan", "--lb", FIRST, "--format", "json").document
    changes = report["load_balancers"][0]["changes"]
    (uuid,) = [change["row"] for change in changes if change["op"] == "insert"]
    attached = {(change["table"], change["key"]) for change in changes if change["op"] == "attach"}
    assert attached == {("Logical_Switch", uuid), ("Logical_Router", uuid)}
    assert cloud.run("apply").code == 0
    for table in ("Logical_Switch", "Logical_Router"):
        assert any(uuid in row["load_balancer"] for row in cloud.nb.rows(table))


def test_deletion_whose_vip_port_has_gone_is_done_B019(cloud: RepairWorld) -> None:
    """Neutron has the port no more: the load balancer is DELETED all the same."""
    cloud.sql("UPDATE load_balancer SET provisioning_status = 'PENDING_DELETE' WHERE id = :id", id=SECOND)
    del cloud.neutron.store["ports"]["a0700000-0000-4000-8000-000000000002"]
    assert cloud.run("apply").code == 0
    assert set(cloud.rows()) == {FIRST}
    assert cloud.sql("SELECT provisioning_status FROM load_balancer WHERE id = :id", id=SECOND) == [
        ("DELETED",)
    ]
