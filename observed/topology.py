"""What one load balancer's rows depend on besides its graph: `Topology`, by indexed lookups only.

Called for every load balancer in every pass, so nothing here may scan a table or parse an address
twice. What is attached where is decided in `ovnlb.desired.attach`, not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ovnlb.desired.addresses import canonical, in_network
from ovnlb.desired.facts import Router, Subnet, Switch, Topology, switch_name
from ovnlb.desired.model import LoadBalancer, Pool
from ovnlb.desired.subnets import member_subnet
from ovnlb.observed.neutron_rows import port_fip
from ovnlb.observed.source import NeutronSource, NorthboundSource


def subnet_ids(lb: LoadBalancer) -> set[str]:
    """The subnets that the graph names. Asking Neutron for those of all LBs first saves calls."""
    named = {vip.subnet_id for vip in lb.vips}
    named.update(member.subnet_id for pool in lb.pools for member in pool.members)
    return {subnet for subnet in named if subnet}


def topology(
    nb: NorthboundSource,
    neutron: NeutronSource,
    lb: LoadBalancer,
    listed_fips: Mapping[str, str] | None = None,
    *,
    every_port: bool = True,
) -> Topology:
    """The topology of one load balancer.

    `listed_fips` is Neutron's own listing (VIP port id -> floating IP) where one was made: the rows
    then follow it; else the VIP ports' LSPs say. Without `every_port` only the ports of members that
    may be monitored are looked up: rows depend on no others. Raises what `neutron` raises.
    """
    subnets = neutron.subnets(subnet_ids(lb))
    on_networks = _networks(lb, subnets)
    routers = _routers(nb, on_networks)
    looked_up = [pool for pool in lb.pools if every_port or pool.health_monitor is not None]
    ports, hm_ports = _member_ports(nb, lb, looked_up, subnets)
    return Topology(
        subnets=subnets,
        switches=_switches(nb, on_networks, routers),
        routers=routers,
        member_ports=ports,
        hm_ports=hm_ports,
        fips=_vip_fips(lb, listed_fips) if listed_fips is not None else northbound_fips(nb, lb),
        ipv6_hash=nb.ipv6_hash(),
    )


def _networks(lb: LoadBalancer, subnets: Mapping[str, Subnet]) -> set[str]:
    """Switch names of the VIPs' and members' networks; a VIP's own network_id serves without subnet."""
    networks = {subnet.network_id for subnet in subnets.values()}
    networks.update(vip.network_id for vip in lb.vips if vip.network_id)
    return {switch_name(network) for network in networks}


def _routers(nb: NorthboundSource, switches: Iterable[str]) -> tuple[Router, ...]:
    """Every router with an interface on one of the switches, by name."""
    names = {name for switch in switches for name in nb.routers_on(switch)}
    return tuple(router for name in sorted(names) if (router := nb.router(name)) is not None)


def _switches(nb: NorthboundSource, names: set[str], routers: tuple[Router, ...]) -> dict[str, Switch]:
    """The switches of that name, and those that the routers reach, as far as they exist."""
    reached = {one.switch for router in routers for one in router.interfaces if one.switch}
    found = ((name, nb.switch(name)) for name in sorted(names | reached))
    return {name: switch for name, switch in found if switch is not None}


def _member_ports(
    nb: NorthboundSource, lb: LoadBalancer, pools: Iterable[Pool], subnets: Mapping[str, Subnet]
) -> tuple[dict[tuple[str, str], tuple[str, ...]], dict[str, str]]:
    """Who holds the address of each member of these pools, and the probing address of their subnets."""
    ports: dict[tuple[str, str], tuple[str, ...]] = {}
    used: dict[str, Subnet] = {}
    vips = lb.vips
    for pool in pools:
        for member in pool.members:
            subnet = subnets.get(member_subnet(member, vips, subnets) or "")
            address = canonical(member.address)
            if subnet is None or address is None:
                continue
            used[subnet.id] = subnet
            holders = nb.ports_with_address(switch_name(subnet.network_id), address)
            if holders:
                ports[subnet.id, address] = holders
    return ports, {subnet: address for subnet in used if (address := _hm_address(nb, used[subnet]))}


def _hm_address(nb: NorthboundSource, subnet: Subnet) -> str | None:
    """The address of the subnet's health-monitor port that lies in the subnet, None without one."""
    port = nb.hm_port(subnet.id)
    addresses = port.addresses if port is not None else ()
    return next((address for address in addresses if in_network(address, subnet.cidr)), None)


def northbound_fips(nb: NorthboundSource, lb: LoadBalancer) -> dict[str, str]:
    """VIP port id -> floating IP, as Neutron noted it on the ports' LSPs (matched by name = id)."""
    found: dict[str, str] = {}
    for vip in lb.vips:
        port = nb.port(vip.port_id) if vip.port_id else None
        fip = port_fip(port.external_ids) if port is not None else None
        if fip is not None and vip.port_id:
            found[vip.port_id] = fip
    return found


def _vip_fips(lb: LoadBalancer, listed: Mapping[str, str]) -> dict[str, str]:
    return {vip.port_id: listed[vip.port_id] for vip in lb.vips if vip.port_id and vip.port_id in listed}


@dataclass(frozen=True, slots=True)
class FipDisagreement:
    """A VIP port whose floating IP Neutron and its LSP tell differently: "Neutron sync needed"."""

    port_id: str
    northbound: str | None
    neutron: str | None


def fip_disagreements(
    nb: NorthboundSource, lb: LoadBalancer, listed: Mapping[str, str]
) -> tuple[FipDisagreement, ...]:
    """Where the LSPs of the VIP ports and Neutron's listing differ, by the LB's order of VIPs."""
    noted = northbound_fips(nb, lb)
    ports = [vip.port_id for vip in lb.vips if vip.port_id]
    return tuple(
        FipDisagreement(port, noted.get(port), listed.get(port))
        for port in ports
        if noted.get(port) != listed.get(port)
    )
