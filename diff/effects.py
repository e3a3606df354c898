"""What Neutron must do for a load balancer, and the NAT rows of its members' floating IPs.

Pure: the same facts give the same effects in the same order, whoever carries them out. Order within
a phase is the order of work: floating IPs are handed back before the ports go that tell of them.
Source: architecture.md sections 2 and 6; octavia-contract.md sections 7 and 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ovnlb.desired.compute import Desired
from ovnlb.desired.facts import NatEntry, Topology
from ovnlb.desired.intent import GONE, is_gone
from ovnlb.desired.model import LoadBalancer, Member, Pool, Provisioning
from ovnlb.desired.notes import PlanWarning
from ovnlb.desired.port_facts import (
    HM_PORT_OWNER,
    HM_PORT_OWNERS,
    LEGACY_HM_PORT_OWNER,
    VIP_PORT_OWNER,
    PortFact,
    PortFacts,
    hm_port_name,
    provider_made,
    vip_device_id,
)
from ovnlb.desired.rows import ADDITIONAL_VIP_FIPS, VIP_FIP, NbState
from ovnlb.desired.subnets import member_subnet
from ovnlb.diff.plan import Change, Effect, Op, Phase, Reason

CREATE_HM_PORT = "create_hm_port"
REPAIR_HM_PORT = "repair_hm_port"
DELETE_HM_PORT = "delete_hm_port"
MARK_VIP_PORT = "mark_vip_port"
DELETE_VIP_PORT = "delete_vip_port"
REFRESH_FIP = "refresh_fip"

_FIP_KEYS = (VIP_FIP, ADDITIONAL_VIP_FIPS)


@dataclass(frozen=True, slots=True)
class NeutronWork:
    """What one load balancer needs besides its rows.

    changes: of NAT rows, part of the plan's transaction. refused: why the rows must not be written.
    """

    effects: tuple[Effect, ...] = ()
    changes: tuple[Change, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    refused: tuple[str, ...] = ()


def neutron_work(
    lb: LoadBalancer, topo: Topology, want: Desired, have: NbState, facts: PortFacts
) -> NeutronWork:
    """The work for one load balancer whose desired rows are `want.state` and whose rows are `have`."""
    effects = (
        *_hm_ports_created(lb, topo, want, facts),
        *_hm_ports_repaired(facts),
        *_vip_ports_marked(lb, facts),
        *_fips_refreshed(lb, topo, have, facts),
        *_hm_ports_deleted(lb, topo, want, have, facts),
        *_vip_ports_deleted(lb, facts),
    )
    return NeutronWork(
        effects=tuple(one for one in effects if (one.kind, one.target) not in facts.refused),
        changes=tuple(_centralised(lb, topo, have, facts)),
        warnings=tuple(_warnings(lb, topo, facts)),
        refused=tuple(_sources_in_use(want, facts)),
    )


def sources(state: NbState) -> set[str]:
    """The source addresses of the rows' mappings; IPv6 without brackets."""
    values = (value for row in state.rows for value in row.ip_port_mappings.values())
    return {value.partition(":")[2].strip("[]") for value in values}


# Health-monitor ports


def _hm_ports_created(lb: LoadBalancer, topo: Topology, want: Desired, facts: PortFacts) -> Iterator[Effect]:
    for subnet_id in sorted(want.hm_subnets):
        if subnet_id in topo.hm_ports or subnet_id not in topo.subnets:
            continue
        monitors = [
            pool.health_monitor.id
            for pool in lb.pools
            if pool.health_monitor and subnet_id in _pool_subnets(lb, pool, topo)
        ]
        details = {
            "name": hm_port_name(subnet_id),
            "network_id": topo.subnets[subnet_id].network_id,
            "project_id": lb.project_id,
            "mac_address": facts.monitor_mac,
            "health_monitors": sorted(monitors),
        }
        yield Effect(CREATE_HM_PORT, subnet_id, Phase.BEFORE, Reason.MISSING, details)


def _pool_subnets(lb: LoadBalancer, pool: Pool, topo: Topology) -> set[str | None]:
    return {member_subnet(member, lb.vips, topo.subnets) for member in pool.members}


