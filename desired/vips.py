"""The `vips` column: which address and port leads to which backends.

Source: rewrite pack section 3.1; ovn-nb(5) Load_Balancer.vips.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ovnlb.desired.addresses import canonical, is_v6
from ovnlb.desired.extids import split_list
from ovnlb.desired.intent import RowIntent, ServedPool
from ovnlb.desired.rows import (
    ADDITIONAL_VIP_FIPS,
    ADDITIONAL_VIPS,
    ENABLED,
    VIP,
    VIP_FIP,
)


def served_vips(
    intent: RowIntent, external_ids: Mapping[str, str], excluded: Collection[str]
) -> dict[str, str]:
    """The vips of a row with this intent, without the members whose ids are `excluded`.

    `external_ids` are the row's own; of them the addresses and the LB's admin state are read. A disabled
    LB, listener or pool contributes nothing; neither does an empty pool. Floating IPs count when they are
    IPv4, and an address that cannot be read is left out.
    """
    if external_ids.get(ENABLED) == "False":
        return {}
    v4_addresses, v6_addresses = addresses(external_ids)
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


def addresses(external_ids: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The IPv4 addresses, floating IPs included, and the IPv6 addresses that a row serves."""
    vips = [external_ids.get(VIP, ""), *split_list(external_ids.get(ADDITIONAL_VIPS))]
    fips = [external_ids.get(VIP_FIP, ""), *split_list(external_ids.get(ADDITIONAL_VIP_FIPS))]
    readable = [address for address in vips if _readable(address)]
    v4 = [address for address in readable if not is_v6(address)]
    v4 += [address for address in fips if _readable(address) and not is_v6(address)]
    return v4, [address for address in readable if is_v6(address)]


def _readable(address: str) -> bool:
    # A prefix length was never refused by anybody and is copied as it is.
    return canonical(address.partition("/")[0]) is not None and address.strip() == address
