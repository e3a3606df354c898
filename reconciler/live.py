"""The live world: Octavia's database, both OVN databases and Neutron, as the settings name them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Engine

from ovnlb.desired.facts import Health
from ovnlb.desired.graph import Graph
from ovnlb.desired.model import Provisioning
from ovnlb.desired.octavia import check_schema, load_all, load_many, open_engine, read_tables, statuses_of
from ovnlb.diff.policy import Policy
from ovnlb.observed.idl import NbReplica, SbReplica, connect_nb, connect_sb
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.remotes import Unreachable, WrongDatabase
from ovnlb.reconciler.inputs import Scope, scoped
from ovnlb.reconciler.neutron_client import DAEMON, NeutronClient
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.ports import Ports
from ovnlb.reconciler.rounds import Means
from ovnlb.reconciler.settings import Settings
from ovnlb.reconciler.walk import World
from ovnlb.reconciler.writing import write_batch


class NeutronConnection:
    """An openstacksdk connection that is made when it is first used."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def network(self) -> Any:
        """The network proxy. Raises what keystoneauth and openstacksdk raise."""
        from ovnlb.reconciler.neutron_session import open_network

        return open_network(self._settings.neutron_conf, self._settings.strict_endpoint)


class LiveHealth:
    """The Southbound monitors as `Health`, made anew only when the replica has changed."""

    def __init__(self, sb: SbReplica) -> None:
        self._sb = sb
        self._made: tuple[tuple[int, bool], Health] | None = None

    def __call__(self) -> Health:
        """The health of now; not complete while the database is away."""
        state = (self._sb.generation, self._sb.connected)
        if self._made is None or self._made[0] != state:
            self._made = (state, Health(self._sb.statuses(), complete=state[1]))
        return self._made[1]


@dataclass(frozen=True)
class LiveInputs:
    """What a command or the service works on, connected."""

    settings: Settings
    engine: Engine
    nb: NbReplica
    sb: SbReplica | None
    neutron: SdkNeutron
    client: NeutronClient
    world: World

    def graph(self, scope: Scope) -> Graph:
        """The graph in scope, of the configured providers, from one database snapshot."""
        if not scope.ids:
            return load_all(self.engine, self.settings.providers, scope.project)
        return self.ours(load_many(self.engine, scope.ids), scope)

    def tables(self, scope: Scope) -> dict[str, list[dict[str, Any]]]:
        """The rows behind `graph`, as a bundle holds them; with ids those of other providers, too."""
        return read_tables(self.engine, self.settings.providers, scope.ids or None, scope.project)

    def ours(self, graph: Graph, scope: Scope) -> Graph:
        """The part of a graph that is of our providers and in scope; raises UnknownLoadBalancer."""
        wanted = {provider.lower() for provider in self.settings.providers}
        broken = self.statuses([lb.id for lb in graph.broken]) if graph.broken else {}
        found = Graph(
            tuple(lb for lb in graph.load_balancers if (lb.provider or "").lower() in wanted),
            tuple(lb for lb in graph.broken if lb.id in broken and broken[lb.id][1].lower() in wanted),
        )
        return scoped(found, scope)

    def means(self, graph: Graph) -> Means:
        """How a one-shot round reads and writes: floating IPs from one listing for this graph."""
        vips = {vip.port_id for lb in graph.load_balancers for vip in lb.vips if vip.port_id}
        memory = PortMemory(self.nb, monitor_mac=self.settings.hm_port_monitor_mac)
        ports = Ports(self.client, self.nb, memory)
        return Means(
            replace(self.world, ports=memory),
            partial(load_many, self.engine),
            partial(write_batch, self.nb),
            perform=ports.perform,
            fips=self.neutron.floating_ips(vips),
            vip_port_exists=lambda lb: (
                lb.provisioning_status != Provisioning.ERROR or ports.vip_port_exists(lb)
            ),
        )

    def statuses(self, ids: Collection[str]) -> Mapping[str, tuple[str, str, datetime | None]]:
        """Id -> provisioning status, provider and updated_at of the rows as they are now."""
        return statuses_of(self.engine, ids)


@contextmanager
def live_inputs(
    settings: Settings, *, lock: bool = False, notice: Callable[[str], None] = lambda text: None
) -> Iterator[LiveInputs]:
    """Connect to everything and close it afterwards.

    `lock`: fence writes by the OVSDB lock. Without a Southbound database nothing is downgraded, and
    `notice` is told. Raises Unreachable, WrongDatabase and the database errors, naming what is wrong.
    """
    with ExitStack() as stack:
        engine = open_engine(
            settings.database_url,
            connect_timeout=settings.database_connect_timeout,
            option=settings.database_option,
        )
        stack.callback(engine.dispose)
        check_schema(engine)
        nb = connect_nb(settings.nb, lock=lock)
        stack.callback(nb.close)
        sb = _southbound(settings, notice)
        if sb is not None:
            stack.callback(sb.close)
        connection = NeutronConnection(settings)
        neutron = SdkNeutron(connection)
        client = NeutronClient(lambda: connection.network, DAEMON)
        world = World(
            nb=nb,
            neutron=neutron,
            health=Health if sb is None else LiveHealth(sb),
            policy=Policy(settings.policy),
            drain=settings.drain_on_zero_weight,
        )
        yield LiveInputs(settings, engine, nb, sb, neutron, client, world)


def _southbound(settings: Settings, notice: Callable[[str], None]) -> SbReplica | None:
    try:
        return connect_sb(settings.sb)
    except (Unreachable, WrongDatabase) as error:
        notice(f"health states stay as they are: {error}")
        return None
