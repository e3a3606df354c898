"""What the driver may touch in an octavia-api process: the database, Neutron, the nudge socket.

One per process, made at the first driver call of that process: octavia-api forks its workers after
it has loaded (and once instantiated) the driver. Making it opens nothing; each part connects at its
own first use.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from oslo_config import cfg

from ovnlb.reconciler import nudge
from ovnlb.reconciler.driver_lookup import CONNECTIONS, TIMEOUT, DriverLookup
from ovnlb.reconciler.neutron_client import API, NeutronClient


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
    """A world from a parsed configuration. Raises what `settings_from` raises for unusable options."""
    from ovnlb.reconciler.settings import settings_from

    settings = settings_from(conf)
    return DriverWorld(
        DriverLookup(partial(_engine, settings.database_url)),
        NeutronClient(partial(_network, conf, settings.strict_endpoint), API),
        partial(nudge.send, settings.nudge_socket),
    )


def _engine(url: str) -> Any:
    from ovnlb.desired.octavia import open_engine

    return open_engine(url, connect_timeout=TIMEOUT, read_timeout=TIMEOUT, pool_size=CONNECTIONS)


def _network(conf: cfg.ConfigOpts, strict: bool) -> Any:
    from ovnlb.reconciler.neutron_session import open_network

    return open_network(conf, strict)
