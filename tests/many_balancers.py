"""A cloud of many load balancers as values, the same for the same number, and damage to its rows.

Every load balancer has ids of its own, so that all rows can be in one database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from damage import DAMAGE, HARMLESS, Rows, as_observed
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, Router, RouterInterface, Subnet, Switch, Topology
from ovnlb.desired.model import HealthMonitor, Listener, LoadBalancer, Member, Pool, SessionPersistence, Vip
from ovnlb.desired.rows import DEVICE_OWNER, LoadBalancerRow, NbState
from ovnlb.observed.nb import observe
from strategies import BIRTH, NETWORKS, SUBNETS, address, identity, switch

ROUTER = "neutron-router"
SWITCHES = (*map(switch, NETWORKS), "neutron-other")
PROTOCOLS = ("TCP", "UDP", "SCTP")
# How many load balancers one seed damages, and how many of these get a second and a third kind.
DAMAGED, TWICE = 14, 4


def balancer(number: int) -> LoadBalancer:
    """The load balancer of that number."""
    random, base = Random(number), number * 100
    pools = tuple(_pool(random, base + index) for index in range(random.choice((1, 2, 3))))
    listeners = tuple(_listener(random, base + index, pools) for index in range(random.choice((1, 2, 3, 4))))
    places = random.sample(sorted(SUBNETS), random.choice((1, 1, 2)))
    vips = tuple(
        Vip(address(place, 20 + number), identity(6, base + index), place, SUBNETS[place][0])
        for index, place in enumerate(places)
    )
    return LoadBalancer(
        id=identity(1, number),
        project_id="project",
        name=f"lb{number}",
        provider="ovn",
        enabled=random.random() < 0.95,
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
        created_at=BIRTH,
        updated_at=BIRTH,
        vip=vips[0],
        additional_vips=vips[1:],
        listeners=listeners,
        pools=pools,
    )


def _pool(random: Random, number: int) -> Pool:
    monitor = None
    if random.random() < 0.7:
        pool_id, hm_id = identity(3, number), identity(5, number)
        monitor = HealthMonitor(hm_id, pool_id, "TCP", 5, 3, 2, 3, True, "ACTIVE", "ONLINE")
    return Pool(
        id=identity(3, number),
        protocol=random.choice(PROTOCOLS[:2] if monitor else PROTOCOLS),
        algorithm=random.choice(("SOURCE_IP_PORT", "SOURCE_IP")),
        enabled=random.random() < 0.9,
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
        created_at=BIRTH + timedelta(seconds=number),
        persistence=SessionPersistence("SOURCE_IP", 600) if random.random() < 0.3 else None,
        members=tuple(_member(random, number, index) for index in range(random.choice((1, 2, 3, 4)))),
        health_monitor=monitor,
    )


def _member(random: Random, pool: int, index: int) -> Member:
    place = random.choice(sorted(SUBNETS))
    return Member(
        id=identity(4, pool * 10 + index),
        pool_id=identity(3, pool),
        address=address(place, random.randrange(11, 17)),
        port=random.choice((80, 8080)),
        subnet_id=place,
        weight=1,
        backup=False,
        enabled=random.random() < 0.9,
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
    )


def _listener(random: Random, number: int, pools: tuple[Pool, ...]) -> Listener:
    pool = random.choice(pools)
    return Listener(
        id=identity(2, number),
        protocol=pool.protocol,
        port=80 + number % 100,
        default_pool_id=pool.id,
        enabled=random.random() < 0.9,
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
        created_at=BIRTH + timedelta(seconds=number),
    )


def topology(lb: LoadBalancer) -> Topology:
    """Everything is there; the VIP of every third load balancer has a floating IP."""
    interfaces = tuple(
        RouterInterface(f"lrp-{name}", switch(network), frozenset({name}), (cidr,), network == "public")
        for name, (network, cidr, _) in SUBNETS.items()
    )
    fip = f"198.51.100.{int(lb.id[-12:], 16) % 250 + 1}"
    v4 = lb.vip.address is not None and ":" not in lb.vip.address
    return Topology(
        subnets={name: Subnet(name, network, cidr) for name, (network, cidr, _) in SUBNETS.items()},
        switches={switch(name): Switch(switch(name), provider) for name, provider in NETWORKS.items()},
        routers=(Router(ROUTER, interfaces),),
        member_ports={
            (name, address(name, host)): (f"port-{name}-{host}",)
            for name in SUBNETS
            for host in range(11, 17)
        },
        hm_ports={name: address(name, 2) for name in SUBNETS},
        fips={lb.vip.port_id or "": fip} if v4 and int(lb.id[-12:], 16) % 3 == 0 else {},
    )


def wanted(count: int) -> dict[str, NbState]:
    """The rows that must exist, by load balancer id."""
    found = (balancer(number) for number in range(1, count + 1))
    return {lb.id: desired_state(lb, topology(lb), Health()).state for lb in found}


@dataclass(frozen=True)
class Damage:
    """What one seed does: the kinds by load balancer, its rows afterwards, and rows of somebody else."""

    kinds: Mapping[str, tuple[str, ...]]
    states: Mapping[str, NbState]
    foreign: tuple[LoadBalancerRow, ...]


def damage(want: Mapping[str, NbState], have: Mapping[str, NbState], seed: int) -> Damage:
    """The damage of this seed to rows that are right: one kind to most, several to some."""
    random = Random(seed)
    victims = random.sample(sorted(want), DAMAGED)
    kinds: dict[str, tuple[str, ...]] = {}
    states = {}
    for number, lb_id in enumerate(victims):
        amount = random.choice((2, 3)) if number < TWICE else 1
        kinds[lb_id] = tuple(random.choice(sorted(DAMAGE)) for _ in range(amount))
        found: Rows = list(have[lb_id].rows)
        for kind in kinds[lb_id]:
            found = DAMAGE[kind](random, found)
        states[lb_id] = NbState(tuple(found))
    return Damage(kinds, states, tuple(_foreign(random, victims)))


def _foreign(random: Random, victims: list[str]) -> Iterator[LoadBalancerRow]:
    """Port forwardings, some named like one of ours, Kubernetes' rows, and rows without our keys."""
    for kind in range(random.randrange(1, 5)):
        number = random.getrandbits(128)
        uuid = identity(9, number % (1 << 40))
        ids = {"other": "x"} if kind % 2 else {DEVICE_OWNER: "port_forwarding_plugin", "enabled": "True"}
        name = (f"pf-floatingip-{number}", f"k8s-{number}", victims[0], uuid)[kind]
        ids = {DEVICE_OWNER: "port_forwarding_plugin"} if kind == 2 else ids
        vips = {"10.0.1.100:80": "10.0.1.11:80"}
        yield LoadBalancerRow(name, "tcp", ids, vips=vips, switches=frozenset({SWITCHES[0]}), uuid=uuid)


