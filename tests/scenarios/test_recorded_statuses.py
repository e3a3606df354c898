"""Every recorded step reported to Octavia: nothing stays PENDING, no message is refused.

The messages are applied as octavia-driver-agent does (tests/driver_updater.py). For the scenarios of
health, floating IPs and members the operating statuses are compared with the recorded ones; what
differs is in tests/cases/status_exceptions.json with its number of architecture.md section 10.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from driver_updater import ORDER, DriverUpdater
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.graph import from_dicts
from ovnlb.desired.verdicts import messages
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.observed.topology import topology
from ovnlb.reconciler.rounds import SETTLED
from recorded_world import monitor_event, world_of
from scenario_files import Step, load_scenario, scenario_names
from servers.neutron import FakeNeutron, serving

EXCEPTIONS_FILE = Path(__file__).parents[1] / "cases" / "status_exceptions.json"
EXCEPTIONS: list[dict[str, Any]] = json.loads(EXCEPTIONS_FILE.read_text())
COMPARED = ("sm_", "hm_", "fip_", "member_")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeNeutron]:
    with serving() as found:
        yield found


def health_of(step: Step, told: Mapping[MonitorKey, str]) -> Health:
    """The recordings ran without northd: a backend is alive unless a recorded event says otherwise."""
    nb, neutron = BundleNorthbound(step.nb()), BundleNeutron(step.neutron)
    monitors: dict[MonitorKey, str] = {}
    for lb in from_dicts(step.octavia or {}).load_balancers:
        expected = desired_state(lb, topology(nb, neutron, lb), Health()).monitors
        monitors |= {key: told.get(key, "online") for key in expected}
    return Health(monitors, complete=True)


def reported(name: str, server: FakeNeutron) -> Iterator[tuple[Step, DriverUpdater]]:
    """Every step with Octavia rows, and Octavia's tables after our messages."""
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
            octavia = DriverUpdater(step.octavia)
            for message in messages([one.update for one in done if one.update is not None]):
                octavia.update(message)
            yield step, octavia
        before = step


def differences(name: str, step: Step, octavia: DriverUpdater) -> Iterator[dict[str, Any]]:
    """Operating statuses that the recorded provider reported otherwise, as its last word on the object."""
    last: dict[tuple[str, str], str] = {}
    for message in step.statuses:
        for kind, records in message.items():
            for record in records:
                if record.get("provisioning_status") == "DELETED":
                    last.pop((kind, record["id"]), None)
                elif record.get("operating_status"):
                    last[kind, record["id"]] = record["operating_status"]
    for (kind, object_id), status in sorted(last.items()):
        row = octavia.row(ORDER[kind], object_id)
        ours = None if row is None or row["provisioning_status"] == "DELETED" else row["operating_status"]
        if ours != status:
            found = {"kind": kind, "id": object_id, "recorded": status, "ours": ours}
            yield {"scenario": name, "step": step.index, **found}


@pytest.mark.parametrize("scenario", scenario_names())
def test_nothing_stays_pending(scenario: str, server: FakeNeutron) -> None:
    """After every step; and the operating statuses are the recorded ones but for the listed."""
    found: list[dict[str, Any]] = []
    for step, octavia in reported(scenario, server):
        assert octavia.pending() == [], step.id
        for table in ORDER.values():
            if table != "load_balancer":
                lost = len(step.octavia.get(table, ())) - len(octavia.tables.get(table, ()))
                assert octavia.freed[table] == lost, f"{step.id}: quota of {table}"
        found += differences(scenario, step, octavia)
    listed = [
        {key: value for key, value in item.items() if key not in ("number", "why")}
        for item in EXCEPTIONS
        if item["scenario"] == scenario
    ]
    assert not scenario.startswith(COMPARED) or found == listed


def test_exceptions_are_numbered() -> None:
    """And none is listed for a scenario that is not compared."""
    assert all(item["number"] in range(1, 17) for item in EXCEPTIONS)
    assert all(item["scenario"].startswith(COMPARED) for item in EXCEPTIONS)
