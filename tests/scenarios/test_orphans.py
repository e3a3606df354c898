"""Orphans on real parts: what counts as one, what is pruned, what never is, and who says so."""

from __future__ import annotations

from typing import Any

import pytest

from ovnlb.observed.idl import connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler import cli
from ovnlb.reconciler.commands import orphans
from repair_world import LATELY, LONG_AGO, RepairWorld, captured, without_chassis
from scenario_files import load_scenario
from servers.ovsdb import wait_until
from service_world import ServiceWorld

ALIVE = "1b000000-0000-4000-8000-000000000001"
GONE = "1b000000-0000-4000-8000-000000000002"
GONE_PORT = "a0700000-0000-4000-8000-000000000002"
SUBNET = "5b4e7000-0000-4000-8000-000000000001"
NETWORK = "4e700000-0000-4000-8000-000000000001"
LOOSE = ("--prune-max-percent", "100")


@pytest.fixture
def two(repair: RepairWorld) -> RepairWorld:
    """Two load balancers, both right. The percentage allows what a cloud of two needs."""
    repair.configure()
    repair.neutron.faults.clear()
    repair.load(load_scenario("two_lbs_same_network").steps[9])
    assert repair.run("apply").code == 0
    repair.neutron.calls.clear()
    return repair


def forget(world: RepairWorld, lb_id: str = GONE) -> None:
    """No row of it is in Octavia's database any more."""
    pools = "(SELECT id FROM pool WHERE load_balancer_id = :id)"
    world.sql(f"DELETE FROM member WHERE pool_id IN {pools}", id=lb_id)
    for table in ("listener", "pool", "vip"):
        world.sql(f"DELETE FROM {table} WHERE load_balancer_id = :id", id=lb_id)
    world.sql("DELETE FROM load_balancer WHERE id = :id", id=lb_id)


def deleted(world: RepairWorld, lb_id: str = GONE) -> None:
    """Octavia's row says DELETED, as after a deletion whose end got lost."""
    forget(world, lb_id)
    world.sql(
        "INSERT INTO load_balancer (id, name, project_id, provider, provisioning_status, operating_status, "
        "enabled, created_at) VALUES (:id, 'x', 'p', 'ovn', 'DELETED', 'OFFLINE', 1, '2026-01-01 12:00:00')",
        id=lb_id,
    )


def listed(world: RepairWorld, *arguments: str) -> list[dict[str, Any]]:
    """What `ovnlb orphans` lists."""
    found: list[dict[str, Any]] = world.run("orphans", "--format", "json", *arguments).document["orphans"]
    return found


def ports(world: RepairWorld) -> set[str]:
    """The names of Neutron's ports."""
    return {port["name"] for port in world.neutron.dump()["ports"]}


def hm_port(world: RepairWorld, address: str, subnet: str = SUBNET, lsp: bool = True) -> str:
    """A health-monitor port in Neutron and in the Northbound database; its id."""
    name = f"ovn-lb-hm-{subnet}"
    port = {
        "id": "4ea00000-0000-4000-8000-000000000099",
        "name": name,
        "network_id": NETWORK,
        "device_owner": "ovn-lb-hm:distributed",
        "device_id": name,
        "mac_address": "fa:16:3e:99:99:99",
        "fixed_ips": [{"subnet_id": subnet, "ip_address": address}],
        "created_at": LONG_AGO,
    }
    world.neutron.store["ports"][port["id"]] = port
    if lsp:
        world.write_lsp(port)
    return str(port["id"])


# What is an orphan


def test_nothing_is_an_orphan_in_a_right_cloud(two: RepairWorld) -> None:
    """0, no orphans, and no change anywhere."""
    before = two.versions()
    ran = two.orphans("--prune")
    assert (ran.code, two.versions(), two.neutron.changes()) == (0, before, [])
    assert "No orphans" in ran.out


