"""Every recorded operation driven as octavia-api drives it, through the running service.

PENDING first, the nudge before the commit, rows that change only at the commit. Each ends ACTIVE,
DELETED or ERROR, and a second walk finds nothing to do; with nudges, and without.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ovnlb.reconciler.service import Service
from scenario_files import Step, load_scenario, scenario_names
from servers.ovsdb import wait_until
from service_world import PENDING, ServiceWorld


def operations(name: str) -> list[Step]:
    """The scenario's driver calls that committed something, up to the first change of its topology."""
    found = []
    for step in load_scenario(name).steps:
        if step.index and "topology" in step.fresh:
            break
        if step.octavia and "octavia" in step.fresh and step.call.startswith("driver."):
            found.append(step)
    return found


SCENARIOS = [name for name in scenario_names() if operations(name)]
# Without nudges everything only takes longer: a part of them proves that.
POLLED = SCENARIOS[::6]


def commit(world: ServiceWorld, step: Step, nudged: bool) -> list[str]:
    """What octavia-api does: nudge, then commit; the pending load balancers."""
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0).isoformat()
    balancers = [{**row, "updated_at": now} for row in step.octavia["load_balancer"]]
    pending = [row["id"] for row in balancers if row["provisioning_status"] in PENDING]
    if nudged:
        for lb_id in pending:
            assert world.nudge(lb_id)
    world.octavia({**step.octavia, "load_balancer": balancers})
    return pending


def play_scenario(world: ServiceWorld, service: Service, name: str, nudged: bool) -> None:
    for step in operations(name):
        world.neutron.load(step.neutron)
        pending = commit(world, step, nudged)
        if not pending:
            # The original's sync tool: nothing is PENDING, so nobody nudges. Ours is a full pass.
            service.resync.request(step.id)
        world.settle()
        for lb_id in pending:
            assert world.status(lb_id) in ("ACTIVE", "DELETED", "ERROR"), step.id
        wait_until(lambda: not world.differences(service), f"{step.id}: nothing left to do")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nudged(scenario, shared_world):
    first = load_scenario(scenario).steps[0]
    world = shared_world
    world.load({}, first.topology, first.neutron)
    # A long poll: what settles in time was nudged.
    with world.service(poll_interval=10.0) as service:
        wait_until(lambda: service.socket.is_open, "the nudge socket")
        play_scenario(world, service, scenario, nudged=True)


@pytest.mark.parametrize("scenario", POLLED)
def test_polled(scenario, shared_world):
    first = load_scenario(scenario).steps[0]
    world = shared_world
    world.load({}, first.topology, first.neutron)
    with world.service(poll_interval=0.2) as service:
        wait_until(lambda: service.leading, "the lock")
        play_scenario(world, service, scenario, nudged=False)
