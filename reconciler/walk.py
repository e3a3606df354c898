"""The walk of one load balancer up to its plan, and of many: the same for every process.

key -> graph -> observed rows and topology -> desired rows -> plan. Everything below is values; what
is written, and when, is `ovnlb.reconciler.apply`'s business. Source: architecture.md section 2.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from ovnlb.desired.compute import Desired, desired_state
from ovnlb.desired.facts import Health, Topology
from ovnlb.desired.graph import Graph, collector_paused
from ovnlb.desired.intent import is_gone
from ovnlb.desired.model import LoadBalancer, Provisioning
from ovnlb.desired.notes import PlanWarning
from ovnlb.desired.rows import NbState
from ovnlb.diff.compare import plan as compare
from ovnlb.diff.effects import NeutronWork, neutron_work, sources
from ovnlb.diff.guard import guarded
from ovnlb.diff.plan import Plan
from ovnlb.diff.policy import Policy, refusals
from ovnlb.observed.nb import observe
from ovnlb.observed.port_facts import port_facts
from ovnlb.observed.source import NeutronSource, NorthboundSource
from ovnlb.observed.topology import fip_disagreements, subnet_ids, topology
from ovnlb.reconciler.port_memory import PortMemory

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class World:
    """What a walk reads, and the options that shape its result.

    health: the Southbound monitors as they are now. ports: what this process knows of ports beyond
    the replica; None for a process that only plans. every_port: topologies tell the ports of all
    members, for who explains or records them; rows depend on those of monitored members alone.
    """

    nb: NorthboundSource
    neutron: NeutronSource
    health: Callable[[], Health]
    policy: Policy = Policy.SYNC
    drain: bool = True
    ports: PortMemory | None = None
    every_port: bool = False


@dataclass(frozen=True, slots=True)
class Walked:
    """One load balancer, walked up to its plan.

    vip_port_missing: it is in ERROR, and its VIP port has gone, so that it stays there.
    """

    lb: LoadBalancer
    topology: Topology
    desired: Desired
    plan: Plan
    vip_port_missing: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A load balancer that could not be planned, and why."""

    lb_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pass:
    """Many load balancers, each by itself: one that fails does not stop the others."""

    walked: tuple[Walked, ...] = ()
    failed: tuple[Failure, ...] = field(default_factory=tuple)


def walk(lb: LoadBalancer, world: World, fips: Mapping[str, str] | None = None) -> Walked:
    """Plan one load balancer.

    `fips` is Neutron's listing of floating IPs by VIP port where one was made: the rows then follow
    it, and a disagreement with the Northbound database is a warning. Raises what the sources raise.
    """
    listed = None if is_gone(lb) else fips
    topo = topology(world.nb, world.neutron, lb, listed, every_port=world.every_port)
    if world.ports is not None:
        topo = replace(topo, hm_ports=world.ports.hm_ports(topo.hm_ports, topo.subnets))
    want = desired_state(lb, topo, world.health(), drain=world.drain)
    have = observe(world.nb, lb.id)
    lost = _has_lost_its_vip_port(lb, have, world.nb)
    if lost:
        want = _nothing_but_waiting(want, lb)
    work = _neutron_work(lb, topo, want, have, world)
    found = compare(
        want.state,
        have,
        world.policy,
        lb_id=lb.id,
        pending=_unsettled(lb),
        in_use=partial(_in_use, world.nb, lb.id),
        provider_switches={name for name, switch in topo.switches.items() if switch.provider},
        effects=work.effects,
        warnings=(*want.warnings, *work.warnings, *_fip_warnings(world, lb, fips)),
        waiting=want.waiting,
    )
    if found.want is not want.state:
        want = _with_state(want, found.want)
    return Walked(lb, topo, want, guarded(_with_work(found, work, world.policy)), lost)


def _in_use(nb: NorthboundSource, lb_id: str, uuid: str) -> bool:
    return nb.uuid_in_use(uuid, lb_id)


