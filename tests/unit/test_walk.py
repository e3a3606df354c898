"""The walk's own rules: what it adds to the pure stages that it calls."""

from __future__ import annotations

from typing import Any

import pytest

from ovnlb.desired.facts import Health
from ovnlb.desired.graph import from_dicts
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.reconciler.passes import status_messages
from ovnlb.reconciler.walk import Pass, Walked, World, walk, walk_all
from scenario_files import Step, load_scenario


def created() -> Step:
    """A load balancer with a listener, a pool and members, before any row exists."""
    return load_scenario("lb_v4_create_delete").steps[1]


def walked(status: str, ports: bool, rows: bool) -> Walked:
    """That load balancer in a status, with or without its VIP port and its row in the Northbound."""
    step = created()
    assert step.octavia is not None
    octavia = {
        **step.octavia,
        "load_balancer": [{**row, "provisioning_status": status} for row in step.octavia["load_balancer"]],
    }
    nb: dict[str, Any] = step.nb("expected" if rows else "nb_before")
    if not ports:
        vip = octavia["vip"][0]["port_id"]
        nb["Logical_Switch_Port"] = [row for row in nb["Logical_Switch_Port"] if row["name"] != vip]
    world = World(BundleNorthbound(nb), BundleNeutron(step.neutron), Health)
    return walk(from_dicts(octavia).load_balancers[0], world)


@pytest.mark.parametrize(
    ("status", "ports", "rows", "writes", "waits"),
    [
        ("ERROR", False, False, False, True),
        ("ERROR", True, False, True, False),
        ("PENDING_CREATE", False, False, True, False),
        ("PENDING_DELETE", False, False, False, False),
    ],
)
def test_lb_in_error_without_vip_port_gets_no_row(
    status: str, ports: bool, rows: bool, writes: bool, waits: bool
) -> None:
    """An LB in ERROR whose VIP port has gone stays without a row and says why."""
    plan = walked(status, ports, rows).plan
    assert bool(plan.changes) is writes
    assert any("vip_port_missing" in name for name in plan.waiting) is waits


@pytest.mark.parametrize(("ports", "healed"), [(False, False), (True, True)])
def test_plan_promises_no_heal_without_vip_port(ports: bool, healed: bool) -> None:
    """The messages of `plan --with statuses` are those that `apply` would send."""
    done = Pass((walked("ERROR", ports, False),))
    told = [record for message in status_messages(done) for record in message.get("loadbalancers", ())]
    assert any(record.get("provisioning_status") == "ACTIVE" for record in told) is healed


def test_rows_that_exist_are_kept_right() -> None:
    """The same LB with a row keeps it: nothing living is deleted for a missing port."""
    plan = walked("ERROR", False, True).plan
    assert not any(change.op == "delete" for change in plan.changes)


def test_one_failure_is_isolated() -> None:
    """Whatever goes wrong with one load balancer is listed, and the others are planned."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    graph = from_dicts(step.octavia)
    first, second = (lb.id for lb in graph.load_balancers)

    class Failing(BundleNorthbound):
        def load_balancers(self, name: str) -> Any:
            if name == first:
                raise RuntimeError("broken on purpose")
            return super().load_balancers(name)

    done = walk_all(graph, World(Failing(step.nb()), BundleNeutron(step.neutron), Health))
    assert [item.lb.id for item in done.walked] == [second]
    assert [(item.lb_id, item.reason) for item in done.failed] == [(first, "RuntimeError: broken on purpose")]