def _hm_ports_repaired(facts: PortFacts) -> Iterator[Effect]:
    for subnet_id, found in sorted(facts.hm_ports.items()):
        port = found.port
        legacy = port.device_owner == LEGACY_HM_PORT_OWNER
        if legacy or (port.device_owner == HM_PORT_OWNER and port.device_id == ""):
            details = {
                "subnet_id": subnet_id,
                "device_owner": HM_PORT_OWNER,
                "device_id": hm_port_name(subnet_id),
                "was": {"device_owner": port.device_owner, "device_id": port.device_id},
            }
            yield Effect(REPAIR_HM_PORT, port.id, Phase.AFTER, Reason.LEGACY_FORM, details)


def _hm_ports_deleted(
    lb: LoadBalancer, topo: Topology, want: Desired, have: NbState, facts: PortFacts
) -> Iterator[Effect]:
    """The ports whose last mapping this plan takes away, or which going objects leave without one."""
    released = sources(have) - sources(want.state)
    left = _left_subnets(lb, topo)
    for subnet_id, found in sorted(facts.hm_ports.items()):
        if subnet_id in want.hm_subnets or found.address is None or found.users:
            continue
        if found.port.device_owner not in HM_PORT_OWNERS:
            continue
        if found.address in released or subnet_id in left:
            details = {
                "port_id": found.port.id,
                "name": hm_port_name(subnet_id),
                "address": found.address,
                "switch": found.port.switch,
            }
            why = Reason.INTENT_DELETED if is_gone(lb) else Reason.MONITOR_CHANGED
            yield Effect(DELETE_HM_PORT, subnet_id, Phase.AFTER, why, details)


def _left_subnets(lb: LoadBalancer, topo: Topology) -> set[str | None]:
    """The subnets of monitored members that are going, with their pool, monitor or LB, or alone."""
    left: set[str | None] = set()
    for pool in lb.pools:
        monitor = pool.health_monitor
        if monitor is None:
            continue
        all_go = is_gone(lb) or pool.provisioning_status in GONE or monitor.provisioning_status in GONE
        for member in pool.members:
            if all_go or member.provisioning_status in GONE:
                left.add(member_subnet(member, lb.vips, topo.subnets))
    return left


def _sources_in_use(want: Desired, facts: PortFacts) -> Iterator[str]:
    for subnet_id in sorted(want.hm_subnets):
        found = facts.hm_ports.get(subnet_id)
        if found is not None and found.holders:
            yield (
                f"probes of subnet {subnet_id} would come from {found.address}, which "
                f"{', '.join(found.holders)} holds besides health-monitor port {found.port.id}"
            )


# VIP ports


def _vip_ports_marked(lb: LoadBalancer, facts: PortFacts) -> Iterator[Effect]:
    if is_gone(lb):
        return
    wanted = {"device_owner": VIP_PORT_OWNER, "device_id": vip_device_id(lb.id)}
    for port in facts.vip_ports.values():
        if not provider_made(port.name or "", lb.id) or _misused(lb, port):
            continue
        if port.device_id is None or port.device_owner is None:
            continue
        if (port.device_owner, port.device_id) != (wanted["device_owner"], wanted["device_id"]):
            yield Effect(MARK_VIP_PORT, port.id, Phase.AFTER, Reason.LEGACY_FORM, wanted)


def _misused(lb: LoadBalancer, port: PortFact) -> bool:
    """Whether somebody else has put the port to use."""
    return port.device_id not in (None, "", vip_device_id(lb.id)) or port.device_owner not in (
        None,
        "",
        VIP_PORT_OWNER,
        # Octavia's own mark on ports that its users bring or that it makes itself.
        "Octavia",
    )


def _vip_ports_deleted(lb: LoadBalancer, facts: PortFacts) -> Iterator[Effect]:
    """Without an LSP, or with a nameless one, the executor asks Neutron whose the port is."""
    if not is_gone(lb):
        return
    for vip in lb.vips:
        port = facts.vip_ports.get(vip.port_id or "")
        if not vip.port_id or (port is not None and (_users_own(lb, port) or _misused(lb, port))):
            continue
        details = {"lb_id": lb.id, "address": vip.address}
        yield Effect(DELETE_VIP_PORT, vip.port_id, Phase.AFTER, Reason.INTENT_DELETED, details)


def _users_own(lb: LoadBalancer, port: PortFact) -> bool:
    return bool(port.name) and not provider_made(port.name or "", lb.id)


# Floating IPs of members