def _has_lost_its_vip_port(lb: LoadBalancer, have: NbState, nb: NorthboundSource) -> bool:
    """Whether this LB in ERROR has neither rows nor a VIP port: its rows would serve nobody's address."""
    return (
        lb.provisioning_status == Provisioning.ERROR
        and not have.rows
        and (lb.vip.port_id is None or nb.port(lb.vip.port_id) is None)
    )


def _nothing_but_waiting(want: Desired, lb: LoadBalancer) -> Desired:
    missing = f"VIP port {lb.vip.port_id} (vip_port_missing)"
    return replace(want, state=NbState(), hm_subnets=(), waiting=(missing, *want.waiting))


def _with_state(want: Desired, state: NbState) -> Desired:
    """The same, its rows with the maps that they share with the observed ones."""
    return Desired(state, want.members, want.monitors, want.hm_subnets, want.warnings, want.waiting)


def _with_work(found: Plan, work: NeutronWork, policy: Policy) -> Plan:
    """The plan with the changes of NAT rows, which go into the same transaction."""
    if not work.changes and (not work.refused or not found.changes):
        return found
    changes = (*found.changes, *work.changes)
    refused = refusals(policy, changes, found.effects)
    return replace(found, changes=changes, refused=(*refused, *(work.refused if changes else ())))


def _neutron_work(
    lb: LoadBalancer, topo: Topology, want: Desired, have: NbState, world: World
) -> NeutronWork:
    if world.ports is None:
        facts = port_facts(world.nb, lb, topo, have, want.hm_subnets)
    else:
        world.ports.ask(lb.id, want.hm_subnets, sources(want.state))
        facts = port_facts(world.nb, lb, topo, have, want.hm_subnets, world.ports.released)
        mac = facts.monitor_mac if world.ports.monitor_mac else None
        facts = replace(facts, monitor_mac=mac, refused=world.ports.refused())
    return neutron_work(lb, topo, want, have, facts)


def walk_all(
    graph: Graph,
    world: World,
    progress: Callable[[Iterable[LoadBalancer]], Iterable[LoadBalancer]] = iter,
) -> Pass:
    """Plan all of a graph, with one listing of subnets and one of floating IPs for all of them."""
    alive = [lb for lb in graph.load_balancers if lb.provisioning_status != Provisioning.DELETED]
    world.neutron.subnets({subnet for lb in alive for subnet in subnet_ids(lb)})
    ports = {vip.port_id for lb in alive if not is_gone(lb) for vip in lb.vips if vip.port_id}
    fips = world.neutron.floating_ips(ports)
    walked: list[Walked] = []
    failed = [Failure(broken.id, broken.reason) for broken in graph.broken]
    with collector_paused():
        for lb in progress(alive):
            try:
                walked.append(walk(lb, world, fips))
            except Exception as error:  # isolation is the contract
                LOG.debug("load balancer %s cannot be planned", lb.id, exc_info=True)
                failed.append(Failure(lb.id, f"{type(error).__name__}: {error}"))
    return Pass(tuple(walked), tuple(failed))


def _unsettled(lb: LoadBalancer) -> dict[str, str]:
    statuses = {lb.id: lb.provisioning_status}
    statuses.update((item.id, item.provisioning_status) for item in lb.listeners)
    for pool in lb.pools:
        statuses[pool.id] = pool.provisioning_status
        statuses.update((member.id, member.provisioning_status) for member in pool.members)
        if pool.health_monitor is not None:
            statuses[pool.health_monitor.id] = pool.health_monitor.provisioning_status
    return {key: status for key, status in statuses.items() if status != Provisioning.ACTIVE}


def _fip_warnings(world: World, lb: LoadBalancer, fips: Mapping[str, str] | None) -> Iterator[PlanWarning]:
    if fips is None or is_gone(lb):
        return
    for item in fip_disagreements(world.nb, lb, fips):
        yield PlanWarning(
            "neutron_sync_needed",
            f"Neutron sync needed: VIP port {item.port_id} has floating IP {item.neutron or '(none)'} in "
            f"Neutron and {item.northbound or '(none)'} in the Northbound database",
        )
