"""What the OVN provider refuses, as checks of octavia-lib's objects.

Conditions, classes and first sentences are those of ovn-octavia-provider 11.0.0: users and tempest
match on them. What is accepted, and the alternative where there is one, follows. Nothing here has an
effect; `facts` and `cidr` are the only things that are looked up, and only where a check needs them.
An attribute may be Unset (octavia-lib), None, or absent from a dictionary: all mean "not given".
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from octavia_lib.api.drivers import exceptions

from ovnlb.desired.addresses import canonical, is_v6

PROTOCOLS = ("TCP", "UDP", "SCTP")
ALGORITHMS = ("SOURCE_IP_PORT", "SOURCE_IP")
MONITORS = ("UDP-CONNECT", "TCP")
PERSISTENCE = "SOURCE_IP"


class IPVersionsMixingNotSupportedError(exceptions.UnsupportedOptionError):  # type: ignore[misc]
    """A member whose IP version none of its load balancer's VIPs has."""


@dataclass(frozen=True, slots=True)
class VipFacts:
    """The VIPs of one load balancer: (address, subnet id) pairs, the VIP first."""

    lb_id: str
    vips: tuple[tuple[str | None, str | None], ...]
    member_ids: frozenset[str] = frozenset()

    @property
    def families(self) -> frozenset[bool]:
        """Whether the addresses are IPv6: {True}, {False} or both."""
        return frozenset(is_v6(address) for address, _ in self.vips if address)

    @property
    def subnet_ids(self) -> tuple[str, ...]:
        """The VIPs' subnets, those that are known."""
        return tuple(subnet for _, subnet in self.vips if subnet)


@dataclass(frozen=True, slots=True)
class Lookups:
    """What a check of members may ask. Both return None when the question cannot be answered now.

    facts: the VIPs of the members' load balancer. cidr: a subnet's CIDR, "" when there is none such.
    """

    facts: Callable[[], VipFacts | None]
    cidr: Callable[[str], str | None]


def unsupported(text: str, kind: Any = exceptions.UnsupportedOptionError) -> Exception:
    """A refusal with the same text for the user and for the operator's log."""
    refusal: Exception = kind(user_fault_string=text, operator_fault_string=text)
    return refusal


def given(value: Any) -> Any:
    """The value, or None for Unset, None and what is empty."""
    return value or None


def listener(candidate: Any) -> None:
    """Raises UnsupportedOptionError for a listener that OVN cannot serve. Only what is given counts."""
    protocol(candidate.protocol)
    if given(candidate.allowed_cidrs):
        raise unsupported(
            "OVN provider does not support allowed_cidrs option. Leave it empty and limit who may connect "
            "with the security groups of the members' ports."
        )


def l7_in_single_call(candidate: Any) -> None:
    """Raises octavia-lib's NotImplementedError for a listener that brings L7 policies along."""
    if given(candidate.l7policies):
        text = "This provider does not support creating l7policies."
        raise unsupported(text, exceptions.NotImplementedError)


def protocol(name: Any) -> None:
    """Raises UnsupportedOptionError for a listener's or pool's protocol other than TCP, UDP and SCTP."""
    if given(name) and name not in PROTOCOLS:
        raise unsupported(
            f"OVN provider does not support {name} protocol. Supported protocols: {', '.join(PROTOCOLS)}. "
            "TCP passes HTTP and TLS through unchanged."
        )


def pool(candidate: Any) -> None:
    """Raises UnsupportedOptionError for a pool that OVN cannot serve; its members are another matter."""
    protocol(candidate.protocol)
    algorithm = given(candidate.lb_algorithm)
    if algorithm and algorithm not in ALGORITHMS:
        raise unsupported(
            f"OVN provider does not support {algorithm} algorithm. Supported algorithms: "
            f"{', '.join(ALGORITHMS)}. SOURCE_IP_PORT spreads the connections of one client, too."
        )
    persistence = given(candidate.session_persistence)
    kind = persistence and _attribute(persistence, "type")
    if kind and kind != PERSISTENCE:
        raise unsupported(
            f"OVN provider does not support {kind} session persistence. Only SOURCE_IP type is supported."
        )


def _attribute(holder: Any, name: str) -> Any:
    return given(holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None))


def health_monitor(candidate: Any) -> None:
    """Raises UnsupportedOptionError for a health monitor without a type, or of one that OVN lacks."""
    kind = given(candidate.type)
    if kind is None:
        raise unsupported(
            f"OVN provider health monitor type not specified. Supported types: {', '.join(MONITORS)}."
        )
    if kind not in MONITORS:
        raise unsupported(
            f"OVN provider does not support {kind} health monitor type. "
            f"Supported types: {', '.join(MONITORS)}"
        )


def member(candidate: Any, ask: Lookups, operation: str) -> None:
    """Raises UnsupportedOptionError for a member; `operation` is create, update or batch.

    An update checks only what it changes; the subnet of a member that exists is settled.
    """
    _monitor_options(candidate, operation)
    if given(candidate.address):
        _ip_version(candidate.address, ask)
        if operation != "update":
            _subnet(candidate, ask, operation)


def _monitor_options(candidate: Any, operation: str) -> None:
    if not given(candidate.monitor_address) and not given(candidate.monitor_port):
        return
    advice = "Leave monitor_address and monitor_port unset: members are checked where they serve."
    if operation == "batch":
        raise unsupported(f"OVN provider does not support monitor options. {advice}")
    raise unsupported(
        f"OVN Load Balancer does not support different member monitor address or port. {advice}"
    )


def _ip_version(address: str, ask: Lookups) -> None:
    facts = ask.facts()
    if facts is None or len(facts.families) != 1:
        return
    if is_v6(address) not in facts.families:
        lacking = "an IPv6" if is_v6(address) else "an IPv4"
        raise unsupported(
            "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer. "
            f"Member {address} needs a load balancer with {lacking} VIP or additional VIP.",
            IPVersionsMixingNotSupportedError,
        )


_SUBNET_NEEDED = {
    "create": (
        "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member creation "
        "with OVN Provider Driver if it is not the same as LB VIP subnet"
    ),
    "batch": (
        "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member batch "
        "update with OVN Provider Driver if it is not the same as LB VIP subnet"
    ),
}


def _subnet(candidate: Any, ask: Lookups, operation: str) -> None:
    if given(candidate.subnet_id):
        return
    facts = ask.facts()
    if facts is None or given(candidate.member_id) in facts.member_ids:
        return
    cidrs = [ask.cidr(subnet) for subnet in facts.subnet_ids]
    if any(cidr is None or _inside(candidate.address, cidr) for cidr in cidrs):
        return
    known = ", ".join(cidr for cidr in cidrs if cidr) or "unknown"
    raise unsupported(
        f"{_SUBNET_NEEDED[operation]}. Give subnet_id for member {candidate.address}: "
        f"the VIP subnets are {known}."
    )


def _inside(address: str, cidr: str) -> bool:
    spelled = canonical(address)
    if spelled is None or not cidr:
        return False
    return ipaddress.ip_address(spelled) in ipaddress.ip_network(cidr, strict=False)


def single_call(load_balancer: Any, ask: Lookups) -> None:
    """Raises the first refusal anywhere in a load balancer that is created with its children."""
    listeners: Iterable[Any] = given(load_balancer.listeners) or ()
    for child in listeners:
        listener(child)
        l7_in_single_call(child)
        if given(child.default_pool):
            pool(child.default_pool)
    for child in given(load_balancer.pools) or ():
        pool(child)
        if given(child.healthmonitor):
            health_monitor(child.healthmonitor)
        for backend in given(child.members) or ():
            member(backend, ask, "create")
