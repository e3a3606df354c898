"""The plugin of Neutron's `neutron-ovn-db-sync-util`: entry point `neutron.ovn.db_sync: octavia_ovn_sync`.

It runs in Neutron's process and reads nothing of Neutron's configuration, connections or cfg.CONF:
octavia.conf is read into a ConfigOpts of its own (`OVNLB_CONFIG_FILES`, else where Octavia looks).
Source: architecture.md section 7; neutron-lib's BaseOvnDbSynchronizer.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any

from ovnlb.diff import render
from ovnlb.reconciler import holder
from ovnlb.reconciler.apply_once import Once, apply_once, remaining, told
from ovnlb.reconciler.errors import NotLeader
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.failures import KNOWN_FAILURES
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import live_inputs
from ovnlb.reconciler.settings import load_settings

LOG = logging.getLogger(__name__)

OFF, LOGGING, REPAIR, MIGRATE = "off", "log", "repair", "migrate"
EVERYTHING = Scope()


class SyncFailed(Exception):
    """The synchronisation could not be done, or something is left different; the text says what."""


class _Standalone:
    """What of neutron-lib's base class is used, where there is no Neutron."""

    def __init__(
        self,
        core_plugin: Any,
        ovn_driver: Any,
        mode: str,
        is_maintenance: bool = False,
        plugin_conf: Any = None,
    ) -> None:
        self.mode = mode


def _base() -> Any:
    """Neutron loads only subclasses of neutron-lib's class; the module must import without it, too."""
    try:
        return importlib.import_module("neutron_lib.ovn.db_sync").BaseOvnDbSynchronizer
    except ImportError:
        return _Standalone


class OctaviaOvnSynchronizer(_base()):  # type: ignore[misc]
    """See the module. Modes: off, log (a plan, nothing is written), repair and migrate (an apply)."""

    # Neutron's own rows come first: load balancers refer to its switches and routers.
    _sync_order = 100
    # Neutron's tool needs it to run at all when this is the only plugin.
    _required_mechanism_drivers = ("ovn-sync",)

    def __init__(self, core_plugin: Any, ovn_driver: Any, mode: str, *args: Any, **options: Any) -> None:
        accepted = {key: value for key, value in options.items() if key != "plugin_conf"}
        super().__init__(core_plugin, ovn_driver, mode, *args, **accepted)

    def do_sync(self) -> None:
        """Do what the mode says. Raises SyncFailed when it cannot, or when a repair leaves differences."""
        if self.mode == OFF:
            LOG.info("Octavia load balancers: mode is off")
        elif self.mode == LOGGING:
            _known(self._log)
        elif self.mode in (REPAIR, MIGRATE):
            _known(self._repair)
        else:
            raise SyncFailed(f"unknown mode {self.mode!r}: it is off, log, repair or migrate")

    def _log(self) -> None:
        with live_inputs(load_settings(), notice=LOG.warning) as found:
            report = remaining(found, EVERYTHING)[1]
        code = plan_exit(report["summary"])
        for line in render.text(report).splitlines():
            LOG.log(logging.INFO if code is Exit.IN_SYNC else logging.WARNING, "%s", line)

    def _repair(self) -> None:
        with live_inputs(load_settings(), lock=True, notice=LOG.warning) as found:
            if not holder.take_lock(found, False, LOG.warning):
                raise NotLeader(f"{holder.taken(found)}: nothing was written; stop it, or let it do the work")
            once = apply_once(found, EVERYTHING, LOG.warning)
        self._tell(once)

    @staticmethod
    def _tell(once: Once) -> None:
        for line in told(once, render.text, once.plans).splitlines():
            LOG.info("%s", line)
        if once.exit is not Exit.IN_SYNC:
            left = render.summary_line(once.remaining or {})
            raise SyncFailed(f"load balancers are left different: {left}")


def _known(work: Callable[[], None]) -> None:
    """Every failure that a message explains as SyncFailed, so that Neutron's log has one line of it."""
    try:
        work()
    except KNOWN_FAILURES as error:
        raise SyncFailed(f"Octavia load balancers: {error}") from error
