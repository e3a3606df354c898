"""Why a member is as it is: everything in the network between the clients, the probes and the instance.

Source of the states: architecture.md section 4; of what OVN does without a port, mapping or monitor:
ovn-nb(5) Load_Balancer and tests on a data path. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ovnlb.desired import security
from ovnlb.desired.compute import Desired
from ovnlb.desired.facts import Health, MonitorKey, Topology, switch_name
from ovnlb.desired.findings import Circumstances, Finding, PortSecurity
from ovnlb.desired.intent import Backend, RowIntent, ServedPool, row_intents
from ovnlb.desired.model import LoadBalancer, Member, Operating
from ovnlb.desired.reach import connected, vip_subnets


@dataclass(frozen=True, slots=True)
class MemberExplained:
    """A member, the status that it has now, and what is found about it."""

    member: Member
    status: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class _View:
    lb: LoadBalancer
    topo: Topology
    desired: Desired
    health: Health
    facts: Circumstances


def explain_members(
    lb: LoadBalancer, topo: Topology, desired: Desired, health: Health, facts: Circumstances
) -> tuple[MemberExplained, ...]:
    """Every living member of a living load balancer, in the graph's order."""
    view = _View(lb, topo, desired, health, facts)
    found: list[MemberExplained] = []
    for row in row_intents(lb, topo.subnets):
        for served in row.pools:
            for member in served.unplaced:
                found.append(_explained(view, member, [_unplaced(member)]))
            for backend in served.backends:
                findings = list(_backend(view, row, served, backend))
                found.append(_explained(view, backend.member, findings))
    return tuple(found)


def _explained(view: _View, member: Member, findings: list[Finding]) -> MemberExplained:
    status = view.desired.members.get(member.id, member.operating_status)
    return MemberExplained(member, str(status), tuple(findings))


def _unplaced(member: Member) -> Finding:
    return Finding(
        "member_unplaced",
        f"it has no subnet and {member.address} is in no VIP subnet: OVN cannot be given it",
    )


def _backend(view: _View, row: RowIntent, served: ServedPool, backend: Backend) -> Iterator[Finding]:
    member = backend.member
    if not member.enabled:
        yield Finding("disabled", "it is switched off (admin_state_up false)", cause=False)
        return
    if view.desired.members.get(member.id) == Operating.DRAINING:
        yield Finding("draining", "its weight is 0: it gets no new connections", cause=False)
    yield from _route(view, backend)
    names = view.topo.member_ports.get((backend.subnet_id, backend.address), ())
    if not names:
        yield _no_port(view, backend)
        return
    name = names[0]
    yield from _port(view, name)
    known = view.facts.security.get(name)
    if known is not None and known.enforced:
        yield from _clients(row, backend, known)
    yield from _probes(
        view, row, served, backend, MonitorKey(name, backend.address, member.port, row.protocol or "")
    )


def _route(view: _View, backend: Backend) -> Iterator[Finding]:
    vips = vip_subnets(view.lb)
    if vips and not any(connected(view.topo, vip, backend.subnet_id) for vip in vips):
        yield Finding(
            "no_route",
            f"no router connects its subnet {backend.subnet_id} with the VIP's ({', '.join(vips)}): clients "
            "on one side get no answer from the other",
        )


def _no_port(view: _View, backend: Backend) -> Finding:
    subnet = view.topo.subnets.get(backend.subnet_id)
    if subnet is None:
        return Finding("subnet_missing", f"Neutron has no subnet {backend.subnet_id} (any more)")
    return Finding(
        "port_missing",
        f"no logical switch port on {switch_name(subnet.network_id)} has {backend.address}: the instance has "
        "gone, has another address, or Neutron has not written its port yet",
    )


