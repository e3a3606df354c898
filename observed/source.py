"""What can be asked of the Northbound database and of Neutron, whoever answers.

`observe` and `topology` are written against these protocols. They are answered by the live replica
(`ovnlb.observed.idl`), by openstacksdk (`ovnlb.observed.neutron`), or by a bundle
(`ovnlb.observed.bundle`), so that a plan made offline is the plan made live. Every answer is an
indexed lookup: none of these calls may scan a table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from ovnlb.desired.facts import NatEntry, Router, Subnet, Switch
from ovnlb.desired.rows import LoadBalancerRow


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How to reach one OVSDB database. `remotes` is a comma-separated list; times in seconds."""

    remotes: str
    private_key: str = ""
    certificate: str = ""
    ca_cert: str = ""
    timeout: float = 180.0
    probe_interval: float = 60.0


@dataclass(frozen=True, slots=True)
class SwitchPort:
    """A Logical_Switch_Port. `addresses`: canonical IP addresses of it, MACs left out.

    `switch` is the name of its Logical_Switch, None when it has none. `enabled`: not switched off.
    """

    name: str
    type: str
    switch: str | None
    addresses: tuple[str, ...]
    mac: str | None
    external_ids: Mapping[str, str]
    options: Mapping[str, str]
    enabled: bool = True


@dataclass(frozen=True, slots=True, order=True)
class MappingUse:
    """An ip_port_mappings entry: the name of its Load_Balancer, and the LSP it monitors."""

    load_balancer: str
    logical_port: str


@dataclass(frozen=True, slots=True, order=True)
class MemberUse:
    """A member of a Load_Balancer (by name); `subnet_id` is empty in entries of an old form."""

    load_balancer: str
    subnet_id: str


class NorthboundSource(Protocol):
    """Lookups in the Northbound database."""

    def load_balancers(self, name: str) -> tuple[LoadBalancerRow, ...]:
        """All Load_Balancer rows of that name, with health checks and attachments, by uuid."""

    def load_balancer_names(self) -> Iterator[str]:
        """The names of all Load_Balancer rows, each once."""

    def uuid_in_use(self, uuid: str, lb_id: str) -> bool:
        """Whether a Load_Balancer or health check that is not this load balancer's has this UUID.

        No row can be inserted as it then. A row of the load balancer itself does not count: if it came
        after the rows were observed, the plan must fail as stale and not make a second one.
        """

    def switch(self, name: str) -> Switch | None:
        """The Logical_Switch of that name."""

    def routers_on(self, switch: str) -> tuple[str, ...]:
        """Names of the routers with any interface (gateway ports too) on that switch, sorted."""

    def router(self, name: str) -> Router | None:
        """The Logical_Router of that name with all its interfaces."""

    def port(self, name: str) -> SwitchPort | None:
        """The LSP of that name (Neutron: the port's id)."""

    def ports_with_address(self, switch: str, address: str) -> tuple[str, ...]:
        """Names of the LSPs on that switch holding that canonical address, sorted."""

    def hm_port(self, subnet_id: str) -> SwitchPort | None:
        """The health-monitor LSP of a subnet (Neutron port name `ovn-lb-hm-<subnet>`)."""

    def nat_entries(self, external_ip: str) -> tuple[NatEntry, ...]:
        """The dnat_and_snat rows of a floating IP."""

    def nat_entries_of(self, logical_ip: str) -> tuple[NatEntry, ...]:
        """The dnat_and_snat rows that lead to a fixed address."""

    def mapping_sources(self, address: str) -> tuple[MappingUse, ...]:
        """The ip_port_mappings entries whose source is exactly this canonical address, sorted."""

    def fip_member_uses(self, address: str) -> tuple[MemberUse, ...]:
        """The Load_Balancers with a floating IP that have a member of this canonical address, sorted."""

    def ipv6_hash(self) -> bool:
        """Whether the schema's selection_fields enum has ipv6_src and ipv6_dst."""

    def monitor_mac(self) -> str | None:
        """NB_Global options:svc_monitor_mac."""

    def northd_version(self) -> str | None:
        """NB_Global options:northd_internal_version, where ovn-northd says which release it is."""

    def answers_for_down_ports(self) -> bool:
        """Whether OVN answers ARP for ports that are not up: NB_Global options:ignore_lsp_down.

        OVN's default is true, Neutron writes false (its option ignore_lsp_down); without an NB_Global
        row nothing is known, and the answer is False.
        """


@dataclass(frozen=True, slots=True)
class NeutronPort:
    """A Neutron port. `addresses`: (subnet id, canonical address) pairs."""

    id: str
    name: str
    network_id: str
    device_owner: str
    device_id: str
    mac_address: str
    addresses: tuple[tuple[str, str], ...]
    project_id: str | None = None
    created_at: str | None = None
    host_bound: bool = False


class NeutronSource(Protocol):
    """Lookups in Neutron; answers may be cached for as long as one pass lasts, subnets longer."""

    def subnets(self, ids: Collection[str]) -> Mapping[str, Subnet]:
        """The subnets among these ids that exist."""

    def floating_ips(self, port_ids: Collection[str]) -> Mapping[str, str]:
        """Port id -> floating IP address, for those of these ports that have one."""
