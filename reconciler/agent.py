"""The service inside octavia-driver-agent: entry point `octavia.driver_agent.provider_agents`.

Octavia calls the function in a process of its own, restarts it a second after it raises, and never
after it returns; so it returns only when it is told to exit. Source: octavia-contract.md section 5.
"""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from oslo_config import cfg

from ovnlb.reconciler.service import Service
from ovnlb.reconciler.settings import settings_from

LOG = logging.getLogger(__name__)


class ExitEvent(Protocol):
    """A multiprocessing Event."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set."""

    def is_set(self) -> bool:
        """Whether it is set."""


def provider_agent(exit_event: ExitEvent) -> None:
    """Run the service until `exit_event` is set. Raises what the service cannot start with."""
    service, stop = Service(settings_from(cfg.CONF, check_ovn=True)), threading.Event()

    def follow() -> None:
        while not exit_event.wait(0.2):
            if stop.is_set():
                return
        stop.set()

    follower = threading.Thread(target=follow, name="exit event", daemon=True)
    follower.start()
    try:
        service.run(stop)
    finally:
        stop.set()
    if not exit_event.is_set():
        raise RuntimeError("the service ended without being told to")