def _port(view: _View, name: str) -> Iterator[Finding]:
    known = view.facts.security.get(name)
    if name in view.facts.disabled_ports:
        yield Finding(
            "port_disabled", f"its logical switch port {name} is switched off: OVN drops its traffic"
        )
    if known is not None and not known.enabled:
        yield Finding("port_admin_down", f"its Neutron port {name} has admin_state_up false")
    elif known is not None and not known.active:
        yield Finding("port_down", f"its Neutron port {name} is not ACTIVE: the instance is not running")


def _clients(row: RowIntent, backend: Backend, known: PortSecurity) -> Iterator[Finding]:
    protocol, port = row.protocol or "tcp", backend.member.port
    rules = tuple(security.matching(known, backend.address, protocol, port))
    groups = ", ".join(known.groups) or "(none)"
    if not rules:
        yield Finding(
            "security_blocks_clients",
            f"security groups {groups} of its port {known.port_id} let nobody reach {protocol} port {port}",
        )
    elif only := security.limits(rules):
        yield Finding(
            "security_limits_clients",
            f"security groups {groups} let only {', '.join(only)} reach {protocol} port {port}: clients keep "
            "their own address behind an OVN load balancer",
            cause=False,
        )


def _probes(
    view: _View, row: RowIntent, served: ServedPool, backend: Backend, key: MonitorKey
) -> Iterator[Finding]:
    """What keeps the health checks of OVN from reaching a member, and what they say."""
    if key not in view.desired.monitors:
        return
    source = view.topo.hm_ports.get(backend.subnet_id)
    if source is None:
        yield Finding(
            "hm_port_missing",
            f"subnet {backend.subnet_id} has no health-monitor port: the probes have no source address",
        )
    blocked = source is not None and _probe_blocked(view, row, backend, key, source)
    if blocked:
        yield Finding(
            "security_blocks_monitor",
            f"the security groups of its port {key.logical_port} do not let the probes in, which come from "
            f"{source} to {key.protocol} port {key.port}",
        )
    yield from _monitor(view, key)
    failing = view.health.monitors.get(key) in ("offline", "error")
    if failing and source is not None and not blocked and _is_healthy_port(view, key.logical_port):
        yield Finding(
            "service_silent",
            "nothing in the network explains it: does a service listen on "
            f"{key.protocol} port {key.port}, and does the instance's own firewall let {source} in?",
            cause=False,
        )
    if failing and served.pool.persistence is not None:
        yield Finding(
            "affinity_outlives_member",
            "clients bound to it by session persistence may be sent to it until their time is over",
            cause=False,
        )


def _probe_blocked(view: _View, row: RowIntent, backend: Backend, key: MonitorKey, source: str) -> bool:
    known = view.facts.security.get(key.logical_port)
    if known is None or not known.enforced:
        return False
    rules = tuple(security.matching(known, backend.address, row.protocol or "tcp", key.port))
    prober = view.facts.security.get(view.facts.prober_ports.get(backend.subnet_id, ""))
    return not security.admits(rules, source, prober.groups if prober is not None else ())


def _monitor(view: _View, key: MonitorKey) -> Iterator[Finding]:
    where = f"{key.ip} {key.protocol} port {key.port} over {key.logical_port}"
    if not view.health.complete:
        return
    status = view.health.monitors.get(key, "")
    if status == "offline":
        yield Finding("monitor_offline", f"OVN's probes of {where} get no answer")
    elif status == "error":
        yield Finding("monitor_error", f"OVN's probes of {where} meet an error")
    elif not status:
        yield Finding(
            "monitor_absent",
            f"OVN has no result of probes of {where} (yet)",
            cause=key in view.health.overdue,
        )


def _is_healthy_port(view: _View, name: str) -> bool:
    known = view.facts.security.get(name)
    return name not in view.facts.disabled_ports and (known is None or (known.enabled and known.active))


def failed(explained: MemberExplained) -> bool:
    """Whether the member is ERROR, for Octavia or now."""
    return Operating.ERROR in (explained.status, explained.member.operating_status)
