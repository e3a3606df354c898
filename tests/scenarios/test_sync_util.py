"""`octavia-ovn-db-sync-util` over every recorded synchronisation: the right outcome, not the original's."""

from __future__ import annotations

from typing import Any

import pytest

from ovnlb.desired.octavia import load_all, open_engine
from ovnlb.reconciler import sync_util
from repair_world import RepairWorld, captured
from scenario_files import Step, load_scenario, scenario_names

SYNCS = [name for name in scenario_names() if name.startswith("sync_")]
# The catalogue's entry of a scenario, where there is one.
ENTRIES = {
    "sync_missing_lb_row": "B100",
    "sync_missing_lb_row_pool_without_members": "L06",
    "sync_nothing_missing_two_protocols": "L03",
    "sync_nothing_missing_disabled_objects": "L04",
    "sync_hm_with_fip_nothing_missing": "L02",
    "sync_nothing_missing_dual_stack": "L12",
    "sync_deleted_lb_being_deleted": "L07",
    "sync_extra_lb": "L08",
    "sync_stale_fip": "L11",
    "sync_extra_member": "L10",
    "sync_orphan_hm_rows": "B099",
    "sync_wrong_selection_fields_and_options": "L14",
    "sync_two_lbs_first_one_raises": "B105",
}
CORRECT = [name for name in SYNCS if "nothing_missing" in name]
# An absent id is no proof: its row is listed, and the exit code says that something is left.
LEFT = {"sync_extra_lb"}


def entry(name: str) -> str:
    """Scenario and catalogue entry."""
    return f"{name}-{ENTRIES[name]}" if name in ENTRIES else name


def sync_steps(name: str) -> list[Step]:
    """The synchronisations of a scenario."""
    return [step for step in load_scenario(name).steps if step.call == "driver.do_sync"]


def sync(world: RepairWorld) -> Any:
    """Run the command."""
    return captured(lambda: sync_util.main(["--config-file", str(world.config)]))


@pytest.mark.parametrize("name", SYNCS, ids=entry)
def test_recorded_synchronisation(name: str, repair: RepairWorld) -> None:
    """Rows as the graph asks, whatever the original left; the second run writes nothing; the exit code."""
    steps = sync_steps(name)
    assert steps
    for step in steps:
        repair.load(step)
        uuids = {row["_uuid"] for rows in repair.rows().values() for row in rows}
        first = sync(repair)
        assert first.code == (1 if name in LEFT else 0), (first.out, first.err)
        exact(repair)
        assert uuids <= {row["_uuid"] for rows in repair.rows().values() for row in rows}
        before = repair.versions()
        second = sync(repair)
        assert "Nothing had to be written." in second.out
        assert second.code == first.code
        assert repair.versions() == before


def exact(world: RepairWorld) -> None:
    """Every living load balancer's rows are the desired ones, by a plan of another process."""
    report = world.run("plan", "--format", "json").document
    assert [part["changes"] for part in report["load_balancers"] if part["changes"]] == []
    assert not report["errors"]
    engine = open_engine(world.url)
    graph = load_all(engine, ("ovn",))
    engine.dispose()
    names = world.rows().keys()
    assert {lb.id for lb in graph.load_balancers} <= names


@pytest.mark.parametrize("name", CORRECT, ids=entry)
def test_correct_database_is_never_written(name: str, repair: RepairWorld) -> None:
    """What the original called right and is right gets no transaction: no row's version changes."""
    repair.load(sync_steps(name)[0])
    before = repair.versions()
    ran = sync(repair)
    assert (ran.code, repair.versions()) == (0, before)
    assert "Nothing had to be written." in ran.out
