"""What the pure functions need to know of the world, as values.

`Topology` is Neutron's side of the Northbound database (and of Neutron itself) as far as one load
balancer is concerned; `Health` is the Southbound monitors. Made by `ovnlb.observed`, or read from a
bundle; consumed by `ovnlb.desired` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Subnet:
    """A Neutron subnet. `cidr` in Neutron's spelling."""

    id: str
    network_id: str
    cidr: str


@dataclass(frozen=True, slots=True)
class Switch:
    """A Logical_Switch. `provider`: has a physical network or a localnet port, so no LB on it."""

    name: str
    provider: bool


@dataclass(frozen=True, slots=True)
class RouterInterface:
    """A Logical_Router_Port. `gateway`: has chassis, an HA chassis group or `neutron:is_ext_gw`.

    `switch` is None when the switch on its other side is not in the database (yet). `subnet_ids` are
    Neutron's; `networks` the addresses with prefix length.
    """

    name: str
    switch: str | None
    subnet_ids: frozenset[str]
    networks: tuple[str, ...]
    gateway: bool


@dataclass(frozen=True, slots=True)
class Router:
    """A Logical_Router with all its interfaces."""

    name: str
    interfaces: tuple[RouterInterface, ...]


@dataclass(frozen=True, slots=True)
class NatEntry:
    """A `dnat_and_snat` row. `distributed`: external_mac or logical_port is set.

    northd keeps it on the member's own chassis only when both are set (ovn-nb(5), NAT).
    """

    uuid: str
    router: str
    external_ip: str
    logical_ip: str
    distributed: bool
    fip_id: str | None = None
    fip_port_id: str | None = None
    external_mac: str | None = None
    logical_port: str | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """All that one load balancer's rows depend on besides its graph.

    subnets: by id, those of its VIPs and members; one that Neutron no longer has is absent.
    switches: by name, every switch that the routers or the subnets reach.
    routers: every router with an interface on one of the subnets' networks.
    member_ports: (subnet id, canonical address) -> names of the LSPs that hold it, sorted.
    hm_ports: subnet id -> canonical address of its health-monitor port.
    fips: VIP port id -> floating IP address, ports without one left out.
    ipv6_hash: the schema's enum knows ipv6_src and ipv6_dst (OVN 25.03 and later).
    """

    subnets: Mapping[str, Subnet] = field(default_factory=dict)
    switches: Mapping[str, Switch] = field(default_factory=dict)
    routers: tuple[Router, ...] = ()
    member_ports: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    hm_ports: Mapping[str, str] = field(default_factory=dict)
    fips: Mapping[str, str] = field(default_factory=dict)
    ipv6_hash: bool = False


def switch_name(network_id: str) -> str:
    """The Logical_Switch that Neutron makes of a network."""
    return f"neutron-{network_id}"


@dataclass(frozen=True, slots=True)
class MonitorKey:
    """What identifies a Service_Monitor: exact values, `ip` canonical, `protocol` lower case."""

    logical_port: str
    ip: str
    port: int
    protocol: str


@dataclass(frozen=True, slots=True)
class Health:
    """Service_Monitor rows by key (`status` online, offline, error or empty).

    `complete` is False while the Southbound database cannot be read: nothing is downgraded then.
    `overdue` holds the keys that were expected and absent or empty for at least 3 intervals.
    """

    monitors: Mapping[MonitorKey, str] = field(default_factory=dict)
    complete: bool = False
    overdue: frozenset[MonitorKey] = frozenset()
