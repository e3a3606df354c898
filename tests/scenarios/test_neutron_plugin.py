"""The plugin of Neutron's repair command on real parts; with Neutron's own code in tests/e2e."""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from oslo_config import cfg

from ovnlb.observed.idl import connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler import neutron_plugin
from repair_world import RepairWorld
from scenario_files import load_scenario

DRIVER = SimpleNamespace(nb_ovn=None, sb_ovn=None)


@pytest.fixture
def unwritten(repair: RepairWorld, monkeypatch: pytest.MonkeyPatch) -> RepairWorld:
    """Two load balancers without rows; the plugin finds the configuration as Neutron's process does."""
    repair.configure()
    repair.load(load_scenario("two_lbs_same_network").steps[9])
    repair.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
    monkeypatch.setenv("OVNLB_CONFIG_FILES", str(repair.config))
    monkeypatch.setattr(sys, "argv", ["neutron-ovn-db-sync-util", "--config-file", "/etc/neutron/no.conf"])
    return repair


def synchronizer(mode: str) -> Any:
    """The plugin as Neutron makes it."""
    return neutron_plugin.OctaviaOvnSynchronizer(None, DRIVER, mode, plugin_conf=None)


def test_off_does_nothing(unwritten: RepairWorld) -> None:
    """Mode off."""
    synchronizer("off").do_sync()
    assert unwritten.rows() == {}


def test_log_is_a_plan(unwritten: RepairWorld, caplog: pytest.LogCaptureFixture) -> None:
    """Mode log: every difference in the log as a warning, nothing written, nothing created in Neutron."""
    caplog.set_level(logging.INFO, "ovnlb.reconciler.neutron_plugin")
    before = unwritten.versions()
    synchronizer("log").do_sync()
    assert unwritten.versions() == before
    assert unwritten.neutron.changes() == []
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any("(missing)" in text or "(intent_added)" in text for text in warnings)
    assert any("in 2 of 2 load balancers" in text for text in warnings)


@pytest.mark.parametrize("mode", ["repair", "migrate"])
def test_repair_is_an_apply(unwritten: RepairWorld, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """Modes repair and migrate: the rows are there, statuses are reported, the next log run is quiet."""
    synchronizer(mode).do_sync()
    assert len(unwritten.rows()) == 2
    assert unwritten.run("plan").code == 0
    assert unwritten.sql("SELECT id FROM load_balancer WHERE provisioning_status != 'ACTIVE'") == []
    caplog.set_level(logging.INFO, "ovnlb.reconciler.neutron_plugin")
    caplog.clear()
    synchronizer("log").do_sync()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_repair_that_leaves_something_fails_B105(unwritten: RepairWorld) -> None:
    """One load balancer cannot be planned: the other is written, the exception says what is left."""
    unwritten.sql("DELETE FROM vip WHERE load_balancer_id = '1b000000-0000-4000-8000-000000000001'")
    with pytest.raises(neutron_plugin.SyncFailed, match="1 could not be planned"):
        synchronizer("repair").do_sync()
    assert set(unwritten.rows()) == {"1b000000-0000-4000-8000-000000000002"}


def test_configuration_of_neutron_is_neither_read_nor_changed(unwritten: RepairWorld) -> None:
    """cfg.CONF stays as Neutron made it, and a Neutron database is refused by name of what it lacks."""
    before = set(cfg.CONF._groups)
    synchronizer("log").do_sync()
    assert set(cfg.CONF._groups) == before
    unwritten.sql("ALTER TABLE load_balancer RENAME TO away")
    try:
        for mode in ("log", "repair"):
            with pytest.raises(neutron_plugin.SyncFailed, match="no load_balancer table"):
                synchronizer(mode).do_sync()
    finally:
        unwritten.sql("ALTER TABLE away RENAME TO load_balancer")
    assert unwritten.rows() == {}


def test_repair_beside_a_running_daemon_is_refused(unwritten: RepairWorld) -> None:
    """Somebody holds the lock: nothing is written, and the text says what to do."""
    holder = connect_nb(Endpoint(unwritten.nb.unix, timeout=5), lock=True)
    try:
        assert holder.wait_for(lambda: holder.has_lock, 5)
        with pytest.raises(neutron_plugin.SyncFailed, match="lock"):
            synchronizer("repair").do_sync()
        assert unwritten.rows() == {}
        synchronizer("log").do_sync()
    finally:
        holder.close()


def test_unknown_mode_is_an_error(unwritten: RepairWorld) -> None:
    """A word that is no mode does nothing."""
    with pytest.raises(neutron_plugin.SyncFailed, match="fix"):
        synchronizer("fix").do_sync()
    assert unwritten.rows() == {}


@pytest.fixture
def neutron_lib(monkeypatch: pytest.MonkeyPatch) -> type:
    """neutron-lib's base class by its public interface, as far as plugins see it."""

    class BaseOvnDbSynchronizer:
        def __init__(self, core_plugin: Any, ovn_driver: Any, mode: str) -> None:
            self.mode = mode

    module = ModuleType("neutron_lib.ovn.db_sync")
    module.BaseOvnDbSynchronizer = BaseOvnDbSynchronizer  # type: ignore[attr-defined]
    for name in ("neutron_lib", "neutron_lib.ovn"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "neutron_lib.ovn.db_sync", module)
    return BaseOvnDbSynchronizer


def test_base_class_is_neutrons_where_there_is_one(neutron_lib: type) -> None:
    """Neutron loads only subclasses of its own class."""
    assert neutron_plugin._base() is neutron_lib


def test_entry_points_lead_to_the_plugin() -> None:
    """Under the name that operators know, and under ours for trials side by side."""
    points = metadata.distribution("ovnlb").entry_points.select(group="neutron.ovn.db_sync")
    assert {point.name for point in points} == {"octavia_ovn_sync", "ovnlb"}
    assert {point.load() for point in points} == {neutron_plugin.OctaviaOvnSynchronizer}
    scripts = metadata.distribution("ovnlb").entry_points.select(group="console_scripts")
    assert "octavia-ovn-db-sync-util" in {point.name for point in scripts}
