"""The `vips` column: which address and port leads to which backends.

Source: rewrite pack section 3.1; ovn-nb(5) Load_Balancer.vips. The function works on external_ids,
so that it can be held against recorded rows as well as against desired ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ovnlb.desired.addresses import canonical, is_v6
from ovnlb.desired.extids import parse_listener_value, parse_members, split_list
from ovnlb.desired.intent import RowIntent, ServedPool
from ovnlb.desired.rows import (
    ADDITIONAL_VIP_FIPS,
    ADDITIONAL_VIPS,
    DISABLED_SUFFIX,
    ENABLED,
    LISTENER_PREFIX,
    VIP,
    VIP_FIP,
)


def frame_vips(external_ids: Mapping[str, str], excluded: Collection[str]) -> dict[str, str]:
    """The vips of a row with these external_ids, without the members whose ids are `excluded`.

    Entries that cannot be read (a listener value, a member, an address) are left out, the rest is
    framed. A disabled LB, listener or pool contributes nothing; neither does an empty pool. Floating
    IPs count when they are IPv4.
    """
    if external_ids.get(ENABLED) == "False":
        return {}
    v4_addresses, v6_addresses = _addresses(external_ids)
    vips: dict[str, str] = {}
    for key, value in external_ids.items():
        if LISTENER_PREFIX not in key or key.endswith(DISABLED_SUFFIX):
            continue
        if (parsed := parse_listener_value(value)) is None:
            continue
        port, pool = parsed
        if not port:
            continue
        v4, v6 = _backends(external_ids.get(pool) if pool else None, excluded)
        if v4:
            vips.update((f"{address}:{port}", v4) for address in v4_addresses)
        if v6:
            vips.update((f"[{address}]:{port}", v6) for address in v6_addresses)
    return vips


def served_vips(
    intent: RowIntent, external_ids: Mapping[str, str], excluded: Collection[str]
) -> dict[str, str]:
    """What `frame_vips` makes of the external_ids of this intent, without taking their texts apart again.

    `external_ids` are the row's own; of them only the addresses and the LB's admin state are read.
    """
    if external_ids.get(ENABLED) == "False":
        return {}
    v4_addresses, v6_addresses = _addresses(external_ids)
    backends = {
        served.pool.id: _served_backends(served, excluded) for served in intent.pools if served.pool.enabled
    }
    vips: dict[str, str] = {}
    for listener in intent.listeners:
        v4, v6 = backends.get(listener.default_pool_id or "", ("", "")) if listener.enabled else ("", "")
        if v4:
            vips.update((f"{address}:{listener.port}", v4) for address in v4_addresses)
        if v6:
            vips.update((f"[{address}]:{listener.port}", v6) for address in v6_addresses)
    return vips


def _served_backends(served: ServedPool, excluded: Collection[str]) -> tuple[str, str]:
    members = [one for one in served.backends if one.member.id not in excluded]
    v4 = [f"{one.address}:{one.member.port}" for one in members if not is_v6(one.address)]
    v6 = [f"[{one.address}]:{one.member.port}" for one in members if is_v6(one.address)]
    return ",".join(v4), ",".join(v6)


def _addresses(external_ids: Mapping[str, str]) -> tuple[list[str], list[str]]:
    vips = [external_ids.get(VIP, ""), *split_list(external_ids.get(ADDITIONAL_VIPS))]
    fips = [external_ids.get(VIP_FIP, ""), *split_list(external_ids.get(ADDITIONAL_VIP_FIPS))]
    readable = [address for address in vips if _readable(address)]
    v4 = [address for address in readable if not is_v6(address)]
    v4 += [address for address in fips if _readable(address) and not is_v6(address)]
    return v4, [address for address in readable if is_v6(address)]


def _readable(address: str) -> bool:
    # A prefix length was never refused by anybody and is copied as it is.
    return canonical(address.partition("/")[0]) is not None and address.strip() == address


def _backends(pool_value: str | None, excluded: Collection[str]) -> tuple[str, str]:
    v4: list[str] = []
    v6: list[str] = []
    for member in parse_members(pool_value):
        if member.id in excluded or canonical(member.address) is None:
            continue
        if is_v6(member.address):
            v6.append(f"[{member.address}]:{member.port}")
        else:
            v4.append(f"{member.address}:{member.port}")
    return ",".join(v4), ",".join(v6)
