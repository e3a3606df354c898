"""What the driver may touch in an octavia-api process: the database, Neutron, the nudge socket.

One per process, made at the first driver call of that process: octavia-api forks its workers after
it has loaded (and once instantiated) the driver. Making it opens nothing; each part connects at its
own first use.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from ovnlb.reconciler import nudge
from ovnlb.reconciler.driver_lookup import CONNECTIONS, TIMEOUT, DriverLookup
from ovnlb.reconciler.neutron_client import API, NeutronClient

if TYPE_CHECKING:
    from ovnlb.reconciler.settings import Settings

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DriverWorld:
    """`nudge` takes a load balancer's id, or None for "look now"; it never waits or raises."""

    lookup: DriverLookup
    neutron: NeutronClient
    nudge: Callable[[str | None], object]


_lock = threading.Lock()
_made: tuple[int, DriverWorld] | None = None


def process_world() -> DriverWorld:
    """The world of this process, from octavia-api's own configuration."""
    global _made
    with _lock:
        if _made is None or _made[0] != os.getpid():
            _made = (os.getpid(), make_world(cfg.CONF))
        return _made[1]


def make_world(conf: cfg.ConfigOpts) -> DriverWorld:
    """A world from a parsed configuration.

    An unusable configuration takes away what depends on it, with an error in the log: what can be
    checked without is still checked, and a VIP port cannot be made.
    """
    from ovnlb.reconciler.settings import SettingsError, settings_from

    try:
        settings = settings_from(conf)
    except SettingsError as error:
        LOG.error("the ovn driver cannot use the configuration: %s", error)
        return DriverWorld(
            DriverLookup(partial(_refuse, str(error))),
            NeutronClient(partial(_refuse, str(error)), API),
            lambda _: False,
        )
    return DriverWorld(
        DriverLookup(partial(_engine, settings)),
        NeutronClient(partial(_network, settings), API),
        partial(nudge.send, settings.nudge_socket),
    )


def _refuse(problem: str) -> Any:
    raise ValueError(problem)


def _engine(settings: Settings) -> Any:
    from ovnlb.desired.octavia_url import open_engine

    return open_engine(
        settings.database_url,
        connect_timeout=TIMEOUT,
        option=settings.database_option,
        read_timeout=TIMEOUT,
        pool_size=CONNECTIONS,
    )


def _network(settings: Settings) -> Any:
    from ovnlb.reconciler.neutron_session import open_network

    return open_network(settings.neutron_conf, settings.strict_endpoint)
