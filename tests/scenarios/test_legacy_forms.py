"""What older releases left, on a real server: told as legacy forms, repaired in place, never twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from repair_world import RepairWorld
from scenario_files import load_scenario

LB = "1b000000-0000-4000-8000-000000000001"
Damage = Callable[[RepairWorld], None]


def base(world: RepairWorld, name: str, index: int = -2) -> None:
    """A recorded load balancer, made right; Neutron keeps its LSPs up to date."""
    world.configure()
    world.neutron.faults.clear()
    world.neutron_writes_ports()
    world.load(load_scenario(name).steps[index])
    ran = world.run("apply")
    assert ran.code == 0, (ran.out, ran.err)
    world.neutron.calls.clear()


def row(world: RepairWorld) -> dict[str, Any]:
    """Its one row."""
    (found,) = world.rows()[LB]
    return dict(found)


def column(world: RepairWorld, name: str, value: dict[str, str]) -> None:
    """Replace a map column of the row."""
    where = [["name", "==", LB]]
    update = {"op": "update", "table": "Load_Balancer", "where": where}
    world.nb.transact({**update, "row": {name: ["map", sorted(map(list, value.items()))]}})


def checks(world: RepairWorld, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change every health check."""
    for check in world.nb.rows("Load_Balancer_Health_Check"):
        new = change(check)
        values = {"vip": new["vip"], "external_ids": ["map", sorted(map(list, new["external_ids"].items()))]}
        where = [["_uuid", "==", ["uuid", check["_uuid"]]]]
        world.nb.transact(
            {"op": "update", "table": "Load_Balancer_Health_Check", "where": where, "row": values}
        )


def unbracketed(world: RepairWorld) -> None:
    """IPv6 mappings without brackets."""
    mappings = row(world)["ip_port_mappings"]
    assert mappings
    assert all(key.startswith("[") for key in mappings)
    column(
        world,
        "ip_port_mappings",
        {key.strip("[]"): value.replace("[", "").replace("]", "") for key, value in mappings.items()},
    )


def check_without_port(world: RepairWorld) -> None:
    """A health check of a bare address."""
    checks(world, lambda check: {**check, "vip": check["vip"].rpartition(":")[0]})


def check_of_a_port(world: RepairWorld) -> None:
    """A health check of a bare port (made before addresses were part of it)."""
    checks(world, lambda check: {**check, "vip": check["vip"].rpartition(":")[2]})


def check_without_vip_key(world: RepairWorld) -> None:
    """A health check without octavia:vip."""
    checks(world, lambda check: {**check, "external_ids": _less(check["external_ids"], "octavia:vip")})


def _less(values: dict[str, str], key: str) -> dict[str, str]:
    return {one: value for one, value in values.items() if one != key}


def check_of_nobody(world: RepairWorld) -> None:
    """A health check whose monitor the row does not name."""
    ids = {"octavia:healthmonitor": "4ea00000-0000-4000-8000-00000000dead", "octavia:vip": "10.0.0.10"}
    made = {"vip": "10.0.0.10:81", "external_ids": ["map", sorted(map(list, ids.items()))]}
    world.nb.transact(
        {"op": "insert", "table": "Load_Balancer_Health_Check", "row": made, "uuid-name": "check"},
        {
            "op": "mutate",
            "table": "Load_Balancer",
            "where": [["name", "==", LB]],
            "mutations": [["health_check", "insert", ["set", [["named-uuid", "check"]]]]],
        },
    )


def counts(world: RepairWorld) -> None:
    """ls_refs counts that drifted."""
    found = json.loads(row(world)["external_ids"]["ls_refs"])
    world.set_keys(LB, "external_ids", {"ls_refs": json.dumps(dict.fromkeys(found, 9))})


def members_without_subnet(world: RepairWorld) -> None:
    """Member entries of three parts."""
    pools = {key: value for key, value in row(world)["external_ids"].items() if key.startswith("pool_")}
    short = {
        key: ",".join(one.rpartition("_")[0] for one in value.split(",")) for key, value in pools.items()
    }
    world.set_keys(LB, "external_ids", short)


def listener_names_disabled_pool(world: RepairWorld) -> None:
    """A listener whose value names the disabled form of its pool's key."""
    found = {key: value for key, value in row(world)["external_ids"].items() if key.startswith("listener_")}
    world.set_keys(LB, "external_ids", {key: f"{value}:D" for key, value in found.items()})


def on_provider_switch(world: RepairWorld) -> None:
    """The row is on the switch of a provider network."""
    (switch,) = [
        one
        for one in world.nb.rows("Logical_Switch")
        if one["external_ids"].get("neutron:provnet-physical-network")
    ]
    uuid = ["set", [["uuid", row(world)["_uuid"]]]]
    world.edit("Logical_Switch", switch["name"], ["load_balancer", "insert", uuid])


V4, V6 = "sync_hm_with_fip_nothing_missing", "hm_ipv6"
FORMS: list[tuple[str, str, Damage]] = [
    ("B094-mappings-without-brackets", V6, unbracketed),
    ("B081-check-without-port", V4, check_without_port),
    ("check-of-a-port", "hm_tcp_lifecycle", check_of_a_port),
    ("L02-check-without-vip-key", V4, check_without_vip_key),
    ("check-of-nobody", V4, check_of_nobody),
    ("ls_refs-counts", V4, counts),
    ("members-without-subnet", V4, members_without_subnet),
    ("L17-listener-of-a-disabled-pool", V4, listener_names_disabled_pool),
    ("B071-provider-switch", V4, on_provider_switch),
]


