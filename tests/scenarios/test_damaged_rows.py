"""Rows that were doubled, wiped, garbled or renamed, on a real server: repaired in place, never doubled."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from repair_world import RepairWorld
from scenario_files import load_scenario

FIRST = "1b000000-0000-4000-8000-000000000001"
SECOND = "1b000000-0000-4000-8000-000000000002"


@pytest.fixture
def cloud(repair: RepairWorld) -> RepairWorld:
    """Two load balancers, both right."""
    repair.configure()
    repair.neutron.faults.clear()
    repair.load(load_scenario("two_lbs_same_network").steps[9])
    assert repair.run("apply").code == 0
    return repair


def row(world: RepairWorld, name: str = FIRST) -> dict[str, Any]:
    """The one row of a load balancer."""
    (found,) = world.rows()[name]
    return dict(found)


def double(world: RepairWorld, attached: bool) -> str:
    """A second row of that name and protocol, on every switch of the first one or on none; its UUID."""
    source, uuid = row(world), str(uuid4())
    where = [["load_balancer", "includes", ["set", [["uuid", source["_uuid"]]]]]]
    columns = {
        name: ["map", sorted(map(list, source[name].items()))] for name in ("external_ids", "vips", "options")
    }
    made: list[dict[str, Any]] = [
        {
            "op": "insert",
            "table": "Load_Balancer",
            "uuid": uuid,
            "row": {**columns, "name": FIRST, "protocol": "tcp"},
        }
    ]
    if attached:
        reference = ["load_balancer", "insert", ["set", [["uuid", uuid]]]]
        for table in ("Logical_Switch", "Logical_Router"):
            made.append({"op": "mutate", "table": table, "where": where, "mutations": [reference]})
    world.nb.transact(*made)
    return uuid


def test_duplicate_is_merged_in_one_transaction(cloud: RepairWorld) -> None:
    """The row with references stays, the other goes; the plan says duplicate."""
    kept, extra = row(cloud)["_uuid"], double(cloud, attached=False)
    plan = cloud.run("plan", "--format", "json").document
    changes = [change for part in plan["load_balancers"] for change in part["changes"]]
    assert [(one["op"], one["row"], one["reason"]) for one in changes] == [("delete", extra, "duplicate")]
    ran = cloud.run("apply")
    assert ran.code == 0
    assert "1 written" in ran.out
    assert row(cloud)["_uuid"] == kept
    assert cloud.run("plan").code == 0


def test_of_equal_duplicates_the_lowest_uuid_stays(cloud: RepairWorld) -> None:
    """Every process that sees the two decides alike; the references stay where they were."""
    uuids = {row(cloud)["_uuid"], double(cloud, attached=True)}
    assert cloud.run("apply").code == 0
    assert row(cloud)["_uuid"] == min(uuids)
    for table in ("Logical_Switch", "Logical_Router"):
        holders = [one["load_balancer"] for one in cloud.nb.rows(table) if uuids & set(one["load_balancer"])]
        assert holders
        assert all(min(uuids) in one and max(uuids) not in one for one in holders)


@pytest.mark.parametrize("keys", ["wiped", "garbled"])
def test_wiped_row_is_still_ours(cloud: RepairWorld, keys: str) -> None:
    """Its name is that of a living load balancer: it is repaired in place, no second row is made."""
    right = row(cloud)
    left = {} if keys == "wiped" else dict.fromkeys(right["external_ids"], "{garbage,\u00e9:::")
    where = [["name", "==", FIRST]]
    values = {"external_ids": ["map", sorted(map(list, left.items()))], "vips": ["map", []]}
    cloud.nb.transact({"op": "update", "table": "Load_Balancer", "where": where, "row": values})
    assert cloud.run("apply").code == 0
    assert row(cloud) == right
    assert cloud.run("orphans").code == 0


def test_marked_row_is_suspect_and_never_written(cloud: RepairWorld) -> None:
    """Somebody marked a row of our name as theirs: it is reported, left, and ours is made beside it."""
    uuid = row(cloud)["_uuid"]
    cloud.set_keys(FIRST, "external_ids", {"neutron:device_owner": "somebody"})
    (before,) = cloud.rows()[FIRST]
    ran = cloud.run("apply")
    assert "suspect_row" in ran.out
    rows = {one["_uuid"]: one for one in cloud.rows()[FIRST]}
    assert rows[uuid] == before
    assert len(rows) == 2


def test_conflict_of_living_load_balancers_is_reported_at_once(cloud: RepairWorld) -> None:
    """Two that claim one address and port on a common switch: named, with what it means."""
    cloud.sql("UPDATE vip SET ip_address = '10.0.0.10'")
    plan = cloud.run("plan", "--format", "json").document
    (conflict,) = plan["conflicts"]
    assert conflict["load_balancers"] == [FIRST, SECOND]
    assert conflict["endpoint"] == "10.0.0.10:80"
    ran = cloud.run("apply")
    assert "which of them OVN serves is undefined" in ran.out
    assert set(cloud.rows()) == {FIRST, SECOND}
