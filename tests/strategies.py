"""Hypothesis strategies: load balancers with the world around them, and rows as bad tools leave them.

The world is small on purpose (three networks, few addresses), so that generated objects meet. Damage
is a set of named functions on values that take a Random: the property tests draw it from Hypothesis,
a fuzz run seeds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from damage import DAMAGE, damaged
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, MonitorKey, Router, RouterInterface, Subnet, Switch, Topology
from ovnlb.desired.model import HealthMonitor, Listener, LoadBalancer, Member, Pool, SessionPersistence, Vip
from ovnlb.desired.rows import NbState

# How long an example takes says nothing on a machine that others use too.
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")

NETWORKS = {"net1": False, "net2": False, "public": True}
SUBNETS = {
    "sub1": ("net1", "10.0.1.0/24", "10.0.1.{}"),
    "sub1v6": ("net1", "fd00:1::/64", "fd00:1::{:x}"),
    "sub2": ("net2", "10.0.2.0/24", "10.0.2.{}"),
    "subp": ("public", "203.0.113.0/24", "203.0.113.{}"),
}
BIRTH = datetime(2026, 1, 1)
MOSTLY = (*(True,) * 7, False)
STATUSES = (*("ACTIVE",) * 5, "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR")


@dataclass(frozen=True)
class Case:
    """One load balancer, its world, and the rows that must exist for it."""

    lb: LoadBalancer
    topology: Topology
    health: Health
    want: NbState

    @property
    def pending(self) -> Mapping[str, str]:
        """Provisioning status of every object of the graph, by id."""
        objects = [self.lb, *self.lb.listeners, *self.lb.pools]
        objects += [member for pool in self.lb.pools for member in pool.members]
        objects += [pool.health_monitor for pool in self.lb.pools if pool.health_monitor]
        return {item.id: item.provisioning_status for item in objects}


def identity(kind: int, number: int) -> str:
    """A readable uuid, the same for the same number."""
    return str(UUID(int=(kind << 96) | 0x4000 << 64 | 0x8000 << 48 | number))


def address(subnet: str, host: int) -> str:
    """An address of one of the subnets."""
    return SUBNETS[subnet][2].format(host)


def switch(network: str) -> str:
    """The name of a network's Logical_Switch."""
    return f"neutron-{network}"


@st.composite
def members(draw: st.DrawFn, pool_id: str, first: int) -> tuple[Member, ...]:
    """Up to four members on any subnet, a few without one."""
    found = []
    for number in range(draw(st.sampled_from((2, 3, 4, 1, 0)))):
        subnet = draw(st.sampled_from(sorted(SUBNETS)))
        found.append(
            Member(
                id=identity(4, first + number),
                pool_id=pool_id,
                address=address(subnet, draw(st.integers(11, 16))),
                port=draw(st.sampled_from((80, 8080))),
                subnet_id=draw(st.sampled_from((subnet, subnet, subnet, None))),
                weight=draw(st.sampled_from((1, 1, 1, 0, None))),
                backup=False,
                enabled=draw(st.sampled_from(MOSTLY)),
                provisioning_status=draw(st.sampled_from(STATUSES)),
                operating_status=draw(st.sampled_from(("ONLINE", "NO_MONITOR", "ERROR"))),
            )
        )
    return tuple(found)


@st.composite
def pools(draw: st.DrawFn, number: int) -> Pool:
    """A pool with members, perhaps with a health monitor and session persistence."""
    pool_id = identity(3, number)
    monitor = None
    if draw(st.sampled_from((True, True, False))):
        monitor = HealthMonitor(
            id=identity(5, number),
            pool_id=pool_id,
            type="TCP",
            delay=draw(st.sampled_from((5, 10))),
            timeout=3,
            rise=2,
            fall=3,
            enabled=draw(st.sampled_from(MOSTLY)),
            provisioning_status=draw(st.sampled_from(STATUSES)),
            operating_status="ONLINE",
        )
    return Pool(
        id=pool_id,
        protocol=draw(st.sampled_from(("TCP", "UDP", "SCTP"))),
        algorithm=draw(st.sampled_from(("SOURCE_IP_PORT", "SOURCE_IP"))),
        enabled=draw(st.sampled_from(MOSTLY)),
        provisioning_status=draw(st.sampled_from(STATUSES)),
        operating_status="ONLINE",
        created_at=BIRTH + timedelta(seconds=number),
        persistence=draw(st.sampled_from((None, None, SessionPersistence("SOURCE_IP", 600)))),
        members=draw(members(pool_id, number * 10)),
        health_monitor=monitor,
    )


