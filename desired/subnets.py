"""Which subnet a member is on. Source: architecture.md section 3, octavia-contract.md section 1.

Octavia never stores a subnet for a member whose user gave none, so it is found again in every pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ovnlb.desired.addresses import in_network
from ovnlb.desired.facts import Subnet
from ovnlb.desired.model import Member, Vip


def member_subnet(member: Member, vips: Iterable[Vip], subnets: Mapping[str, Subnet]) -> str | None:
    """The id of the member's subnet: its own, else the first VIP's subnet that holds its address.

    `vips` in the LB's order (`LoadBalancer.vips`), `subnets` those that Neutron has. None when no VIP
    subnet holds the address. A member's own subnet is returned even when Neutron no longer has it.
    """
    if member.subnet_id:
        return member.subnet_id
    for vip in vips:
        subnet = subnets.get(vip.subnet_id or "")
        if subnet is not None and in_network(member.address, subnet.cidr):
            return subnet.id
    return None
