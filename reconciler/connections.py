"""The service's connections: made once, kept for its life, closed at its end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from ovnlb.desired import octavia
from ovnlb.desired.facts import Health
from ovnlb.desired.graph import Graph
from ovnlb.desired.octavia_subnets import monitored_subnets
from ovnlb.observed.idl import NbReplica, RowEvent, SbReplica, connect_nb, connect_sb
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.remotes import Unreachable, WrongDatabase
from ovnlb.reconciler.live import LiveHealth, NeutronConnection
from ovnlb.reconciler.neutron_client import DAEMON, NeutronClient
from ovnlb.reconciler.report import Row
from ovnlb.reconciler.settings import Settings

LOG = logging.getLogger(__name__)

_SB_PAUSE = 10.0


class OctaviaDatabase:
    """The queries of the service over one engine, for the load balancers of our providers."""

    def __init__(self, engine: Engine, providers: Collection[str]) -> None:
        self._engine, self._providers = engine, tuple(providers)
        self._wanted = {name.lower() for name in providers}

    def ours(self, provider: str) -> bool:
        """Whether a provider is one of ours."""
        return provider.lower() in self._wanted

    def pending(self) -> list[tuple[str, str]]:
        """Id and status of every load balancer of ours in PENDING_*."""
        return octavia.pending(self._engine, self._providers)

    def statuses(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Id -> (provisioning status, provider, updated_at), of any provider."""
        return octavia.statuses_of(self._engine, ids) if ids else {}

    def updated_since(self, since: datetime) -> list[str]:
        """Ids of the load balancers that changed at `since` or later."""
        return octavia.updated_since(self._engine, self._providers, since)

    def living(self) -> list[str]:
        """Ids of all load balancers of ours that are not DELETED."""
        return octavia.living_ids(self._engine, self._providers)

    def newest(self) -> datetime | None:
        """When the newest load balancer of any provider was made, naive UTC."""
        return octavia.newest_created_at(self._engine)

    def monitored_subnets(self) -> frozenset[str]:
        """The subnets on which a living load balancer of ours monitors members, or may."""
        return monitored_subnets(self._engine, self._providers)

    def load(self, ids: Collection[str]) -> Graph:
        """The graphs of those of these load balancers that are ours."""
        found = octavia.load_many(self._engine, ids)
        alive = tuple(lb for lb in found.load_balancers if self.ours(lb.provider or ""))
        broken = (one for one in found.broken if one.lb is None or self.ours(one.lb.provider or ""))
        return Graph(alive, tuple(broken))


class Southbound:
    """The Southbound replica, connected in the background: nothing waits for it."""

    def __init__(self, settings: Settings, lock: bool) -> None:
        self._settings, self._lock = settings, lock
        self._stop = threading.Event()
        self._replica: SbReplica | None = None
        self._health: LiveHealth | None = None
        self._empty = Health()
        self._thread = threading.Thread(target=self._connect, name="southbound", daemon=True)
        self._listener: Callable[[RowEvent], None] = lambda event: None

    def start(self, listener: Callable[[RowEvent], None]) -> None:
        """Connect, and tell `listener` of every event from then on; a `reloaded` comes first."""
        self._listener = listener
        self._thread.start()

    def health(self) -> Health:
        """The monitors of now; not complete without the database."""
        return self._empty if self._health is None else self._health()

    @property
    def connected(self) -> bool:
        """Whether the replica follows its server."""
        return self._replica is not None and self._replica.connected

    def close(self) -> None:
        """Stop connecting, and close the replica."""
        self._stop.set()
        if self._replica is not None:
            self._replica.close()

    def _connect(self) -> None:
        told = False
        while not self._stop.is_set():
            try:
                replica = connect_sb(self._settings.sb, lock=self._lock)
            except (Unreachable, WrongDatabase) as error:
                if not told:
                    LOG.warning("health states stay as they are: %s", error)
                told = True
                self._stop.wait(_SB_PAUSE)
                continue
            if self._stop.is_set():
                replica.close()
                return
            replica.on_change(self._listener)
            self._health, self._replica = LiveHealth(replica), replica
            self._listener(RowEvent("", "reloaded"))
            return


@dataclass(frozen=True)
class Connections:
    """All of them. `neutron` answers questions, `client` changes things there."""

    database: OctaviaDatabase
    nb: NbReplica
    southbound: Southbound
    neutron: SdkNeutron
    client: NeutronClient


def connect(settings: Settings, stack: ExitStack, *, lock: bool) -> Connections:
    """Connect to what the service cannot start without; everything is closed by the stack.

    Raises Unreachable, WrongDatabase and the database errors, each naming what is wrong.
    """
    engine = octavia.open_engine(
        settings.database_url,
        connect_timeout=settings.database_connect_timeout,
        option=settings.database_option,
        pool_size=settings.workers + 6,
    )
    stack.callback(engine.dispose)
    octavia.check_schema(engine)
    nb = connect_nb(settings.nb, lock=lock)
    stack.callback(nb.close)
    southbound = Southbound(settings, lock)
    stack.callback(southbound.close)
    neutron = NeutronConnection(settings)
    client = NeutronClient(lambda: neutron.network, DAEMON)
    database = OctaviaDatabase(engine, settings.providers)
    return Connections(database, nb, southbound, SdkNeutron(neutron), client)
