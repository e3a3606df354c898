"""The part of a graph that must be served, split by protocol, with every member's address resolved.

Objects in PENDING_DELETE are absent here, and so is what hangs below them. One `RowIntent` becomes
one Load_Balancer row. Source: architecture.md section 3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import Subnet
from ovnlb.desired.model import HealthMonitor, Listener, LoadBalancer, Member, Pool, Provisioning
from ovnlb.desired.subnets import member_subnet

GONE = frozenset({Provisioning.PENDING_DELETE, Provisioning.DELETED})


@dataclass(frozen=True, slots=True)
class Backend:
    """A member that can be served: canonical address, effective subnet."""

    member: Member
    address: str
    subnet_id: str


@dataclass(frozen=True, slots=True)
class ServedPool:
    """A living pool: its living health monitor, its backends, and members that nobody can place."""

    pool: Pool
    monitor: HealthMonitor | None
    backends: tuple[Backend, ...]
    unplaced: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class RowIntent:
    """What one row serves. `protocol` is lower case, None for the row of an LB with no children."""

    protocol: str | None
    listeners: tuple[Listener, ...] = ()
    pools: tuple[ServedPool, ...] = field(default_factory=tuple)

    def backends(self) -> Iterator[Backend]:
        """The backends of all pools."""
        for served in self.pools:
            yield from served.backends

    def subnets(self) -> Collection[str]:
        """The subnets of all backends, each once, in order."""
        return dict.fromkeys(backend.subnet_id for backend in self.backends())


def is_gone(lb: LoadBalancer) -> bool:
    """Whether nothing of this load balancer must exist."""
    return lb.provisioning_status in GONE


def row_intents(lb: LoadBalancer, subnets: Mapping[str, Subnet]) -> tuple[RowIntent, ...]:
    """One intent a protocol, sorted by protocol; a single one without protocol if there is none."""
    pools = [pool for pool in lb.pools if pool.provisioning_status not in GONE]
    living = {pool.id for pool in pools}
    listeners = [
        listener
        if listener.default_pool_id is None or listener.default_pool_id in living
        else replace(listener, default_pool_id=None)
        for listener in lb.listeners
        if listener.provisioning_status not in GONE
    ]
    served = [_served(pool, lb, subnets) for pool in pools]
    protocols = {listener.protocol.lower() for listener in listeners}
    protocols |= {pool.protocol.lower() for pool in pools}
    return tuple(
        RowIntent(
            protocol,
            tuple(listener for listener in listeners if listener.protocol.lower() == protocol),
            tuple(item for item in served if item.pool.protocol.lower() == protocol),
        )
        for protocol in sorted(protocols)
    ) or (RowIntent(None),)


def _served(pool: Pool, lb: LoadBalancer, subnets: Mapping[str, Subnet]) -> ServedPool:
    backends: list[Backend] = []
    unplaced: list[Member] = []
    for member in pool.members:
        if member.provisioning_status in GONE:
            continue
        address = canonical(member.address)
        subnet = member_subnet(member, lb.vips, subnets) if address else None
        if address is None or subnet is None:
            unplaced.append(member)
        else:
            backends.append(Backend(member, address, subnet))
    monitor = pool.health_monitor
    if monitor is not None and monitor.provisioning_status in GONE:
        monitor = None
    return ServedPool(pool, monitor, tuple(backends), tuple(unplaced))
