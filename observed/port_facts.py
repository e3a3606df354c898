"""The Neutron ports and NAT rows of one load balancer, by indexed lookups in the Northbound database.

Called for every load balancer in every pass: what a load balancer without a monitor or a floating IP
does not need is not looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from ovnlb.desired.addresses import canonical, in_network
from ovnlb.desired.facts import NatEntry, Topology, switch_name
from ovnlb.desired.model import LoadBalancer, Member
from ovnlb.desired.port_facts import HmPort, MemberFip, PortFact, PortFacts
from ovnlb.desired.rows import ADDITIONAL_VIP_FIPS, VIP_FIP, NbState
from ovnlb.desired.subnets import member_subnet
from ovnlb.observed import neutron_rows
from ovnlb.observed.source import NorthboundSource, SwitchPort

Released = Callable[[str, str], bool]


def never_released(_lb_id: str, _address: str) -> bool:
    """For processes that keep no record of what load balancers last asked for."""
    return False


def port_facts(
    nb: NorthboundSource,
    lb: LoadBalancer,
    topo: Topology,
    have: NbState,
    wanted: Collection[str],
    released: Released = never_released,
) -> PortFacts:
    """All that the effects of one load balancer depend on besides its graph and its rows.

    `wanted`: the subnets whose health-monitor port its desired rows use. `released(lb id, address)`:
    that load balancer is known not to want this source any more, whatever its row still says.
    """
    has_fip = bool(topo.fips) or any(
        row.external_ids.get(key) for row in have.rows for key in (VIP_FIP, ADDITIONAL_VIP_FIPS)
    )
    ids = [vip.port_id for vip in lb.vips if vip.port_id]
    answers = nb.answers_for_down_ports()
    return PortFacts(
        vip_ports={
            port_id: port_fact(port, answers) for port_id in ids if (port := nb.port(port_id)) is not None
        },
        hm_ports={found.subnet_id: found for found in _hm_ports(nb, lb, topo, have, wanted, released)},
        member_fips=tuple(_member_fips(nb, lb, topo)) if has_fip else (),
        vip_nats={port_id: _nats(nb, topo.fips[port_id], port_id) for port_id in ids if port_id in topo.fips},
        monitor_mac=nb.monitor_mac() if wanted else None,
    )


def port_fact(port: SwitchPort, answers: bool = False) -> PortFact:
    """An LSP as the Neutron port that it stands for. `answers`: OVN does so for ports that are down."""
    ids = port.external_ids
    return PortFact(
        id=port.name,
        name=ids.get(neutron_rows.PORT_NAME),
        device_owner=ids.get(neutron_rows.DEVICE_OWNER),
        device_id=ids.get(neutron_rows.DEVICE_ID),
        type=port.type,
        switch=port.switch,
        addresses=port.addresses,
        published=answers
        and port.mac is not None
        and port.enabled
        and not port.options.get(neutron_rows.REQUESTED_CHASSIS),
    )


def address_on(port: SwitchPort | PortFact, cidr: str) -> str | None:
    """The first address of the port inside a subnet's CIDR."""
    return next((address for address in port.addresses if in_network(address, cidr)), None)


def mapping_users(nb: NorthboundSource, address: str, switch: str | None) -> Iterator[str]:
    """The load balancers whose rows send probes from this address on this switch.

    Tenants' addresses overlap: an entry whose LSP is known to be on another switch is another address.
    """
    for use in nb.mapping_sources(address):
        monitored = nb.port(use.logical_port)
        if monitored is None or monitored.switch is None or switch in (None, monitored.switch):
            yield use.load_balancer


def _members(lb: LoadBalancer, topo: Topology) -> Iterator[tuple[Member, str]]:
    """Every member, those that are going too, with its subnet."""
    for pool in lb.pools:
        for member in pool.members:
            subnet = member_subnet(member, lb.vips, topo.subnets)
            if subnet is not None and subnet in topo.subnets:
                yield member, subnet


def _hm_ports(
    nb: NorthboundSource,
    lb: LoadBalancer,
    topo: Topology,
    have: NbState,
    wanted: Collection[str],
    released: Released,
) -> Iterator[HmPort]:
    monitored = wanted or any(row.ip_port_mappings for row in have.rows)
    if not (monitored or any(pool.health_monitor for pool in lb.pools)):
        return
    for subnet_id in sorted({subnet for _, subnet in _members(lb, topo)}):
        port = nb.hm_port(subnet_id)
        if port is None:
            continue
        address = address_on(port, topo.subnets[subnet_id].cidr)
        users: Iterator[str] = iter(())
        if address is not None and subnet_id not in wanted:
            # Hundreds may use one port; whether any other does is all that a plan asks.
            users = (
                one
                for one in mapping_users(nb, address, port.switch)
                if one != lb.id and not released(one, address)
            )
        holders = () if address is None else nb.ports_with_address(port.switch or "", address)
        yield HmPort(
            subnet_id,
            port_fact(port),
            address,
            tuple(islice(users, 1)),
            tuple(name for name in holders if name != port.name),
        )


def _member_fips(nb: NorthboundSource, lb: LoadBalancer, topo: Topology) -> Iterator[MemberFip]:
    for member, subnet in _members(lb, topo):
        address = canonical(member.address)
        nats = () if address is None else nb.nat_entries_of(address)
        if address is None or not nats:
            continue
        ports = nb.ports_with_address(switch_name(topo.subnets[subnet].network_id), address)
        others = {
            use.load_balancer
            for use in nb.fip_member_uses(address)
            if use.subnet_id in ("", subnet) and use.load_balancer != lb.id
        }
        for nat in nats:
            if _port_of(nat) in ports:
                yield MemberFip(member.id, nat, tuple(sorted(others)))


def _nats(nb: NorthboundSource, fip: str, port_id: str) -> tuple[NatEntry, ...]:
    return tuple(nat for nat in nb.nat_entries(fip) if _port_of(nat) in (None, port_id))


def _port_of(nat: NatEntry) -> str | None:
    """The Neutron port that a floating IP leads to; two tenants may have the same fixed address."""
    return nat.fip_port_id or nat.logical_port
