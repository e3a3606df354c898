"""A recorded step as a cloud to reconcile: what the call found, with what Octavia then had."""

from __future__ import annotations

from ovnlb.desired.facts import MonitorKey
from port_world import PortWorld
from scenario_files import Step
from servers.neutron import FakeNeutron

# Calls after which the recorded topology is the cause, not the provider's work.
CAUSES = ("event.", "nb.")


def world_of(step: Step, before: Step | None, server: FakeNeutron) -> PortWorld:
    """The step's cloud: of a driver's call as the step before left it, of an event as the event did."""
    found = before if before is not None and not step.call.startswith(CAUSES) else step
    rows = {key: value for key, value in step.nb_before.items() if key != "NAT" or found is before}
    world = PortWorld(server, found.topology, found.neutron, {"NAT": found.topology.get("NAT", []), **rows})
    world.octavia = step.octavia or {}
    return world


def monitor_event(step: Step) -> dict[MonitorKey, str]:
    """What a recorded Service_Monitor event says; empty for a row that went."""
    if not step.call.startswith("event.ServiceMonitor"):
        return {}
    row = step.args
    key = MonitorKey(row["logical_port"], row["ip"], int(row["port"]), row["protocol"][0])
    return {key: "" if step.call.endswith("(delete)") else row["status"][0]}
