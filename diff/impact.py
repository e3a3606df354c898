"""The vocabulary of what a change does to traffic, and the rows of a plan that it is judged by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ovnlb.desired.extids import split_list
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.diff import canon


class Impact(StrEnum):
    """What clients notice, mildest first."""

    NONE = "none"
    SERVICE_BEGINS = "service_begins"
    NEW_CONNECTIONS_MOVE = "new_connections_move"
    AFFINITY_RESETS = "affinity_resets"
    PATH_MOVES = "path_moves"
    CONNECTIONS_END = "connections_end"
    VIP_UNSERVED = "vip_unserved"


ORDER = tuple(Impact)

# What a report says of them.
WORDS = {
    Impact.NONE: "no effect on traffic",
    Impact.SERVICE_BEGINS: "service begins",
    Impact.NEW_CONNECTIONS_MOVE: "new connections move, established ones go on",
    Impact.AFFINITY_RESETS: "clients get another member than before",
    Impact.PATH_MOVES: "traffic takes another path, connections over it may stall",
    Impact.CONNECTIONS_END: "established connections may end",
    Impact.VIP_UNSERVED: "endpoint unserved",
}


@dataclass(frozen=True, slots=True)
class Disruption:
    """One change's effect on traffic. `endpoints`: vips keys; `members`: backends that are concerned."""

    impact: Impact = Impact.NONE
    text: str = ""
    endpoints: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The value of `disruption` in the report."""
        return {
            "impact": str(self.impact),
            "text": self.text,
            "endpoints": list(self.endpoints),
            "members": list(self.members),
        }


UNDISTURBED = Disruption()


@dataclass(frozen=True)
class PlannedRows:
    """The rows of a plan by UUID: as they are, and as they must be (by their protocol)."""

    have: Mapping[str, LoadBalancerRow]
    want: Mapping[str | None, LoadBalancerRow]
    deleted: frozenset[str]
    inserted: frozenset[str]

    def found(self, uuid: str) -> LoadBalancerRow | None:
        """The row as it is."""
        return self.have.get(uuid)

    def wanted(self, uuid: str) -> LoadBalancerRow | None:
        """What the row becomes; that of an inserted one when it is the only row that comes."""
        have = self.have.get(uuid)
        if have is not None and canon.protocol(have.protocol) in self.want:
            return self.want[canon.protocol(have.protocol)]
        taken = {canon.protocol(row.protocol) for key, row in self.have.items() if key not in self.deleted}
        left = [row for protocol, row in self.want.items() if protocol not in taken]
        return left[0] if len(left) == 1 else None

    def twin_serves(self, row: LoadBalancerRow) -> bool:
        """Whether another row that stays already serves all that this one does."""
        return any(
            key not in self.deleted
            and canon.protocol(other.protocol) == canon.protocol(row.protocol)
            and row.vips.keys() <= other.vips.keys()
            and row.switches <= other.switches
            and row.routers <= other.routers
            for key, other in self.have.items()
            if key != row.uuid
        )


def served_by(world: PlannedRows, uuid: str) -> tuple[str, ...]:
    """The endpoints that a row serves now."""
    row = world.found(uuid)
    return tuple(sorted(key for key, value in row.vips.items() if value)) if row is not None else ()


def backends_of(vips: Mapping[str, str], keys: Collection[str]) -> tuple[str, ...]:
    """The backends of these vips keys, each once."""
    return tuple(dict.fromkeys(backend for key in keys for backend in split_list(vips.get(key))))


def begins(vips: Mapping[str, str]) -> Disruption:
    """Of vips that come."""
    served = tuple(sorted(key for key, value in vips.items() if value))
    if not served:
        return Disruption(text="it serves nothing yet")
    return Disruption(
        Impact.SERVICE_BEGINS, f"{', '.join(served)} begins to be served", served, backends_of(vips, served)
    )
