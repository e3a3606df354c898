"""A small cloud whose parts belong together: a Neutron over HTTP, the Northbound it keeps, and rounds.

Ports and floating IPs that change in the fake Neutron change in the Northbound tables as Neutron's OVN
driver would change them. Plans are applied in memory. What reconciles is the product's own round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import openstack
from keystoneauth1 import noauth, session

from fakes.memory_nb import apply_in_memory
from ovnlb.desired.facts import Health, switch_name
from ovnlb.desired.graph import Graph, from_dicts
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.rows import NbState
from ovnlb.diff import columns
from ovnlb.diff.plan import Plan
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.reconciler.apply import Applied, AppliedEach
from ovnlb.reconciler.neutron_client import NeutronClient, Retry
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.ports import Ports
from ovnlb.reconciler.rounds import Done, Means, play
from ovnlb.reconciler.walk import Walked, World, walk
from servers.neutron import Call, FakeNeutron

Tables = Mapping[str, Any]
LOCALPORTS = ("ovn-lb-hm:distributed", "network:distributed")


def client_of(server: FakeNeutron, timeout: float = 5, **retry: Any) -> NeutronClient:
    """A client of this server that loses no time between its tries."""
    sess = session.Session(auth=noauth.NoAuth(endpoint=server.url), timeout=timeout)
    connect = openstack.connection.Connection
    return NeutronClient(
        lambda: connect(session=sess, network_endpoint_override=server.url).network,
        Retry(**{"attempts": 2, "pause": 0.01, **retry}),
    )


class PortWorld:
    """`topology`, `neutron`: as a bundle has them. `rows`: Load_Balancer tables to begin with.

    localports: the owners that this Neutron makes localports of. lag: Neutron's changes stay out of
    the Northbound while it is set. monitors: (LSP, ip, port, protocol) -> status for the health.
    """

    def __init__(
        self, server: FakeNeutron, topology: Tables, neutron: Tables, rows: Tables | None = None
    ) -> None:
        self.server = server
        server.load(neutron)
        server.calls.clear()
        self._first = {port["id"]: port for port in server.dump()["ports"]}
        self._tables = deepcopy({k: v for k, v in topology.items() if k != "NAT"})
        self.nats = {row["_uuid"]: deepcopy(row) for row in (rows or topology).get("NAT", [])}
        self.states: dict[str, NbState] = {}
        self.localports: Collection[str] = LOCALPORTS
        self.lag = False
        self.writes = 0
        self._source: tuple[Any, BundleNorthbound] | None = None
        self.health = Health()
        self.octavia: Tables = {}
        self.balancers: tuple[LoadBalancer, ...] | None = None
        self.clock = 0.0
        self._shown = server.dump()["ports"]
        self._load(topology, rows or {})
        self.nb: Any = LiveNorthbound(self)
        self.memory = PortMemory(self.nb, clock=lambda: self.clock)
        self.ports = Ports(client_of(server), self.nb, self.memory, self._pause)

    def _load(self, topology: Tables, rows: Tables) -> None:
        source = BundleNorthbound({**topology, **rows})
        for name in source.load_balancer_names():
            self.states[name] = NbState(source.load_balancers(name))

    def _pause(self, seconds: float) -> None:
        self.clock += seconds

    # What the product sees

    def source(self) -> BundleNorthbound:
        """The Northbound as it is now."""
        changes = len(self.server.changes())
        key = (changes, self.writes, self.lag, tuple(self.localports))
        if self._source is None or self._source[0] != key:
            self._source = (key, BundleNorthbound(self.tables()))
        return self._source[1]

    def tables(self) -> dict[str, Any]:
        """The Northbound as it is now, in the form of a bundle."""
        ports = self._shown if self.lag else self.server.dump()["ports"]
        self._shown = ports
        tables = deepcopy(self._tables)
        lsps = {row["name"]: row for row in tables.get("Logical_Switch_Port", [])}
        there = {port["id"]: port for port in ports}
        for port_id in self._first.keys() - there.keys():
            lsps.pop(port_id, None)
        for port_id, port in there.items():
            if port_id not in self._first:
                lsps[port_id] = {**lsp(port), **self._told(port, lsp(port)["external_ids"])}
            elif port_id in lsps and port != self._first[port_id]:
                lsps[port_id] = {**lsps[port_id], **self._told(port, lsps[port_id]["external_ids"])}
        tables["Logical_Switch_Port"] = list(lsps.values())
        tables["NAT"] = list(self.nats.values())
        return {**tables, **rows_of(self.states)}

    def _told(self, port: Mapping[str, Any], external_ids: Mapping[str, str]) -> dict[str, Any]:
        return {
            "type": "localport" if port["device_owner"] in self.localports else "",
            "external_ids": {
                **external_ids,
                "neutron:port_name": port["name"],
                "neutron:device_owner": port["device_owner"],
                "neutron:device_id": port["device_id"],
            },
        }

    @property
    def world(self) -> World:
        """For walks."""
        neutron = BundleNeutron(self.server.dump())
        return World(self.nb, neutron, lambda: self.health, ports=self.memory)

    def graph(self, ids: Collection[str] = ()) -> Graph:
        """The load balancers: `balancers` where given, else those of `octavia`."""
        found = Graph(self.balancers, ()) if self.balancers is not None else from_dicts(self.octavia)
        return Graph(tuple(lb for lb in found.load_balancers if not ids or lb.id in ids), found.broken)

    def walk(self, lb_id: str) -> Walked:
        """Plan one."""
        (lb,) = self.graph([lb_id]).load_balancers
        return walk(lb, self.world)

    def play(self, ids: Iterable[str] = ()) -> dict[str, Done]:
        """One round over these load balancers, all of them when none is named."""
        names = list(ids) or [lb.id for lb in self.graph().load_balancers]
        means = Means(
            self.world,
            self.graph,
            self.write,
            self.ports.perform,
            vip_port_exists=self.ports.vip_port_exists,
        )
        return {done.lb_id: done for done in play(names, means)}

    def write(self, plans: Sequence[Plan]) -> AppliedEach:
        """Apply plans as one transaction would."""
        self.writes += 1
        for plan in plans:
            rest = [change for change in plan.changes if change.table != "NAT"]
            for change in plan.changes:
                if change.table == "NAT":
                    row = self.nats[change.row]
                    # Two plans of one transaction may clear the same row.
                    assert row[change.column] in ([change.before], [change.after][:0])
                    row[change.column] = [] if change.after is None else [change.after]
            state = apply_in_memory(plan.have, replace(plan, changes=tuple(rest)))
            self.states[plan.lb_id] = state
        return AppliedEach({plan.lb_id: Applied(transactions=1) for plan in plans}, transactions=1)

    def calls(self) -> list[Call]:
        """The calls that changed something, or tried to."""
        return self.server.changes()


def lsp(port: Mapping[str, Any]) -> dict[str, Any]:
    """The Logical_Switch_Port that Neutron makes of a port."""
    addresses = " ".join([port["mac_address"], *(ip["ip_address"] for ip in port["fixed_ips"])])
    return {
        "_uuid": f"lsp:{port['id']}",
        "name": port["id"],
        "type": "localport" if port["device_owner"] in LOCALPORTS else "",
        "addresses": [addresses],
        "options": {},
        "external_ids": {
            "neutron:network_name": switch_name(port["network_id"]),
            "neutron:port_name": port["name"],
            "neutron:device_owner": port["device_owner"],
            "neutron:device_id": port["device_id"],
        },
    }


class LiveNorthbound:
    """A `NorthboundSource` that answers from the world as it is at the time of the question."""

    def __init__(self, world: PortWorld) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self._world.source(), name)


def rows_of(states: Mapping[str, NbState]) -> dict[str, Any]:
    """Rows of states as the tables of a bundle."""
    tables: dict[str, Any] = {"Load_Balancer": [], "Load_Balancer_Health_Check": []}
    attached: dict[str, dict[str, list[str]]] = {"attached_switches": {}, "attached_routers": {}}
    for state in states.values():
        for row in (*state.rows, *state.suspect):
            checks = [check.uuid for check in row.health_checks]
            tables["Load_Balancer"].append({"_uuid": row.uuid, **columns.own(row), "health_check": checks})
            tables["Load_Balancer_Health_Check"] += [
                {"_uuid": check.uuid, **columns.check(check)} for check in row.health_checks
            ]
            for side, names in (("attached_switches", row.switches), ("attached_routers", row.routers)):
                for name in names:
                    attached[side].setdefault(name, []).append(row.uuid or "")
    return {**tables, **attached}