def test_old_ports_of_the_living_are_not_asked_for(two: RepairWorld) -> None:
    """A cloud may have nothing but VIP ports without an owner: no port of a living one is asked about."""
    for port in two.neutron.store["ports"].values():
        if port["name"].startswith("ovn-lb-vip-"):
            port |= {"device_owner": "", "device_id": ""}
    assert listed(two) == []
    asked = [call for call in two.neutron.calls if call.path.startswith("ports")]
    assert {call.query.get("device_owner") for call in asked} == {"ovn-lb:vip", "ovn-lb-hm:distributed"}
    forget(two)
    assert {one["kind"] for one in listed(two)} == {"row", "vip_port"}


def test_absent_id_is_listed_and_never_pruned_by_apply_L08(two: RepairWorld) -> None:
    """A row of an unknown id is listed with its VIP port by every command; apply leaves it and says so."""
    forget(two)
    before = two.versions()
    assert {(one["kind"], one["evidence"], one["prunable"]) for one in listed(two)} == {
        ("row", "absent", False),
        ("vip_port", "absent", False),
    }
    plan = two.run("plan", "--format", "json")
    assert (plan.code, plan.document["summary"]["orphans"]) == (2, 2)
    ran = two.run("apply")
    assert ran.code == 1
    assert f"load balancer {GONE} is not in Octavia's database" in ran.out
    assert two.versions() == before
    assert f"ovn-lb-vip-{GONE}" in ports(two)


def test_prune_reads_twice_and_removes_row_and_port_B020(two: RepairWorld) -> None:
    """After a second complete reading 60 s later row and VIP port go; the other load balancer stays."""
    forget(two)
    kept = two.rows()[ALIVE]
    ran = two.orphans("--prune", *LOOSE)
    assert ran.code == 0, (ran.out, ran.err)
    assert two.rows() == {ALIVE: kept}
    assert f"ovn-lb-vip-{GONE}" not in ports(two)
    assert f"ovn-lb-vip-{ALIVE}" in ports(two)
    assert two.orphans("--prune").code == 0
    assert two.run("plan").code == 0


def test_create_that_commits_between_the_readings_is_no_orphan(two: RepairWorld) -> None:
    """An uncommitted create is invisible to the first reading."""
    forget(two)
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    before = two.versions()
    ran = two.orphans("--prune", *LOOSE, between=lambda: two.octavia(step.octavia or {}))
    assert (ran.code, two.versions()) == (0, before)


def test_deleted_row_is_proof_and_apply_prunes_it(two: RepairWorld) -> None:
    """What belongs to a DELETED load balancer goes with apply, as the daemon does it, without waiting."""
    deleted(two)
    two.configure(prune_max_percent=100)
    ran = two.run("apply", "--format", "json")
    assert ran.code == 0, (ran.out, ran.err)
    (pruned,) = ran.document["pruned"]
    assert [change["reason"] for change in pruned["changes"]] == ["orphan"]
    assert set(two.rows()) == {ALIVE}
    assert f"ovn-lb-vip-{GONE}" not in ports(two)


def test_wiped_row_of_a_deleted_load_balancer_is_still_ours(two: RepairWorld) -> None:
    """Its name is enough: keys may be gone."""
    deleted(two)
    two.nb.transact(
        {
            "op": "update",
            "table": "Load_Balancer",
            "where": [["name", "==", GONE]],
            "row": {"external_ids": ["map", []]},
        }
    )
    assert two.orphans("--prune", *LOOSE).code == 0
    assert set(two.rows()) == {ALIVE}


# What never goes


def test_restored_backup_of_octavia_prunes_nothing(two: RepairWorld) -> None:
    """The database holds no load balancer newer than the VIP port: the row stays, and the report says why."""
    forget(two)
    two.date_ports(LATELY)
    before = two.versions()
    ran = two.orphans("--prune", *LOOSE)
    assert (ran.code, two.versions(), two.neutron.changes()) == (2, before, [])
    assert "restored backup" in ran.out


