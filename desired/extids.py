"""The codec of `Load_Balancer.external_ids`: keys and values of listeners, pools and members.

Writing is strict, reading tolerates everything that deployments hold: members without a subnet part,
bracketed IPv6, blanks and empty entries in lists, text that is no JSON. Reading never raises; what
cannot be read is left out. Formats: architecture.md section 3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ovnlb.desired.rows import DISABLED_SUFFIX, LISTENER_PREFIX, MEMBER_STATUS, POOL_PREFIX

_CACHE = 1 << 18
_MEMBER_PREFIX = "member_"


@dataclass(frozen=True, slots=True)
class MemberEntry:
    """One entry of a pool's value. `address` as written but for brackets; `subnet_id` may be None."""

    id: str
    address: str
    port: int
    subnet_id: str | None


def member_entry(member_id: str, address: str, port: int | str, subnet_id: str | None) -> str:
    """`member_<id>_<ip>:<port>_<subnet>`, IPv6 without brackets."""
    return f"{_MEMBER_PREFIX}{member_id}_{address}:{port}_{subnet_id}"


@lru_cache(maxsize=_CACHE)
def parse_member(text: str) -> MemberEntry | None:
    """The entry that this text spells, None when it has no id, address and port."""
    parts = text.strip().split("_")
    if len(parts) not in (3, 4) or parts[0] != "member" or not parts[1]:
        return None
    address, colon, port = parts[2].rpartition(":")
    if not colon or not address or not port.isascii() or not port.isdigit() or len(port) > 5:
        return None
    if address.startswith("[") and address.endswith("]"):
        address = address[1:-1]
    subnet = parts[3] if len(parts) == 4 and parts[3] not in ("", "None") else None
    return MemberEntry(parts[1], address, int(port), subnet)


def split_list(value: str | None) -> list[str]:
    """The non-empty entries of a comma list; an empty or absent value has none."""
    return [part for part in value.split(",") if part.strip()] if value else []


def parse_members(value: str | None) -> Iterator[MemberEntry]:
    """The readable entries of a pool's value, in their order."""
    for text in split_list(value):
        if (entry := parse_member(text)) is not None:
            yield entry


def listener_key(listener_id: str, enabled: bool) -> str:
    """`listener_<id>`, with `:D` when disabled."""
    return f"{LISTENER_PREFIX}{listener_id}{'' if enabled else DISABLED_SUFFIX}"


def pool_key(pool_id: str, enabled: bool) -> str:
    """`pool_<id>`, with `:D` when disabled."""
    return f"{POOL_PREFIX}{pool_id}{'' if enabled else DISABLED_SUFFIX}"


def listener_value(port: int | str, pool_id: str | None) -> str:
    """`<port>:pool_<id>`, or `<port>:` without a default pool. Always the enabled form of the key."""
    return f"{port}:{pool_key(pool_id, True) if pool_id else ''}"


def parse_listener_value(value: str) -> tuple[str, str] | None:
    """(port, pool key) of a listener's value, None unless it has exactly two parts."""
    port, colon, pool = value.partition(":")
    return (port, pool) if colon and ":" not in pool else None


def is_disabled(key: str) -> bool:
    """Whether a listener or pool key carries exactly one `:D`."""
    return key.count(":") == 1 and key.endswith(DISABLED_SUFFIX)


def object_id(key: str) -> str:
    """The bare id of a listener, pool or member key."""
    return key.split("_", 1)[-1].removesuffix(DISABLED_SUFFIX)


def read_json(value: str | None, default: Any) -> Any:
    """The JSON value of this text if it is of the same type as `default`, else `default`."""
    if not value:
        return default
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return default
    return parsed if isinstance(parsed, type(default)) else default


def read_member_status(external_ids: Mapping[str, str]) -> dict[str, str]:
    """`neutron:member_status` as {member id: operating status}; unreadable: none."""
    statuses: dict[str, str] = read_json(external_ids.get(MEMBER_STATUS), {})
    return statuses


def dump_counts(counts: Mapping[str, int]) -> str:
    """`ls_refs`: JSON object with its keys sorted."""
    return json.dumps(dict(sorted(counts.items())))


def dump_statuses(statuses: Mapping[str, str]) -> str:
    """`neutron:member_status`: JSON object in the order given."""
    return json.dumps(dict(statuses))


def dump_ids(ids: Iterable[str]) -> str:
    """`octavia:healthmonitors`: JSON list of ids, each once, sorted."""
    return json.dumps(sorted(set(ids)))
