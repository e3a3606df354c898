"""What is known of the Neutron ports and NAT rows that belong to one load balancer, as values.

Made by `ovnlb.observed.port_facts` from the Northbound database, so that a plan needs no call to
Neutron. Names and owners are those of octavia-contract.md section 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ovnlb.desired.facts import NatEntry

VIP_PORT_PREFIX = "ovn-lb-vip-"
VIP_PORT_OWNER = "ovn-lb:vip"
HM_PORT_PREFIX = "ovn-lb-hm-"
HM_PORT_OWNER = "ovn-lb-hm:distributed"
# Neutron takes a second port of this owner on a network for a metadata port, and may delete it.
LEGACY_HM_PORT_OWNER = "network:distributed"
HM_PORT_OWNERS = frozenset({HM_PORT_OWNER, LEGACY_HM_PORT_OWNER})


def hm_port_name(subnet_id: str) -> str:
    """The Neutron name of a subnet's health-monitor port (also its device_id)."""
    return f"{HM_PORT_PREFIX}{subnet_id}"


def vip_device_id(lb_id: str) -> str:
    """The device id of the VIP ports of a load balancer."""
    return f"lb-{lb_id}"


def provider_made(name: str, lb_id: str) -> bool:
    """Whether a VIP port of that name was made by a provider for this load balancer.

    A user's own port is never changed nor deleted; neither is one that names another load balancer.
    """
    return name.startswith(VIP_PORT_PREFIX) and name.endswith(f"-{lb_id}")


@dataclass(frozen=True, slots=True)
class PortFact:
    """A Neutron port as its LSP shows it. `name`, `device_*` are None where the LSP does not tell.

    published: OVN answers ARP for its addresses with its MAC although it is bound nowhere.
    """

    id: str
    name: str | None
    device_owner: str | None
    device_id: str | None
    type: str
    switch: str | None
    addresses: tuple[str, ...] = ()
    published: bool = False


@dataclass(frozen=True, slots=True)
class HmPort:
    """The health-monitor port of a subnet, its canonical address there, and who else is concerned.

    users: another load balancer whose rows send probes from that address, if there is one; not looked
    for where this one uses the port itself. holders: other LSPs on its switch that hold the address.
    """

    subnet_id: str
    port: PortFact
    address: str | None
    users: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemberFip:
    """The NAT row of a member's own floating IP. `others`: other LBs with a FIP that have the member."""

    member_id: str
    nat: NatEntry
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PortFacts:
    """All of one load balancer. `vip_nats`: by VIP port id, the NAT rows of that VIP's floating IP.

    vip_ports: by id, those with an LSP. hm_ports: by member subnet. monitor_mac: the MAC that a new
    health-monitor port should have, None when none is known or wanted. refused: (kind, target) of
    effects that Neutron has refused for good in this process.
    """

    vip_ports: Mapping[str, PortFact] = field(default_factory=dict)
    hm_ports: Mapping[str, HmPort] = field(default_factory=dict)
    member_fips: tuple[MemberFip, ...] = ()
    vip_nats: Mapping[str, tuple[NatEntry, ...]] = field(default_factory=dict)
    monitor_mac: str | None = None
    refused: frozenset[tuple[str, str]] = frozenset()