def _fips_refreshed(lb: LoadBalancer, topo: Topology, have: NbState, facts: PortFacts) -> Iterator[Effect]:
    """Floating IPs that no load balancer with a floating IP keeps central any longer."""
    living = {one.id for one in _living(lb)} if topo.fips and not is_gone(lb) else set()
    kept = {found.nat.uuid for found in facts.member_fips if found.member_id in living}
    ended = not topo.fips and not is_gone(lb)  # the LB has lost its floating IP; `have` still has it
    why = Reason.VIP_FIP_CHANGED if ended else Reason.MEMBER_REMOVED
    done: set[str] = set()
    for found in facts.member_fips:
        fip_id = found.nat.fip_id
        if fip_id is None or fip_id in done or found.nat.uuid in kept or found.others:
            continue
        if found.nat.external_mac is None:
            done.add(fip_id)
            details = {"address": found.nat.external_ip, "member_id": found.member_id}
            reason = Reason.INTENT_DELETED if is_gone(lb) else why
            yield Effect(REFRESH_FIP, fip_id, Phase.AFTER, reason, details)


def _living(lb: LoadBalancer) -> Iterator[Member]:
    for pool in lb.pools:
        if pool.provisioning_status not in GONE:
            yield from (member for member in pool.members if member.provisioning_status not in GONE)


def _centralised(lb: LoadBalancer, topo: Topology, have: NbState, facts: PortFacts) -> Iterator[Change]:
    """A distributed floating IP of a member would answer past the load balancer's own one."""
    if is_gone(lb) or not topo.fips:
        return
    members = {member.id: member for member in _living(lb)}
    had_fip = any(row.external_ids.get(key) for row in have.rows for key in _FIP_KEYS)
    done: set[str] = set()
    for found in facts.member_fips:
        member, nat = members.get(found.member_id), found.nat
        if member is None or nat.external_mac is None or nat.uuid in done:
            continue
        done.add(nat.uuid)
        why = _reason(member, had_fip)
        yield from _cleared(nat, why)


def _reason(member: Member, had_fip: bool) -> Reason:
    if member.provisioning_status == Provisioning.PENDING_CREATE:
        return Reason.MEMBER_ADDED
    return Reason.DRIFTED if had_fip else Reason.VIP_FIP_CHANGED


def _cleared(nat: NatEntry, why: Reason) -> Iterator[Change]:
    for column, before in (("external_mac", nat.external_mac), ("logical_port", nat.logical_port)):
        if before is not None:
            yield Change(Op.SET, "NAT", nat.uuid, column, None, before, None, why)


# What the operator should know


def _warnings(lb: LoadBalancer, topo: Topology, facts: PortFacts) -> Iterator[PlanWarning]:
    for port in facts.vip_ports.values():
        if _misused(lb, port):
            yield PlanWarning(
                "vip_port_misused",
                f"VIP port {port.id} belongs to device {port.device_id or '(none)'} "
                f"(owner {port.device_owner or '(none)'}): it is not touched",
            )
    if is_gone(lb):
        return
    for port in facts.vip_ports.values():
        if port.published and port.device_owner == VIP_PORT_OWNER:
            yield PlanWarning(
                "vip_port_published",
                f"the LSP of VIP port {port.id} has addresses while it is bound nowhere: clients on its "
                "network may get its MAC and no answer (NB_Global options:ignore_lsp_down=false helps)",
            )
    for port_id, nats in facts.vip_nats.items():
        yield from _nat_warnings(port_id, topo.fips[port_id], nats)
    for kind, target in sorted(facts.refused):
        if kind in (REPAIR_HM_PORT, MARK_VIP_PORT) and target in _ports(facts):
            yield PlanWarning(f"{kind}_refused", f"Neutron refuses to let us mark port {target}: it stays")


def _ports(facts: PortFacts) -> set[str]:
    return {*facts.vip_ports, *(found.port.id for found in facts.hm_ports.values())}


def _nat_warnings(port_id: str, fip: str, nats: tuple[NatEntry, ...]) -> Iterator[PlanWarning]:
    if not nats:
        yield PlanWarning(
            "fip_without_nat",
            f"Neutron sync needed: floating IP {fip} of VIP port {port_id} has no NAT row",
        )
    for nat in nats:
        if nat.external_mac is not None:
            yield PlanWarning(
                "vip_nat_distributed",
                f"NAT row {nat.uuid} of floating IP {fip} still has external_mac {nat.external_mac} "
                f"while VIP port {port_id} is bound nowhere: the floating IP does not answer",
            )
