"""Which architecture a load balancer has, and what that needs of the network but lacks. Pure.

Private to private: clients and members are on tenant networks. Public to private: clients come over a
floating IP (or a VIP on a provider network). Public to public: the members have public addresses too.
What comes in over a floating IP needs a router that has a gateway, and a subnet whose gateway_ip sends
answers there; probes need one free address in each monitored subnet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.compute import Desired
from ovnlb.desired.facts import Topology
from ovnlb.desired.findings import Circumstances
from ovnlb.desired.intent import Backend, row_intents
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.reach import connected, has_gateway, on_provider_network, routers_of, vip_subnets


class Architecture(StrEnum):
    """From where the clients come, and where the members are."""

    PRIVATE_TO_PRIVATE = "private_to_private"
    PRIVATE_TO_PUBLIC = "private_to_public"
    PUBLIC_TO_PRIVATE = "public_to_private"
    PUBLIC_TO_PUBLIC = "public_to_public"


# Free addresses that a subnet should have before such a load balancer is made: VIP, health-monitor
# ports, and for the public ones the router's interface and gateway.
ADVISED_FREE = {
    Architecture.PRIVATE_TO_PRIVATE: 3,
    Architecture.PRIVATE_TO_PUBLIC: 5,
    Architecture.PUBLIC_TO_PRIVATE: 5,
    Architecture.PUBLIC_TO_PUBLIC: 5,
}


@dataclass(frozen=True, slots=True)
class Need:
    """One prerequisite. `met` is None where nothing is known of it."""

    what: str
    met: bool | None
    text: str

    def as_json(self) -> dict[str, Any]:
        """The need in a report."""
        return {"what": self.what, "met": self.met, "text": self.text}


@dataclass(frozen=True, slots=True)
class NetworkExplained:
    """The architecture, from what it was told, and its prerequisites."""

    architecture: Architecture
    text: str
    needs: tuple[Need, ...]


def explain_network(
    lb: LoadBalancer, topo: Topology, desired: Desired, facts: Circumstances
) -> NetworkExplained:
    """The architecture of one load balancer."""
    backends = [one for row in row_intents(lb, topo.subnets) for one in row.backends()]
    fips = [topo.fips[vip.port_id] for vip in lb.vips if vip.port_id and vip.port_id in topo.fips]
    provider = [vip.address or "" for vip in lb.vips if on_provider_network(topo, vip.network_id)]
    public = [one.member.address for one in backends if _is_public(one, topo, facts)]
    kind = _kind(bool(fips or provider), bool(public))
    needs = (
        *_floating_ip(fips, provider),
        *(_gateways(lb, topo, facts) if fips else ()),
        *_provider_routers(lb, topo, backends, bool(provider)),
        *_routes(lb, topo, backends),
        *_free_addresses(lb, topo, desired, facts, kind),
    )
    return NetworkExplained(kind, _text(fips, provider, public), needs)


def _kind(public_in: bool, public_out: bool) -> Architecture:
    if public_in:
        return Architecture.PUBLIC_TO_PUBLIC if public_out else Architecture.PUBLIC_TO_PRIVATE
    return Architecture.PRIVATE_TO_PUBLIC if public_out else Architecture.PRIVATE_TO_PRIVATE


def _is_public(backend: Backend, topo: Topology, facts: Circumstances) -> bool:
    subnet = topo.subnets.get(backend.subnet_id)
    own_fip = backend.address in facts.member_fips
    return own_fip or (subnet is not None and on_provider_network(topo, subnet.network_id))


def _text(fips: list[str], provider: list[str], public: list[str]) -> str:
    clients = "only clients of its networks reach it"
    if fips:
        clients = f"clients come over floating IP {', '.join(fips)}"
    elif provider:
        clients = f"clients come over VIP {', '.join(provider)} on a provider network"
    members = f"members {', '.join(public)} have public addresses" if public else "its members are private"
    return f"{clients}; {members}"


def _floating_ip(fips: list[str], provider: list[str]) -> Iterator[Need]:
    if fips:
        yield Need("floating_ip", True, f"it has floating IP {', '.join(fips)}")
    elif not provider:
        yield Need("floating_ip", None, "it has no floating IP, and needs none for private clients")


def _gateways(lb: LoadBalancer, topo: Topology, facts: Circumstances) -> Iterator[Need]:
    """What a floating IP needs of the subnet of its VIP."""
    for vip in lb.vips:
        if not vip.subnet_id or vip.port_id not in topo.fips:
            continue
        routers = list(routers_of(topo, vip.subnet_id))
        with_gateway = [router.name for router in routers if has_gateway(router)]
        if with_gateway:
            yield Need(
                "gateway", True, f"router {', '.join(with_gateway)} of subnet {vip.subnet_id} has a gateway"
            )
        elif routers:
            names = ", ".join(router.name for router in routers)
            yield Need("gateway", False, f"router {names} of subnet {vip.subnet_id} has no external gateway")
        else:
            yield Need("gateway", False, f"no router has an interface on subnet {vip.subnet_id}")
        space = facts.spaces.get(vip.subnet_id)
        if space is not None:
            yield Need(
                "gateway_ip",
                bool(space.gateway_ip),
                f"subnet {vip.subnet_id} has "
                + (
                    f"gateway_ip {space.gateway_ip}"
                    if space.gateway_ip
                    else "no gateway_ip: answers have no way out"
                ),
            )


def _provider_routers(
    lb: LoadBalancer, topo: Topology, backends: list[Backend], provider: bool
) -> Iterator[Need]:
    if not provider:
        return
    subnets = dict.fromkeys(one.subnet_id for one in backends)
    routers = [router.name for subnet in subnets for router in routers_of(topo, subnet)]
    names = ", ".join(dict.fromkeys(routers))
    yield Need(
        "member_router",
        bool(names),
        f"routers of its members serve the VIP: {names}"
        if names
        else "a VIP on a provider network is served by the routers of its members, and there are none",
    )


def _routes(lb: LoadBalancer, topo: Topology, backends: list[Backend]) -> Iterator[Need]:
    """A router between the subnets of clients and members, where these are not the same."""
    vips = vip_subnets(lb)
    for subnet in dict.fromkeys(one.subnet_id for one in backends):
        if not vips or subnet in vips:
            continue
        met = any(connected(topo, vip, subnet) for vip in vips)
        yield Need(
            "router",
            met,
            f"member subnet {subnet} and the VIP's {', '.join(vips)} are "
            + ("connected" if met else "connected by no router"),
        )


def _free_addresses(
    lb: LoadBalancer, topo: Topology, desired: Desired, facts: Circumstances, kind: Architecture
) -> Iterator[Need]:
    for subnet in dict.fromkeys((*vip_subnets(lb), *desired.hm_subnets)):
        space = facts.spaces.get(subnet)
        if space is None or space.free is None:
            continue
        needed = int(subnet in desired.hm_subnets and subnet not in topo.hm_ports)
        text = f"subnet {subnet} has {space.free} free addresses, {needed} needed now"
        if space.free < ADVISED_FREE[kind]:
            text += f" ({ADVISED_FREE[kind]} are advised for another of this architecture)"
        yield Need("free_addresses", space.free >= needed, text)


def member_addresses(lb: LoadBalancer) -> tuple[str, ...]:
    """The canonical addresses of all members, to look their floating IPs up by."""
    found = (canonical(member.address) for pool in lb.pools for member in pool.members)
    return tuple(dict.fromkeys(address for address in found if address))
