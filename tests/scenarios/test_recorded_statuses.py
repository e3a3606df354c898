"""Every recorded step reported to Octavia: nothing stays PENDING, no message is refused.

The messages are applied as octavia-driver-agent does (tests/driver_updater.py, which
tests/octavia_api/test_recorded_messages.py compares with Octavia's own code). For the scenarios of
health, floating IPs and members the operating statuses are compared with the recorded ones; what
differs is in tests/cases/status_exceptions.json with its number of architecture.md section 10.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver_updater import ORDER, DriverUpdater
from recorded_reports import reports
from scenario_files import Step, scenario_names
from servers.neutron import FakeNeutron, serving

EXCEPTIONS_FILE = Path(__file__).parents[1] / "cases" / "status_exceptions.json"
EXCEPTIONS: list[dict[str, Any]] = json.loads(EXCEPTIONS_FILE.read_text())
COMPARED = ("sm_", "hm_", "fip_", "member_")


@pytest.fixture(scope="module")
def server() -> Iterator[FakeNeutron]:
    with serving() as found:
        yield found


def reported(name: str, server: FakeNeutron) -> Iterator[tuple[Step, DriverUpdater]]:
    """Every step with Octavia rows, and Octavia's tables after our messages."""
    for step, sent in reports(name, server):
        octavia = DriverUpdater(step.octavia or {})
        for message in sent:
            octavia.update(message)
        yield step, octavia


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
