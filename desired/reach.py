"""Which networks reach each other over which routers, as the topology of a load balancer has it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ovnlb.desired.facts import Router, RouterInterface, Topology, switch_name
from ovnlb.desired.model import LoadBalancer


def on_subnet(interface: RouterInterface, subnet_id: str, topo: Topology) -> bool:
    """Whether the interface, a gateway port too, is on this subnet."""
    if interface.subnet_ids:
        return subnet_id in interface.subnet_ids
    subnet = topo.subnets.get(subnet_id)
    return subnet is not None and interface.switch == switch_name(subnet.network_id)


def routers_of(topo: Topology, subnet_id: str) -> Iterator[Router]:
    """The routers with an interface on this subnet."""
    for router in topo.routers:
        if any(on_subnet(interface, subnet_id, topo) for interface in router.interfaces):
            yield router


def has_gateway(router: Router) -> bool:
    """Whether the router has a gateway port, which leads to an external network."""
    return any(interface.gateway for interface in router.interfaces)


def connected(topo: Topology, one: str, other: str) -> bool:
    """Whether two subnets share a network or a router."""
    if one == other:
        return True
    first, second = topo.subnets.get(one), topo.subnets.get(other)
    if first is not None and second is not None and first.network_id == second.network_id:
        return True
    return any(
        any(on_subnet(interface, other, topo) for interface in router.interfaces)
        for router in routers_of(topo, one)
    )


def vip_subnets(lb: LoadBalancer) -> tuple[str, ...]:
    """The subnets of the VIP and the additional VIPs, each once."""
    return tuple(dict.fromkeys(vip.subnet_id for vip in lb.vips if vip.subnet_id))


def on_provider_network(topo: Topology, network_id: str | None) -> bool:
    """Whether a network has a physical one below it."""
    switch = topo.switches.get(switch_name(network_id)) if network_id else None
    return switch is not None and switch.provider
