"""Which traffic the security groups of a port let in. Pure.

Source: Neutron API, security-group-rules: a port without a matching rule drops; a protocol may be a
name or a number, and -1 or "any" do not restrict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ovnlb.desired.addresses import in_network, is_v6
from ovnlb.desired.findings import PortSecurity, SecurityRule

_NUMBERS = {"6": "tcp", "17": "udp", "132": "sctp"}
_ANY = frozenset({"any", "-1", "0", ""})
_EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})


def rule_protocol(text: str | None) -> str | None:
    """A rule's protocol as a lower-case name, None when it does not restrict."""
    word = (text or "").strip().lower()
    return None if word in _ANY else _NUMBERS.get(word, word)


def matching(security: PortSecurity, address: str, protocol: str, port: int) -> Iterator[SecurityRule]:
    """The rules that let such traffic to this address of the port in, from wherever."""
    family = "IPv6" if is_v6(address) else "IPv4"
    for rule in security.rules:
        ports = rule.ports or (0, 65535)
        if rule.ethertype == family and rule.protocol in (None, protocol) and ports[0] <= port <= ports[1]:
            yield rule


def admits(rules: Collection[SecurityRule], source: str, source_groups: Collection[str] = ()) -> bool:
    """Whether one of the rules lets this source in; `source_groups` are those of its port."""
    return any(_admits(rule, source, source_groups) for rule in rules)


def _admits(rule: SecurityRule, source: str, source_groups: Collection[str]) -> bool:
    if rule.remote_group is not None:
        return rule.remote_group in source_groups
    if rule.remote_addresses is not None:
        return any(in_network(source, one) for one in rule.remote_addresses)
    return rule.prefix is None or in_network(source, rule.prefix)


def limits(rules: Collection[SecurityRule]) -> tuple[str, ...]:
    """From where the rules let traffic in; empty when from everywhere."""
    found: list[str] = []
    for rule in rules:
        if rule.remote_group is not None:
            found.append(f"security group {rule.remote_group}")
        elif rule.remote_addresses is not None:
            found += rule.remote_addresses
        elif rule.prefix is None or rule.prefix in _EVERYWHERE:
            return ()
        else:
            found.append(rule.prefix)
    return tuple(dict.fromkeys(found))
