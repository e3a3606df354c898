"""What we report to Octavia after every recorded step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.graph import from_dicts
from ovnlb.desired.verdicts import messages
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.observed.topology import topology
from ovnlb.reconciler.rounds import SETTLED
from recorded_world import monitor_event, world_of
from scenario_files import Step, load_scenario
from servers.neutron import FakeNeutron


def health_of(step: Step, told: Mapping[MonitorKey, str]) -> Health:
    """The recordings ran without northd: a backend is alive unless a recorded event says otherwise."""
    nb, neutron = BundleNorthbound(step.nb()), BundleNeutron(step.neutron)
    monitors: dict[MonitorKey, str] = {}
    for lb in from_dicts(step.octavia or {}).load_balancers:
        expected = desired_state(lb, topology(nb, neutron, lb), Health()).monitors
        monitors |= {key: told.get(key, "online") for key in expected}
    return Health(monitors, complete=True)


def reports(name: str, server: FakeNeutron) -> Iterator[tuple[Step, list[dict[str, Any]]]]:
    """Every step of a scenario with Octavia rows, and the messages about it in sending order."""
    before: Step | None = None
    told: dict[MonitorKey, str] = {}
    for step in load_scenario(name).steps:
        told |= monitor_event(step)
        if step.octavia is not None:
            world = world_of(step, before, server)
            world.health = health_of(step, told)
            done = world.play().values()
            assert {one.result for one in done if one.result != "gone"} <= SETTLED, [
                one.error for one in done
            ]
            yield step, list(messages([one.update for one in done if one.update is not None]))
        before = step
