"""When two values of a row say the same, column by column and key by key.

Text equality is tried first: rows that we wrote ourselves are never parsed. Garbage is simply
different from what must be there: nothing here raises. Source: architecture.md section 3,
"Canonical comparison"; ovn-nb(5) for the spelling of vips and ip_port_mappings.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ovnlb.desired import rows
from ovnlb.desired.addresses import join_host_port, split_host_port
from ovnlb.desired.extids import read_json

JSON_KEYS = frozenset({rows.LS_REFS, rows.MEMBER_STATUS, rows.HEALTH_MONITORS})
LIST_KEYS = frozenset(
    {
        rows.VIP_FIP,
        rows.ADDITIONAL_VIPS,
        rows.ADDITIONAL_VIP_PORT_IDS,
        rows.ADDITIONAL_VIP_FIPS,
        rows.LR_REF,
    }
)
# "[", 45 characters of IPv6, "]:", 5 digits; longer text is not worth converting.
_LONGEST_ENDPOINT = 53
CHECK_KEYS = (rows.CHECK_MONITOR, rows.CHECK_POOL, rows.CHECK_VIP)
CHECK_OPTIONS = ("failure_count", "interval", "success_count", "timeout")


def protocol(text: str | None) -> str | None:
    """A protocol as we compare it: lower case, None when empty."""
    return text.lower() if text else None


def same_entries(want: str, have: str) -> bool:
    """Whether two comma lists hold the same entries equally often, in any order."""
    return want == have or sorted(want.split(",")) == sorted(have.split(","))


def same_external_id(key: str, want: str | None, have: str | None) -> bool:
    """Whether one managed key of Load_Balancer.external_ids is as it must be; None is an absent key.

    An absent list or JSON value is the same as an empty one; a pool or listener key must be there.
    """
    if want == have:
        return True
    if key in JSON_KEYS:
        return _json(key, want) == _json(key, have)
    if key in LIST_KEYS:
        return same_entries(want or "", have or "")
    if want is None or have is None or not key.startswith(rows.POOL_PREFIX):
        return False
    return same_entries(want, have)


def _json(key: str, text: str | None) -> object:
    """A value that equals another when both texts mean the same; unreadable text equals only itself."""
    empty: Any = [] if key == rows.HEALTH_MONITORS else {}
    value = read_json(text, empty) if text else empty
    # repr tells true from 1 and 1 from 1.0, which == does not.
    if value is empty:
        return text if text else frozenset()
    if isinstance(value, dict):
        return frozenset((name, repr(item)) for name, item in value.items())
    return frozenset(repr(item) for item in value)


@lru_cache(maxsize=1 << 16)
def endpoint(text: str) -> tuple[str, int] | None:
    """Canonical address and port of `address:port`, with or without brackets; None when it is neither."""
    if len(text) > _LONGEST_ENDPOINT:
        return None
    parts = split_host_port(text)
    return parts if parts and parts[1] else None


@lru_cache(maxsize=1 << 16)
def canonical_endpoint(text: str) -> str | None:
    """`address:port` as OVN wants it in a vips key, None when it cannot be read as one."""
    parts = endpoint(text)
    return join_host_port(*parts) if parts else None