def test_wrong_database_prunes_nothing(two: RepairWorld) -> None:
    """A database without any load balancer is no evidence, whatever the limits allow."""
    two.octavia({})
    before = two.versions()
    ran = two.orphans("--prune", *LOOSE, "--prune-max-count", "1000")
    assert (ran.code, two.versions(), two.neutron.changes()) == (2, before, [])
    assert two.run("apply").code == 1
    assert two.versions() == before


def test_other_database_with_newer_load_balancers_meets_the_limits(two: RepairWorld) -> None:
    """Another cloud's database holds newer load balancers: then the share of ours refuses it."""
    two.octavia({"load_balancer": [{"id": "1b000000-0000-4000-8000-000000000077", "provider": "amphora"}]})
    before = two.versions()
    ran = two.orphans("--prune")
    assert (ran.code, two.versions()) == (3, before)
    assert "--prune-max-percent" in ran.out


def test_age_that_nobody_knows_needs_the_operators_word(two: RepairWorld) -> None:
    """Without the VIP port the row's age is unknown; --undated prunes it."""
    forget(two)
    del two.neutron.store["ports"][GONE_PORT]
    ran = two.orphans("--prune", *LOOSE)
    assert ran.code == 2
    assert "--undated" in ran.out
    assert GONE in two.rows()
    assert two.orphans("--prune", "--undated", *LOOSE).code == 0
    assert set(two.rows()) == {ALIVE}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"binding:host_id": "compute-1"}, "bound"),
        ({"device_id": "vm-7", "device_owner": "compute:nova"}, "vm-7"),
    ],
    ids=["bound", "B078-in-use"],
)
def test_vip_port_in_use_stays(two: RepairWorld, change: dict[str, str], why: str) -> None:
    """A VIP port that is bound or was given to a device is reported and kept; the row goes."""
    deleted(two)
    two.neutron.store["ports"][GONE_PORT].update(change)
    ran = two.orphans("--prune", *LOOSE)
    assert ran.code == 2
    assert why in ran.out
    assert f"ovn-lb-vip-{GONE}" in ports(two)
    assert set(two.rows()) == {ALIVE}


def test_vip_port_with_a_floating_ip_stays(two: RepairWorld) -> None:
    """Somebody's floating IP leads there."""
    deleted(two)
    two.neutron.store["floatingips"]["f1"] = {
        "id": "f1",
        "port_id": GONE_PORT,
        "floating_ip_address": "203.0.113.9",
        "fixed_ip_address": "10.0.0.11",
        "router_id": None,
    }
    ran = two.orphans("--prune", *LOOSE)
    assert ran.code == 2
    assert "203.0.113.9" in ran.out
    assert f"ovn-lb-vip-{GONE}" in ports(two)


def test_users_own_vip_port_is_never_touched_B107(two: RepairWorld) -> None:
    """A port of another name stays when its load balancer is DELETED; the row goes."""
    deleted(two)
    two.neutron.store["ports"][GONE_PORT]["name"] = "my-port"
    assert two.orphans("--prune", *LOOSE).code == 0
    assert set(two.rows()) == {ALIVE}
    assert "my-port" in ports(two)
    assert two.neutron.changes() == []


def test_foreign_and_suspect_rows_are_invisible_B085(two: RepairWorld) -> None:
    """Port-forwarding rows, rows of nobody's keys and marked rows are never listed nor changed."""
    owned = {"enabled": "True", "neutron:vip": "10.0.0.99"}
    foreign = [
        ("pf-floatingip-1", {"neutron:device_owner": "port_forwarding_plugin"}),
        ("1b000000-0000-4000-8000-000000000055", {**owned, "neutron:device_owner": "somebody"}),
        ("k8s_default_web", owned),
        ("1b000000-0000-4000-8000-000000000056", {"neutron:vip": "10.0.0.98"}),
    ]
    two.nb.insert({"Load_Balancer": [{"name": name, "external_ids": ids} for name, ids in foreign]})
    before = two.versions()
    ran = two.orphans("--prune", *LOOSE)
    assert (ran.code, two.versions()) == (0, before)
    assert "3 rows of somebody else" in ran.out