def shows(kinds: tuple[str, ...], plan: Any, lost: NbState, right: NbState) -> bool:
    """Whether a plan tells this damage; of harmless kinds it must rightly tell nothing."""
    if all(kind in HARMLESS for kind in kinds):
        return lost != right and not plan.changes
    return bool(plan.changes)


class MemoryNorthbound:
    """All Load_Balancer rows of a database; what `observe` and plans ask of it."""

    def __init__(self, states: Mapping[str, NbState], foreign: tuple[LoadBalancerRow, ...] = ()) -> None:
        self._by_name: dict[str, list[LoadBalancerRow]] = {}
        for row in (*(row for state in states.values() for row in state.rows), *foreign):
            self._by_name.setdefault(row.name, []).append(row)
        self._owner = {row.uuid: row.name for rows in self._by_name.values() for row in rows}
        self._owner |= {
            check.uuid: row.name
            for rows in self._by_name.values()
            for row in rows
            for check in row.health_checks
        }

    def load_balancers(self, name: str) -> tuple[LoadBalancerRow, ...]:
        """All rows of that name."""
        return tuple(self._by_name.get(name, ()))

    def uuid_in_use(self, uuid: str, lb_id: str) -> bool:
        """Whether a row that is not this load balancer's has it."""
        return self._owner.get(uuid, lb_id) != lb_id

    def observe(self, lb_id: str) -> NbState:
        """The rows that are this load balancer's."""
        return observe(self, lb_id)  # type: ignore[arg-type]


def written(want: Mapping[str, NbState]) -> dict[str, NbState]:
    """The rows as they are once they were written."""
    return {lb_id: as_observed(state) for lb_id, state in want.items()}


def uuids_to_keep(states: Mapping[str, NbState], want: Mapping[str, NbState]) -> dict[tuple[str, str], str]:
    """(LB id, protocol) -> the UUID of its one row, where that protocol is wanted."""
    found: dict[tuple[str, str], list[str]] = {}
    for lb_id, state in states.items():
        protocols = {row.protocol or "" for row in want[lb_id].rows}
        for row in state.rows:
            if (row.protocol or "") in protocols:
                found.setdefault((lb_id, row.protocol or ""), []).append(row.uuid or "")
    return {key: uuids[0] for key, uuids in found.items() if len(uuids) == 1}
