"""Which orphans may be pruned, and the plans that do it. Pure.

A DELETED row in Octavia's database is proof. Everything else must have been missed by two complete
readings far enough apart, and be older than some load balancer that the database does hold: a restored
backup or a wrong database cannot show that. Source: architecture.md section 6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ovnlb.desired.orphans import Evidence, Orphan, OrphanKind, Sighting
from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff.compare import plan as compare
from ovnlb.diff.conflicts import Conflict, conflicts
from ovnlb.diff.effects import DELETE_HM_PORT, DELETE_VIP_PORT
from ovnlb.diff.plan import Effect, Phase, Plan, Reason
from ovnlb.diff.policy import PruneLimits, prune_refusal

_ORDER = {OrphanKind.ROW: 0, OrphanKind.VIP_PORT: 1, OrphanKind.HM_PORT: 2}


@dataclass(frozen=True, slots=True)
class Judged:
    """An orphan, and why it may not be pruned (yet); empty when it may."""

    orphan: Orphan
    why: str = ""

    @property
    def prunable(self) -> bool:
        """Whether the evidence is complete."""
        return not self.why


def judge(
    now: Sighting, before: Sighting | None = None, *, grace: float = 60.0, undated: bool = False
) -> tuple[Judged, ...]:
    """Every orphan of the reading `now`, in the order of work.

    before: an earlier complete reading. grace: seconds that must lie between the two. undated: the
    operator vouches for objects whose age nobody knows.
    """
    earlier = _keys(before) if before is not None and now.at - before.at >= grace else frozenset()
    found = (Judged(one, _why(one, now, earlier, grace, undated)) for one in now.orphans)
    return tuple(sorted(found, key=lambda one: (_ORDER[one.orphan.kind], one.orphan.name, one.orphan.id)))


def _keys(sighting: Sighting) -> frozenset[tuple[str, str]]:
    return frozenset(one.key for one in sighting.orphans)


def _why(
    one: Orphan, now: Sighting, earlier: Collection[tuple[str, str]], grace: float, undated: bool
) -> str:
    # A deleted load balancer does not make a port free that somebody uses.
    if one.held:
        return one.held
    if one.evidence is Evidence.DELETED:
        return ""
    if one.key not in earlier:
        return f"seen once: another complete reading at least {grace:g} s later must find the same"
    if one.born is None:
        text = "its age is unknown, since no VIP port made for it is left in Neutron"
        return "" if undated else f"{text} (--undated prunes it nevertheless)"
    if now.newest is None or now.newest <= one.born:
        return (
            f"Octavia's database holds no load balancer newer than {one.born.isoformat()}Z, when its port "
            "was made: is it a restored backup, a lagging replica or the wrong database?"
        )
    return ""


def first_in_conflict(judged: Iterable[Judged], found: Iterable[Conflict]) -> tuple[Judged, ...]:
    """The same, rows of load balancers in a conflict first: their traffic goes nobody knows where."""
    torn = {lb_id for conflict in found for lb_id in conflict.lb_ids}
    return tuple(
        sorted(judged, key=lambda one: not (one.orphan.kind is OrphanKind.ROW and one.orphan.lb_id in torn))
    )


def torn_by(orphans: Iterable[Orphan], living: Iterable[tuple[str, LoadBalancerRow]]) -> tuple[Conflict, ...]:
    """The conflicts between rows of orphans and the rows of living load balancers (id, row)."""
    gone = [(one.lb_id or "", one.row) for one in orphans if one.row is not None]
    if not gone:
        return ()
    ids = {lb_id for lb_id, _ in gone}
    return tuple(item for item in conflicts([*living, *gone]) if not ids.isdisjoint(item.lb_ids))


def refusal(judged: Iterable[Judged], ours: int, limits: PruneLimits) -> str | None:
    """Why what may be pruned is too much for one pass, naming the way out; None when it is not."""
    return prune_refusal(sum(one.prunable for one in judged), ours, limits)


def prune_plans(judged: Iterable[Judged]) -> tuple[Plan, ...]:
    """The plans that prune what may be pruned: one a load balancer, one a health-monitor port.

    A row goes before the VIP port that tells of it; a port goes only after its rows. The order of the
    first object of each decides.
    """
    groups: dict[str, list[Orphan]] = {}
    for one in judged:
        if one.prunable:
            groups.setdefault(one.orphan.lb_id or one.orphan.name, []).append(one.orphan)
    return tuple(_plan(key, group) for key, group in groups.items())


def _plan(key: str, group: list[Orphan]) -> Plan:
    """Deletions of rows, checked and verified like any other, and the ports as effects after them."""
    rows = tuple(one.row for one in group if one.row is not None)
    effects = tuple(_effect(one) for one in group if one.kind is not OrphanKind.ROW)
    return compare(NbState(), NbState(rows), lb_id=key, gone=Reason.ORPHAN, effects=effects)


def _effect(one: Orphan) -> Effect:
    """The effect that the executor of living load balancers' plans carries out, too."""
    if one.kind is OrphanKind.VIP_PORT:
        details: Mapping[str, Any] = {"lb_id": one.lb_id, "address": next(iter(one.addresses), None)}
        return Effect(DELETE_VIP_PORT, one.id, Phase.AFTER, Reason.ORPHAN, details)
    details = {
        "port_id": one.id,
        "name": one.name,
        "address": next(iter(one.addresses), ""),
        "switch": one.switch,
    }
    return Effect(DELETE_HM_PORT, one.subnet_id, Phase.AFTER, Reason.ORPHAN, details)


def as_json(one: Judged) -> dict[str, Any]:
    """One orphan as a report lists it."""
    orphan = one.orphan
    return {
        "kind": str(orphan.kind),
        "id": orphan.id,
        "load_balancer": orphan.lb_id,
        "name": orphan.name,
        "evidence": str(orphan.evidence),
        "born": None if orphan.born is None else f"{orphan.born.isoformat()}Z",
        "prunable": one.prunable,
        "why_not": one.why,
        "text": text(one),
    }


_WORDS = {
    Evidence.DELETED: "is DELETED in Octavia",
    Evidence.ABSENT: "is not in Octavia's database",
}
_OBJECTS = {
    OrphanKind.ROW: "Load_Balancer row",
    OrphanKind.VIP_PORT: "VIP port",
    OrphanKind.HM_PORT: "health-monitor port",
}


def text(one: Judged) -> str:
    """One orphan as a sentence."""
    orphan = one.orphan
    name = "" if orphan.kind is OrphanKind.ROW else f" {orphan.name}"
    reason = (
        f"no row sends probes from it ({', '.join(orphan.addresses)})"
        if orphan.evidence is Evidence.UNMAPPED
        else f"load balancer {orphan.lb_id} {_WORDS[orphan.evidence]}"
    )
    end = f"; stays: {one.why}" if one.why else ""
    return f"{_OBJECTS[orphan.kind]} {orphan.id}{name}: {reason}{end}"