# Health-monitor ports


def test_unmapped_hm_port_goes_by_exact_address_L34(two: RepairWorld) -> None:
    """A port at .20 is not used by a mapping from .201; nobody monitors members on its subnet."""
    port = hm_port(two, "10.0.0.20")
    two.nb.transact(
        {
            "op": "insert",
            "table": "Load_Balancer",
            "row": {"name": "other", "ip_port_mappings": ["map", [["10.0.0.21", "p:10.0.0.201"]]]},
        }
    )
    assert [(one["kind"], one["evidence"]) for one in listed(two)] == [("hm_port", "unmapped")]
    assert two.orphans("--prune", *LOOSE).code == 0
    assert port not in two.neutron.store["ports"]


@pytest.mark.parametrize("used", ["mapped", "monitored", "no-lsp"])
def test_hm_port_that_is_or_will_be_used_stays(two: RepairWorld, used: str) -> None:
    """A mapping from it, a monitored member on its subnet (rows may be missing), no LSP yet."""
    port = hm_port(two, "10.0.0.20", lsp=used != "no-lsp")
    if used == "mapped":
        row = {"name": "other", "ip_port_mappings": ["map", [["10.0.0.21", "p:10.0.0.20"]]]}
        two.nb.transact({"op": "insert", "table": "Load_Balancer", "row": row})
    if used == "monitored":
        two.sql(
            "INSERT INTO health_monitor (id, pool_id, type, delay, timeout, fall_threshold, rise_threshold, "
            "enabled, provisioning_status, operating_status) SELECT 'hm-1', id, 'TCP', 5, 3, 3, 3, 0, "
            "'ACTIVE', 'OFFLINE' FROM pool WHERE load_balancer_id = :id",
            id=ALIVE,
        )
    two.orphans("--prune", *LOOSE)
    assert port in two.neutron.store["ports"]


# Limits, scope, policy


def test_more_than_the_limit_is_refused_and_names_the_way_out(two: RepairWorld) -> None:
    """Six orphans are one too many; nothing is done, and the flag that allows it is named."""
    rows = []
    for number in range(6):
        lb_id, port_id = (f"{kind}-0000-4000-8000-{number + 50:012d}" for kind in ("1b000000", "a0700000"))
        two.neutron.store["ports"][port_id] = {
            **two.neutron.store["ports"][GONE_PORT],
            "id": port_id,
            "name": f"ovn-lb-vip-{lb_id}",
            "device_id": f"lb-{lb_id}",
        }
        rows.append(lb_id)
    ran = two.orphans("--prune", *LOOSE)
    assert ran.code == 3
    assert "--prune-max-count 6" in ran.out
    assert two.neutron.changes() == []
    assert two.orphans("--prune", *LOOSE, "--prune-max-count", "6").code == 0
    assert not {f"ovn-lb-vip-{lb_id}" for lb_id in rows} & ports(two)


def test_share_of_ours_is_limited(two: RepairWorld) -> None:
    """Two of four objects are more than 10 %: apply refuses to prune them, does the rest, and exits 3."""
    deleted(two)
    two.nb.transact({"op": "delete", "table": "Load_Balancer", "where": [["name", "==", ALIVE]]})
    ran = two.run("apply")
    assert ran.code == 3
    assert "prune_max_percent" in ran.err
    assert set(two.rows()) == {ALIVE, GONE}


