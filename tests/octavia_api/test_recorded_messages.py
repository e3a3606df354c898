"""What we report after every recorded step, applied by Octavia's own code to Octavia's own schema."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from driver_updater import ORDER, DriverUpdater
from recorded_reports import reports
from scenario_files import scenario_names
from servers.neutron import serving
from stack import venvs

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def steps() -> list[dict[str, Any]]:
    """Every recorded step with rows, and our messages."""
    with serving() as server:
        return [
            {"id": step.id, "octavia": step.octavia, "messages": sent}
            for name in scenario_names()
            for step, sent in reports(name, server)
        ]


@pytest.fixture(scope="module")
def results(steps, mariadb, tmp_path_factory) -> list[dict[str, Any]]:
    """What Octavia made of them."""
    directory = tmp_path_factory.mktemp("messages")
    name = mariadb.create_octavia()
    conf = directory / "octavia.conf"
    conf.write_text(f"[DEFAULT]\ntransport_url = fake://\n[database]\nconnection = {mariadb.url(name)}\n")
    done = subprocess.run(
        [venvs.octavia() / "bin" / "python", HERE / "apply_messages.py", conf, mariadb.url(name)],
        input="\n".join(json.dumps(step) for step in steps),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        check=False,
    )
    mariadb.drop(name)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(step):
    """The rows that the agent of the other suites makes of the same messages."""
    updater = DriverUpdater(step["octavia"])
    for message in step["messages"]:
        updater.update(message)
    return {
        table: {
            row["id"]: [row["provisioning_status"], row["operating_status"]]
            for row in updater.tables.get(table, ())
        }
        for table in ORDER.values()
    }


@pytest.mark.timeout(600)
def test_every_recorded_step(steps, results):
    """No message is refused, nothing stays PENDING, quotas count what is left; 900 steps, 2,000 records."""
    assert [result["id"] for result in results] == [step["id"] for step in steps]
    assert len(steps) > 700
    wrong = []
    for step, result in zip(steps, results, strict=True):
        refused = [answer for answer in result["answers"] if answer["status_code"] != 200]
        states = [state for rows in result["rows"].values() for state, _ in rows.values()]
        left = {
            table: sum(state != "DELETED" for state, _ in rows.values())
            for table, rows in result["rows"].items()
        }
        if refused or any(state.startswith("PENDING") for state in states) or left != result["quotas"]:
            wrong.append((step["id"], refused, result))
    assert wrong == []


def test_the_agent_of_the_other_suites_does_the_same(steps, results):
    """Two implementations of DriverUpdater, one set of rows."""
    for step, result in zip(steps, results, strict=True):
        assert ours(step) == result["rows"], step["id"]
