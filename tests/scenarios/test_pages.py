"""HTML pages and explanations from the command line, on a private ovsdb-server, Octavia and Neutron."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from ovnlb.reconciler import cli
from repair_world import RepairWorld, captured, without_chassis
from scenario_files import Step, load_scenario
from service_world import ServiceWorld

LB = "1b000000-0000-4000-8000-000000000001"


def step() -> Step:
    """Two pools with monitors, the second one's just made, before its rows are written."""
    found = load_scenario("hm_two_pools").steps[9]
    assert found.call == "driver.health_monitor_create"
    return found


def parsed(text: str) -> ElementTree.Element:
    """A page, read by an XML parser."""
    assert text.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(text.split("\n", 1)[1])


@pytest.mark.parametrize("command", [("plan",), ("plan", "--lb", LB), ("show", LB), ("orphans",), ("apply",)])
def test_every_report_has_a_page(repair: RepairWorld, command: tuple[str, ...]) -> None:
    """One whole document on standard output, with the exit code of the text report."""
    repair.load(step())
    text = repair.run(*command) if command[0] != "apply" else None
    ran = repair.run(*command, "--format", "html")
    root = parsed(ran.out)
    assert root.find("body/main/h1") is not None
    assert "UTC on" in "".join(root.find("body/main/footer").itertext())
    if text is not None:
        assert ran.code == text.code
    pictures = len(list(root.iter("{http://www.w3.org/2000/svg}svg")))
    assert pictures == (0 if command[0] == "orphans" else 1)


def test_apply_page_tells_what_was_written(repair: RepairWorld) -> None:
    """What was written with what it did to traffic; afterwards a page says that nothing is different."""
    repair.load(step())
    repair.neutron_writes_ports()
    applied = "".join(parsed(repair.run("apply", "--format", "html").out).itertext())
    assert "1 load balancers looked at, 1 written." in applied
    assert "What remains different" in applied
    after = repair.run("plan", "--format", "html")
    assert after.code == 0
    assert "1 load balancers are in sync" in "".join(parsed(after.out).itertext())


def test_show_asks_neutron_and_finds_no_daemon(repair: RepairWorld) -> None:
    """The groups that block probes and clients are named; that no daemon answers is no failure."""
    repair.load(step())
    repair.neutron.listings = {"security-group-rules": []}
    for port in repair.neutron.store["ports"].values():
        port["security_groups"] = ["sg-closed"]
    found = repair.run("show", LB, "--format", "json")
    told = json.loads(found.out)["explain"]
    repair.neutron.listings = {}
    assert (found.code, told["neutron"], told["daemon"]) == (2, "", None)
    codes = {one["code"] for member in told["members"] for one in member["findings"]}
    assert "security_blocks_clients" in codes
    assert told["network"]["architecture"] == "private_to_private"
    text = repair.run("show", LB)
    assert "No daemon answers on this host." in text.out
    assert "Not settled" in text.out


def test_show_tells_what_the_daemon_thinks(world: ServiceWorld) -> None:
    """The service of the host is asked over its socket."""
    found = step()
    assert found.octavia is not None
    topology = {name: [without_chassis(row) for row in rows] for name, rows in found.topology.items()}
    world.load(found.octavia, {"NB_Global": [{"_uuid": "global"}], **topology}, found.neutron)
    with world.service():
        world.settle()
        ran = captured(
            lambda: cli.main(["show", "--config-file", str(world.config()), LB, "--format", "json"])
        )
    daemon = json.loads(ran.out)["explain"]["daemon"]
    assert daemon["role"] == "leader"
    assert daemon["last"]["result"]
    assert json.loads(ran.out)["explain"]["pending"] == []