def step_of(name: str) -> int:
    """The step of a scenario with members and a health monitor, before anything goes."""
    steps = load_scenario(name).steps
    return max(
        index
        for index, step in enumerate(steps)
        if step.octavia
        and step.octavia.get("health_monitor")
        and step.octavia.get("member")
        and all(one["provisioning_status"] != "PENDING_DELETE" for one in step.octavia["load_balancer"])
        and all(one["provisioning_status"] != "PENDING_DELETE" for one in step.octavia["health_monitor"])
        and all(one["provisioning_status"] != "PENDING_DELETE" for one in step.octavia["member"])
        and all(one["enabled"] for one in step.octavia["health_monitor"])
    )


@pytest.mark.parametrize(("name", "damage"), [form[1:] for form in FORMS], ids=[form[0] for form in FORMS])
def test_legacy_form_is_repaired_in_place(name: str, damage: Damage, repair: RepairWorld) -> None:
    """Every change of the plan says legacy_form; one apply; the row keeps its UUID; then nothing is left."""
    base(repair, name, step_of(name))
    right = row(repair)
    damage(repair)
    plan = repair.run("plan", "--format", "json")
    changes = plan.document["load_balancers"][0]["changes"]
    assert plan.code == 2
    assert {change["reason"] for change in changes} == {"legacy_form"}
    assert {change["op"] for change in changes if change["table"] == "Load_Balancer"} <= {"set", "unset"}
    assert repair.run("apply").code == 0
    assert repair.run("plan").code == 0
    assert row(repair)["_uuid"] == right["_uuid"]
    assert _content(row(repair)) == _content(right)


def _content(found: dict[str, Any]) -> dict[str, Any]:
    """The row without the UUIDs of its health checks, JSON values parsed."""
    ids = {key: _parsed(value) for key, value in found["external_ids"].items()}
    return {**found, "external_ids": ids, "health_check": len(found["health_check"])}


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return sorted(value.split(","))


def test_mixed_mappings_change_only_where_they_are_wrong_B095(repair: RepairWorld) -> None:
    """An IPv4 mapping that is right is never rewritten for the sake of IPv6 ones."""
    base(repair, "hm_dual_stack", step_of("hm_dual_stack"))
    mappings = row(repair)["ip_port_mappings"]
    v4 = {key for key in mappings if not key.startswith("[")}
    assert v4
    assert len(mappings) > len(v4)
    bare = {key.strip("[]"): value.replace("[", "").replace("]", "") for key, value in mappings.items()}
    column(repair, "ip_port_mappings", bare)
    changes = repair.run("plan", "--format", "json").document["load_balancers"][0]["changes"]
    assert {change["column"] for change in changes} == {"ip_port_mappings"}
    assert not {change["key"] for change in changes} & v4
    assert repair.run("apply").code == 0
    assert row(repair)["ip_port_mappings"] == mappings


@pytest.mark.parametrize("kind", ["hm", "vip"])
def test_ports_of_older_releases_are_marked_B091(kind: str, repair: RepairWorld) -> None:
    """Owner and device id of a provider's own ports are brought up to date in Neutron, once."""
    base(repair, V4, step_of(V4))
    prefix, wanted = {
        "hm": ("ovn-lb-hm-", "ovn-lb-hm:distributed"),
        "vip": ("ovn-lb-vip-", "ovn-lb:vip"),
    }[kind]
    (port,) = [one for one in repair.neutron.store["ports"].values() if one["name"].startswith(prefix)]
    port.update(device_owner="network:distributed" if kind == "hm" else "", device_id="")
    repair.show_owner(port)
    plan = repair.run("plan", "--format", "json").document["load_balancers"][0]
    assert [effect["reason"] for effect in plan["effects"]] == ["legacy_form"]
    assert repair.run("apply").code == 0
    assert (port["device_owner"], bool(port["device_id"])) == (wanted, True)
    repair.neutron.calls.clear()
    assert repair.run("apply").code == 0
    assert repair.neutron.changes() == []


@pytest.mark.parametrize(
    "name", ["two_lbs_same_network", "hm_two_listeners_one_pool", "several_listeners_one_pool", "hm_ipv6"]
)
def test_take_over_is_in_place_B145(name: str, repair: RepairWorld) -> None:
    """Rows that the original made are kept: never deleted and made again, whatever must change in them."""
    scenario = load_scenario(name)
    for step in scenario.steps:
        alive = step.octavia and {one["provisioning_status"] for one in step.octavia["load_balancer"]}
        if not alive or "PENDING_DELETE" in alive or not step.expected["Load_Balancer"]:
            continue
        repair.configure()
        repair.load(step, "expected")
        uuids = {one["_uuid"] for rows in repair.rows().values() for one in rows}
        plan = repair.run("plan", "--format", "json").document
        for part in plan["load_balancers"]:
            ops = {one["op"] for one in part["changes"] if one["table"] == "Load_Balancer"}
            assert not {"insert", "delete"} <= ops
        repair.run("apply")
        assert uuids <= {one["_uuid"] for rows in repair.rows().values() for one in rows}
