"""Load balancers that claim the same address, port and protocol where a client can meet both.

OVN makes two flows of equal priority of them: which one serves is undefined, and northd says nothing.
Source: ovn-facts.md, "From the schema and northd".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.diff import canon


@dataclass(frozen=True, slots=True)
class Conflict:
    """Load balancers that claim one address, port and protocol where a client can meet both.

    `places` are the switches and routers that at least two of them are attached to.
    """

    endpoint: str
    protocol: str
    lb_ids: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def text(self) -> str:
        """One sentence for the operator."""
        return (
            f"{', '.join(self.lb_ids)} all claim {self.endpoint} {self.protocol} on "
            f"{', '.join(self.places)}: which of them OVN serves is undefined"
        )


_Claim = tuple[str, str]
_OCTET = r"(?:0|[1-9]\d{0,2})"
# Nearly all keys of vips: as good as canonical, and not worth a place in any cache.
_PLAIN = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}:[1-9]\d{{0,4}}", re.ASCII)


def conflicts(rows: Iterable[tuple[str, LoadBalancerRow]]) -> tuple[Conflict, ...]:
    """The conflicts among these rows (LB id, row), sorted; linear in the number of vips."""
    claims: dict[_Claim, list[tuple[str, LoadBalancerRow]]] = {}
    for lb_id, row in rows:
        protocol = row.protocol or "tcp"
        for vip in row.vips:
            endpoint = vip if _PLAIN.fullmatch(vip) else canon.canonical_endpoint(vip) or vip
            claims.setdefault((endpoint, protocol), []).append((lb_id, row))
    found = (_conflict(claim, owners) for claim, owners in claims.items() if len(owners) > 1)
    return tuple(sorted((item for item in found if item), key=lambda item: (item.endpoint, item.protocol)))


def _conflict(claim: _Claim, owners: Iterable[tuple[str, LoadBalancerRow]]) -> Conflict | None:
    places: dict[str, set[str]] = {}
    for lb_id, row in owners:
        for name in (
            *(f"switch {name}" for name in row.switches),
            *(f"router {name}" for name in row.routers),
        ):
            places.setdefault(name, set()).add(lb_id)
    shared = {name: ids for name, ids in places.items() if len(ids) > 1}
    if not shared:
        return None
    lb_ids = sorted(set().union(*shared.values()))
    return Conflict(*claim, lb_ids=tuple(lb_ids), places=tuple(sorted(shared)))
