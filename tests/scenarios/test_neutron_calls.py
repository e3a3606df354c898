"""What the recorded provider changed in Neutron, step by step, against what a round of ours changes.

Executed over HTTP. Differences are listed in tests/cases/neutron_call_exceptions.json, each with the
number of architecture.md section 10 it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from port_world import PortWorld
from recorded_world import world_of
from scenario_files import Step, load_scenario, scenario_names
from servers.neutron import Call, FakeNeutron, serving

EXCEPTIONS_FILE = Path(__file__).parents[1] / "cases" / "neutron_call_exceptions.json"
EXCEPTIONS: list[dict[str, Any]] = json.loads(EXCEPTIONS_FILE.read_text())
# The recorded VIP ports are made inside octavia-api; test_driver_replay.py compares them.
NOT_OURS = ("driver.create_vip_port", "driver.do_sync")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeNeutron]:
    with serving() as found:
        yield found


def recorded(step: Step) -> list[Any]:
    """The recorded calls in the form of `ours`; a call and its repetitions are one."""
    return sorted({json.dumps([call["method"], call["args"]], sort_keys=True) for call in step.neutron_calls})


def ours(calls: list[Call]) -> list[str]:
    """Our calls, without what the fake server makes up. The MAC of a monitor port is none of theirs."""
    found = []
    for call in calls:
        object_id = call.path.partition("/")[2]
        if call.method == "POST":
            found.append(["create_port", call.body])
        elif call.method == "DELETE":
            found.append(["delete_port", {"port": object_id}])
        elif call.path.startswith("floatingips"):
            found.append(["update_ip", {"floating_ip": object_id, **(call.body or {})}])
        else:
            found.append(["update_port", {"port": object_id, **(call.body or {})}])
    return sorted(json.dumps(item, sort_keys=True) for item in found)


def differences(name: str, server: FakeNeutron) -> Iterator[dict[str, Any]]:
    """The steps whose calls differ, in the form of the exceptions file."""
    before: Step | None = None
    for step in load_scenario(name).steps:
        if step.octavia is not None and step.call not in NOT_OURS:
            world: PortWorld = world_of(step, before, server)
            world.play()
            mine, theirs = ours(world.calls()), recorded(step)
            if mine != theirs:
                yield {
                    "scenario": name,
                    "step": step.index,
                    "only_recorded": [json.loads(call) for call in theirs if call not in mine],
                    "only_ours": [json.loads(call) for call in mine if call not in theirs],
                }
        before = step


@pytest.mark.parametrize("scenario", scenario_names())
def test_calls_are_the_recorded_ones(scenario: str, server: FakeNeutron) -> None:
    """Every difference is listed, and every listed one is found."""
    listed = [
        {key: value for key, value in item.items() if key not in ("number", "why")}
        for item in EXCEPTIONS
        if item["scenario"] == scenario
    ]
    assert list(differences(scenario, server)) == listed


def test_exceptions_are_few_numbered_and_explained() -> None:
    """Few steps need one."""
    assert len(EXCEPTIONS) <= 30
    assert all(item["number"] in range(1, 17) and item["why"] for item in EXCEPTIONS)
