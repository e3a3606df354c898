"""IP addresses as text: one canonical spelling, with and without brackets.

Addresses arrive as users and other tools typed them (`FD00:0::1`, `[fd00::1]`), while OVN matches
ip_port_mappings and health checks as plain strings. Everything that is compared or written goes
through here. Cached: one cloud has few addresses and asks for them in every pass.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache

_CACHE = 1 << 18


def uncached_canonical(address: str) -> str | None:
    """The canonical spelling of an IPv4 or IPv6 address, None when the text is not one.

    Brackets and surrounding blanks are dropped. IPv4 is strict dotted quad without leading zeros
    (OVN ignores `010.0.0.1` silently); IPv6 is RFC 5952. Zone ids and prefix lengths are refused.
    """
    text = address.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    if ":" not in text:
        return _canonical_v4(text)
    try:
        spelled = socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, text))
    except (OSError, UnicodeEncodeError, ValueError):
        return None
    return text if spelled == text else spelled  # one text in memory, not two alike


canonical = lru_cache(maxsize=_CACHE)(uncached_canonical)


def _canonical_v4(text: str) -> str | None:
    try:
        packed = socket.inet_pton(socket.AF_INET, text)
    except (OSError, UnicodeEncodeError, ValueError):
        return None
    return text if socket.inet_ntop(socket.AF_INET, packed) == text else None


def is_v6(address: str) -> bool:
    """Whether this address (bracketed or not) is of the IPv6 family. Not a validity check."""
    return ":" in address


@lru_cache(maxsize=_CACHE)
def bracketed(address: str) -> str:
    """The canonical address as OVN's keys spell it: IPv6 in brackets. Unreadable text unchanged."""
    spelled = canonical(address)
    if spelled is None:
        return address
    return f"[{spelled}]" if is_v6(spelled) else spelled


@lru_cache(maxsize=_CACHE)
def join_host_port(address: str, port: int | str) -> str:
    """`10.0.0.1:80` or `[fd00::1]:80`."""
    return f"{bracketed(address)}:{port}"


@lru_cache(maxsize=_CACHE)
def split_host_port(text: str) -> tuple[str, int] | None:
    """The canonical address and the port of `address:port`, None when the text is of no such form.

    Tolerant: an IPv6 address may lack its brackets (the last colon then separates the port), as in
    the member keys of external_ids.
    """
    host, separator, port = text.strip().rpartition(":")
    if not separator or not port.isascii() or not port.isdigit() or len(port) > 5:
        return None
    address = canonical(host)
    return None if address is None or int(port) > 65535 else (address, int(port))


@lru_cache(maxsize=_CACHE)
def _network(cidr: str) -> tuple[int, int, int] | None:
    """Family (4 or 6), first address and mask of a CIDR as integers, None when unreadable."""
    try:
        network = ipaddress.ip_network(cidr.strip(), strict=False)
    except ValueError:
        return None
    return network.version, int(network.network_address), int(network.netmask)


@lru_cache(maxsize=_CACHE)
def in_network(address: str, cidr: str) -> bool:
    """Whether a subnet's CIDR holds the address; False when either is unreadable."""
    spelled, network = canonical(address), _network(cidr)
    if spelled is None or network is None or (network[0] == 6) != is_v6(spelled):
        return False
    family = socket.AF_INET6 if network[0] == 6 else socket.AF_INET
    return int.from_bytes(socket.inet_pton(family, spelled)) & network[2] == network[1]


@lru_cache(maxsize=_CACHE)
def same_network(one: str, other: str) -> bool:
    """Whether two CIDRs (host bits allowed, as in Logical_Router_Port.networks) are one network."""
    first = _network(one)
    return first is not None and first == _network(other)
