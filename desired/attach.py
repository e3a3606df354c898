"""Which switches and routers a row is attached to, and the `ls_refs` and `lr_ref` that say so.

Computed from today's topology each time, never from what the row says. Source: architecture.md
section 3, "Attachment".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ovnlb.desired.addresses import canonical, is_v6, same_network
from ovnlb.desired.facts import Router, RouterInterface, Subnet, Topology, switch_name
from ovnlb.desired.intent import RowIntent
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.notes import PlanWarning


@dataclass(frozen=True, slots=True)
class Attachment:
    """Names. `counts` are the switches that `ls_refs` counts; `waiting` what Neutron has to make."""

    switches: frozenset[str]
    routers: frozenset[str]
    counts: dict[str, int]
    waiting: tuple[str, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()


def attachment(lb: LoadBalancer, row: RowIntent, topo: Topology) -> Attachment:
    """Where the row of this intent belongs."""
    vip_switch = switch_name(lb.vip.network_id) if lb.vip.network_id else None
    provider_vip = vip_switch is not None and _is_provider(topo, vip_switch)
    counted = Counter(_counted(lb, row, topo, vip_switch))
    missing = sorted(name for name in counted if name not in topo.switches)
    counts = {
        name: count
        for name, count in counted.items()
        if name in topo.switches and not _is_provider(topo, name)
    }
    subnets = set(row.subnets())
    if not provider_vip:
        subnets |= {vip.subnet_id for vip in lb.vips if vip.subnet_id}
    routers = [router for router in topo.routers if _serves(router, subnets, topo)]
    return Attachment(
        switches=frozenset(counts) | frozenset(_reached(routers, lb, topo)),
        routers=frozenset(router.name for router in routers),
        counts=counts,
        waiting=tuple(f"Logical_Switch {name}" for name in missing),
        warnings=tuple(_nobody_serves(lb, provider_vip, routers)),
    )


def _counted(lb: LoadBalancer, row: RowIntent, topo: Topology, vip_switch: str | None) -> Iterator[str]:
    if vip_switch is not None:
        yield from (vip_switch for _ in lb.vips)
    for backend in row.backends():
        if (subnet := topo.subnets.get(backend.subnet_id)) is not None:
            yield switch_name(subnet.network_id)


def _is_provider(topo: Topology, name: str) -> bool:
    switch = topo.switches.get(name)
    return switch is not None and switch.provider


def _serves(router: Router, subnet_ids: set[str], topo: Topology) -> bool:
    return any(
        _on_subnet(interface, subnet_id, topo.subnets.get(subnet_id))
        for interface in router.interfaces
        if not interface.gateway
        for subnet_id in subnet_ids
    )


def _on_subnet(interface: RouterInterface, subnet_id: str, subnet: Subnet | None) -> bool:
    if interface.subnet_ids or subnet is None:
        return subnet_id in interface.subnet_ids
    return interface.switch == switch_name(subnet.network_id) and any(
        same_network(network, subnet.cidr) for network in interface.networks
    )


def _reached(routers: list[Router], lb: LoadBalancer, topo: Topology) -> Iterator[str]:
    families = {is_v6(canonical(vip.address) or "") for vip in lb.vips if vip.address}
    for router in routers:
        for interface in router.interfaces:
            if interface.gateway or interface.switch is None or interface.switch not in topo.switches:
                continue
            if _is_provider(topo, interface.switch):
                continue
            if any(is_v6(network) in families for network in interface.networks):
                yield interface.switch


def _nobody_serves(lb: LoadBalancer, provider_vip: bool, routers: list[Router]) -> Iterator[PlanWarning]:
    if provider_vip and not routers:
        yield PlanWarning(
            "vip_unserved",
            f"VIP {lb.vip.address} is on a provider network and no router of a member subnet serves it",
        )
