"""`vips` read from external_ids alone, as the original does: what the desired vips are held against."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ovnlb.desired.addresses import canonical, is_v6
from ovnlb.desired.extids import parse_listener_value, parse_members
from ovnlb.desired.rows import DISABLED_SUFFIX, ENABLED, LISTENER_PREFIX
from ovnlb.desired.vips import addresses


def frame_vips(external_ids: Mapping[str, str], excluded: Collection[str]) -> dict[str, str]:
    """The vips of a row with these external_ids, without the members whose ids are `excluded`.

    Entries that cannot be read (a listener value, a member, an address) are left out, the rest is
    framed. A disabled LB, listener or pool contributes nothing; neither does an empty pool. Floating
    IPs count when they are IPv4.
    """
    if external_ids.get(ENABLED) == "False":
        return {}
    v4_addresses, v6_addresses = addresses(external_ids)
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