@st.composite
def listeners(draw: st.DrawFn, number: int, served: tuple[Pool, ...]) -> Listener:
    """A listener with one of these pools as its default, or none."""
    pool = draw(st.sampled_from((*served, *served, None)))
    return Listener(
        id=identity(2, number),
        protocol=pool.protocol if pool else draw(st.sampled_from(("TCP", "UDP", "SCTP"))),
        port=80 + number,
        default_pool_id=pool.id if pool else None,
        enabled=draw(st.sampled_from(MOSTLY)),
        provisioning_status=draw(st.sampled_from(STATUSES)),
        operating_status="ONLINE",
        created_at=BIRTH + timedelta(seconds=number),
    )


@st.composite
def load_balancers(draw: st.DrawFn) -> LoadBalancer:
    """Any load balancer: up to three pools and four listeners, with or without additional VIPs."""
    served = tuple(draw(pools(number)) for number in range(draw(st.sampled_from((2, 3, 1, 0)))))
    heard = tuple(draw(listeners(number, served)) for number in range(draw(st.sampled_from((2, 3, 4, 1, 0)))))
    places = draw(st.lists(st.sampled_from(sorted(SUBNETS)), min_size=1, max_size=3, unique=True))
    vips = tuple(
        Vip(address(subnet, 100 + number), identity(6, number), subnet, SUBNETS[subnet][0])
        for number, subnet in enumerate(places)
    )
    return LoadBalancer(
        id=identity(1, draw(st.integers(1, 3))),
        project_id="project",
        name="lb",
        provider="ovn",
        enabled=draw(st.sampled_from(MOSTLY)),
        provisioning_status=draw(st.sampled_from(("ACTIVE", "PENDING_UPDATE", "PENDING_CREATE", "ERROR"))),
        operating_status="ONLINE",
        created_at=BIRTH,
        updated_at=BIRTH,
        vip=vips[0],
        additional_vips=tuple(sorted(vips[1:], key=lambda vip: vip.subnet_id or "")),
        listeners=heard,
        pools=served,
    )


@st.composite
def topologies(draw: st.DrawFn, lb: LoadBalancer, ipv6_hash: bool | None = None) -> Topology:
    """A world in which some networks, router interfaces, ports and floating IPs may be missing."""
    places = sorted((name, host) for name in SUBNETS for host in range(11, 17))
    absent = draw(st.sets(st.sampled_from(places), max_size=8))
    unrouted, unmonitored = (draw(st.sets(st.sampled_from(sorted(SUBNETS)))) for _ in range(2))
    interfaces = [
        RouterInterface(
            f"lrp-{name}", switch(network), frozenset({name}), (cidr,), gateway=network == "public"
        )
        for name, (network, cidr, _) in SUBNETS.items()
        if name not in unrouted
    ]
    hosts = {
        (name, address(name, host)): (f"port-{name}-{host}",)
        for name in SUBNETS
        for host in range(11, 17)
        if (name, host) not in absent
    }
    fips = {
        vip.port_id: f"198.51.100.{number}"
        for number, vip in enumerate(lb.vips, start=1)
        if vip.port_id and vip.address and ":" not in vip.address and draw(st.booleans())
    }
    networks = draw(st.sampled_from((tuple(NETWORKS), tuple(NETWORKS), ("net1", "public"))))
    return Topology(
        subnets={name: Subnet(name, network, cidr) for name, (network, cidr, _) in SUBNETS.items()},
        switches={switch(name): Switch(switch(name), NETWORKS[name]) for name in networks},
        routers=(Router("neutron-router", tuple(interfaces)),) if interfaces else (),
        member_ports=hosts,
        hm_ports={name: address(name, 2) for name in SUBNETS if name not in unmonitored},
        fips=fips,
        ipv6_hash=draw(st.booleans()) if ipv6_hash is None else ipv6_hash,
    )


@st.composite
def cases(draw: st.DrawFn, ipv6_hash: bool | None = None) -> Case:
    """A load balancer with its world and the rows that must exist for it.

    `ipv6_hash`: whether the schema can hash IPv6 addresses; None for either.
    """
    lb = draw(load_balancers())
    topo = draw(topologies(lb, ipv6_hash))
    expected = desired_state(lb, topo, Health()).monitors
    statuses: dict[MonitorKey, str] = {
        key: draw(st.sampled_from(("online", "offline", "error", ""))) for key in expected
    }
    health = Health(statuses, complete=True)
    return Case(lb, topo, health, desired_state(lb, topo, health).state)


@st.composite
def damaged_states(draw: st.DrawFn, want: NbState) -> NbState:
    """What the database may hold of a load balancer: its rows, after up to four kinds of damage."""
    random: Random = draw(st.randoms(use_true_random=False))
    kinds = draw(st.lists(st.sampled_from(sorted(DAMAGE)), max_size=4))
    return damaged(want, kinds, random)
