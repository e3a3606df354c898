"""What an explanation is made of, and the facts that only an explanation needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer to "why". `code` is stable; `cause`: it explains the fault, else it may matter."""

    code: str
    text: str
    cause: bool = True

    def as_json(self) -> dict[str, object]:
        """The finding in a report."""
        return {"code": self.code, "text": self.text, "cause": self.cause}


@dataclass(frozen=True, slots=True)
class SecurityRule:
    """An ingress rule of a Neutron security group; None where it does not restrict.

    `ethertype` is IPv4 or IPv6, `protocol` a lower-case name. `remote_addresses`: CIDRs of an address
    group. `ports` are inclusive.
    """

    group_id: str
    ethertype: str
    protocol: str | None = None
    ports: tuple[int, int] | None = None
    prefix: str | None = None
    remote_group: str | None = None
    remote_addresses: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PortSecurity:
    """A port as Neutron has it now. `active`: bound and up. `enforced`: its groups filter its traffic."""

    port_id: str
    active: bool
    enabled: bool
    enforced: bool
    groups: tuple[str, ...] = ()
    rules: tuple[SecurityRule, ...] = ()


@dataclass(frozen=True, slots=True)
class SubnetSpace:
    """`free`: addresses left, None where Neutron did not tell (its policy keeps it for admins)."""

    gateway_ip: str | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts beyond `Topology` that explain states.

    disabled_ports: LSPs that are switched off. member_fips: canonical member address -> its own
    floating IPs, sorted. prober_ports: subnet id -> name of its health-monitor LSP. security, spaces:
    from Neutron, by port and subnet id. `neutron`: why Neutron was not asked or did not answer, empty
    when it did. `ovn`: the version that ovn-northd notes.
    """

    disabled_ports: frozenset[str] = frozenset()
    member_fips: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prober_ports: Mapping[str, str] = field(default_factory=dict)
    security: Mapping[str, PortSecurity] = field(default_factory=dict)
    spaces: Mapping[str, SubnetSpace] = field(default_factory=dict)
    neutron: str = ""
    ovn: str | None = None
