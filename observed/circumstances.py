"""The facts that explain one load balancer's states: from the Northbound database, and from Neutron now."""

from __future__ import annotations

from dataclasses import replace

from ovnlb.desired.explain_network import member_addresses
from ovnlb.desired.facts import Topology
from ovnlb.desired.findings import Circumstances
from ovnlb.desired.model import LoadBalancer
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.neutron_details import port_security, subnet_spaces
from ovnlb.observed.neutron_errors import NeutronRefused, NeutronUnavailable
from ovnlb.observed.source import NorthboundSource

OFFLINE = "Neutron was not asked: these are the facts of a bundle"


def circumstances(
    nb: NorthboundSource, lb: LoadBalancer, topo: Topology, neutron: SdkNeutron | None
) -> Circumstances:
    """All facts of one load balancer; without Neutron (None, or none that answers) those of Northbound.

    Never raises for Neutron's sake: an explanation without it is better than none.
    """
    facts = _northbound(nb, lb, topo)
    if neutron is None:
        return replace(facts, neutron=OFFLINE)
    ports = {name for names in topo.member_ports.values() for name in names[:1]}
    networks = {subnet.network_id for subnet in topo.subnets.values()}
    try:
        return replace(
            facts,
            security=port_security(neutron, ports | set(facts.prober_ports.values())),
            spaces=subnet_spaces(neutron, topo.subnets.keys(), networks),
        )
    except (NeutronUnavailable, NeutronRefused) as error:
        return replace(facts, neutron=f"Neutron did not tell: {error}")


def _northbound(nb: NorthboundSource, lb: LoadBalancer, topo: Topology) -> Circumstances:
    holders = {name: nb.port(name) for names in topo.member_ports.values() for name in names}
    probers = {subnet: port for subnet in topo.hm_ports if (port := nb.hm_port(subnet)) is not None}
    fips: dict[str, tuple[str, ...]] = {}
    for address in member_addresses(lb):
        mine = {
            nat.external_ip
            for nat in nb.nat_entries_of(address)
            if (nat.fip_port_id or nat.logical_port) in holders
        }
        if mine:
            fips[address] = tuple(sorted(mine))
    return Circumstances(
        disabled_ports=frozenset(name for name, port in holders.items() if port and not port.enabled),
        member_fips=fips,
        prober_ports={subnet: port.name for subnet, port in probers.items()},
        ovn=nb.northd_version(),
    )