@pytest.mark.parametrize("part", [("--lb", GONE), ("--project", "p")], ids=["lb", "project"])
def test_partial_scope_never_prunes(two: RepairWorld, part: tuple[str, str]) -> None:
    """`--prune` is refused for a part, and an apply of a part does not look for orphans."""
    deleted(two)
    two.configure(prune_max_percent=100)
    before = two.versions()
    assert two.orphans("--prune", *part).code == 3
    assert two.run("apply", "--lb", ALIVE).code == 0
    assert two.versions() == before
    assert [one["load_balancer"] for one in listed(two, "--lb", GONE)] == [GONE, GONE]
    assert listed(two, "--lb", ALIVE) == []


@pytest.mark.parametrize(("policy", "code"), [("no-prune", 1), ("observe-only", 3)])
def test_policy_forbids(two: RepairWorld, policy: str, code: int) -> None:
    """apply prunes nothing under no-prune; under observe-only `orphans --prune` is refused as well."""
    deleted(two)
    two.configure(prune_max_percent=100, policy=policy)
    before = two.versions()
    ran = two.run("apply") if policy == "no-prune" else two.orphans("--prune")
    assert (ran.code, two.versions()) == (code, before)


# Order, failures


def test_orphan_that_conflicts_goes_first(two: RepairWorld) -> None:
    """An orphan that claims the living one's VIP is a conflict, said at once, and the first to be pruned."""
    forget(two)
    two.nb.transact(
        {
            "op": "update",
            "table": "Load_Balancer",
            "where": [["name", "==", GONE]],
            "row": {"vips": ["map", [["10.0.0.10:80", "10.0.0.66:80"]]]},
        }
    )
    planned = two.run("plan", "--format", "json").document
    (conflict,) = planned["conflicts"]
    assert conflict["load_balancers"] == [ALIVE, GONE]
    assert "undefined" in conflict["text"]
    hm_port(two, "10.0.0.20")
    ran = two.orphans("--prune", *LOOSE, "--format", "json")
    assert ran.code == 0
    assert ran.document["pruned"][0]["name"] == GONE


def test_deleted_orphan_in_conflict_is_pruned_before_living_rows_are_written(two: RepairWorld) -> None:
    """apply says the conflict, prunes, and then repairs."""
    deleted(two)
    two.configure(prune_max_percent=100)
    (row,) = two.rows()[ALIVE]
    two.nb.transact(
        {
            "op": "update",
            "table": "Load_Balancer",
            "where": [["name", "==", GONE]],
            "row": {"vips": ["map", [[key, value] for key, value in row["vips"].items()]]},
        }
    )
    ran = two.run("apply")
    assert ran.code == 0
    assert "which of them OVN serves is undefined" in ran.err
    assert set(two.rows()) == {ALIVE}


def test_port_that_neutron_does_not_delete_is_left_and_told_B007(two: RepairWorld) -> None:
    """Neutron away at the wrong moment: exit 1, the row is gone, the port is listed and goes next time."""
    deleted(two)
    two.neutron.fail("DELETE", "ports", status=503, times=10)
    ran = two.orphans("--prune", *LOOSE)
    assert ran.code == 1
    assert GONE_PORT in ran.out
    assert f"ovn-lb-vip-{GONE}" in ports(two)
    two.neutron.faults.clear()
    assert two.orphans("--prune", *LOOSE).code == 0
    assert f"ovn-lb-vip-{GONE}" not in ports(two)


@pytest.mark.parametrize("lost", ["database", "neutron"])
def test_failed_reading_deletes_nothing_B142(two: RepairWorld, lost: str) -> None:
    """An incomplete reading is an error, never a list of orphans."""
    deleted(two)
    before = two.versions()
    if lost == "neutron":
        two.neutron.fail("GET", "ports", status=503, times=20)
        ran = two.orphans("--prune", *LOOSE)
        two.neutron.faults.clear()
    else:
        two.sql("ALTER TABLE load_balancer RENAME TO away")
        ran = two.orphans("--prune", *LOOSE)
        two.sql("ALTER TABLE away RENAME TO load_balancer")
    assert ran.code == 1
    assert two.versions() == before


