"""Every recorded state of the original against ours: equal, or a numbered exception.

tests/cases/conformance_exceptions.json lists each difference with the number of architecture.md
section 10 (docs: "Where we differ from the original on purpose") and with our value.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance import NOT_COMPARED, State, desired_items, differences, recorded_items, states
from scenario_files import scenario_names

EXCEPTIONS_FILE = Path(__file__).parents[1] / "cases" / "conformance_exceptions.json"
EXCEPTIONS: list[dict[str, Any]] = json.loads(EXCEPTIONS_FILE.read_text())
NUMBERS = range(1, 17)
MOST_STATES_WITH_EXCEPTIONS = 80


def found(state: State) -> list[dict[str, Any]]:
    """The differences at a state, in the form of the exceptions file but for the number."""
    recorded, ours = recorded_items(state.step, state.lb.id), desired_items(state.desired)
    return [
        {
            "scenario": state.step.scenario,
            "step": state.step.index,
            "lb": state.lb.id,
            "row": item[0],
            "column": item[1],
            "key": item[2],
            "ours": value,
        }
        for item, _recorded, value in differences(recorded, ours)
    ]


@pytest.mark.parametrize("name", scenario_names())
def test_recorded_states(name: str) -> None:
    """The differences of a scenario are exactly the listed exceptions; none is left over."""
    compared = [state for state in states(name) if state.step.call not in NOT_COMPARED]
    differing = [difference for state in compared for difference in found(state)]
    listed = [
        {key: value for key, value in exception.items() if key != "number"}
        for exception in EXCEPTIONS
        if exception["scenario"] == name
    ]
    assert differing == listed


def test_exceptions_are_few_and_numbered() -> None:
    """At most 80 states need exceptions, and each names one of the sixteen differences."""
    assert {exception["number"] for exception in EXCEPTIONS} <= set(NUMBERS)
    excepted = {(item["scenario"], item["step"], item["lb"]) for item in EXCEPTIONS}
    assert 0 < len(excepted) <= MOST_STATES_WITH_EXCEPTIONS


def test_every_scenario_has_a_state_or_only_refusals() -> None:
    """The walk really visits: over 700 states, and each scenario but the refusals has one."""
    counts = {name: sum(1 for _ in states(name)) for name in scenario_names()}
    assert sum(counts.values()) >= 718
    empty = {name for name, count in counts.items() if count == 0}
    assert empty <= {
        "refusals",
        "refusals_direct",
        "lb_fully_populated_refused",
        "lb_vip_port_neutron_error",
        "lb_additional_vip_conflict",
    }