# Together with a daemon


def test_daemon_prunes_what_belongs_to_deleted_ones(world: ServiceWorld) -> None:
    """The service prunes DELETED ones by itself after its full pass."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    world.load(step.octavia, topology(step.topology), dated(step.neutron))
    with world.service(prune_max_percent=100):
        wait_until(lambda: len(world.balancers()) == 2, "two rows")
        world.settle()
    tables = {
        name: [row for row in rows if GONE not in (row.get("id"), row.get("load_balancer_id"))]
        for name, rows in step.octavia.items()
    }
    pools = {row["id"] for row in tables["pool"]}
    tables["member"] = [row for row in tables["member"] if row["pool_id"] in pools]
    gone = {"id": GONE, "provider": "ovn", "provisioning_status": "DELETED"}
    world.octavia({**tables, "load_balancer": [*tables["load_balancer"], gone]})
    with world.service(prune_max_percent=100) as service:
        assert service.keeper._search.memory is service.world.ports, "both know what the other deleted"
        wait_until(lambda: [row["name"] for row in world.balancers()] == [ALIVE], "the row to go")
        wait_until(lambda: GONE_PORT not in world.neutron.store["ports"], "the port to go")


def topology(tables: Any) -> dict[str, Any]:
    """Without columns that lead out of the recording."""
    return {
        "NB_Global": [{"_uuid": "global"}],
        **{
            name: [without_chassis(row) for row in rows] if isinstance(rows, list) else rows
            for name, rows in tables.items()
        },
    }


def dated(neutron: Any) -> dict[str, Any]:
    """Neutron's objects, its ports made long ago."""
    return {**neutron, "ports": [{**port, "created_at": LONG_AGO} for port in neutron["ports"]]}


def test_prune_is_handed_to_the_holder_of_the_lock(world: ServiceWorld) -> None:
    """`orphans --prune` beside a running daemon: the daemon prunes what two readings have shown."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    world.load(step.octavia, topology(step.topology), dated(step.neutron))
    with world.service():
        wait_until(lambda: len(world.balancers()) == 2, "two rows")
        world.settle()
        for table in ("member", "listener", "pool", "vip", "load_balancer"):
            column = {"member": "pool_id", "load_balancer": "id"}.get(table, "load_balancer_id")
            values = "(SELECT id FROM pool WHERE load_balancer_id = :id)" if table == "member" else "(:id)"
            world.sql(f"DELETE FROM {table} WHERE {column} IN {values}", id=GONE)
        now = [0.0]
        arguments = ["orphans", "--config-file", str(world.config()), "--prune", *LOOSE]
        options = cli.parser("orphans").parse_args(arguments)

        def pause(seconds: float) -> None:
            now[0] += seconds

        ran = captured(lambda: int(orphans.run(options, pause, lambda: now[0])))
        assert ran.code == 0, (ran.out, ran.err)
        assert "the ovnlb daemon of this host" in ran.err
        assert [row["name"] for row in world.balancers()] == [ALIVE]
        assert GONE_PORT not in world.neutron.store["ports"]


def test_prune_without_the_lock_and_without_a_daemon_does_nothing(two: RepairWorld) -> None:
    """Somebody else holds the lock and nobody answers: exit 1, nothing pruned; --take-lock prunes."""
    deleted(two)
    holder = connect_nb(Endpoint(two.nb.unix, timeout=5), lock=True)
    try:
        assert holder.wait_for(lambda: holder.has_lock, 5)
        ran = two.orphans("--prune", *LOOSE)
        assert ran.code == 1
        assert "--take-lock" in ran.out
        assert GONE in two.rows()
        assert two.orphans("--prune", *LOOSE, "--take-lock").code == 0
        assert set(two.rows()) == {ALIVE}
    finally:
        holder.close()
