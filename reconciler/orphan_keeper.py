"""The service's part in pruning: a chore after every full pass, and what operators ask for.

Under policy sync what belongs to DELETED load balancers is pruned; the rest is counted and logged once.
`ovnlb orphans --prune` names objects that it has judged by two readings of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ovnlb.desired.orphans import Sighting
from ovnlb.diff.orphans import Judged, judge, text
from ovnlb.diff.plan import Plan
from ovnlb.diff.policy import Policy, PruneLimits
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.connections import Connections
from ovnlb.reconciler.metrics import Metrics
from ovnlb.reconciler.orphans import Search, of_deleted, prune
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.settings import Settings

LOG = logging.getLogger(__name__)

# The queue's key of this chore; no load balancer has such an id.
ORPHANS = "orphans"


@dataclass(frozen=True, slots=True)
class _Request:
    """What an operator asked for: orphans by `Orphan.key`, and the limits that the command was given."""

    keys: frozenset[tuple[str, str]]
    limits: PruneLimits
    undated: bool


class OrphanKeeper:
    """See the module. Times in seconds; `limits` are the configured ones."""

    def __init__(
        self, search: Search, policy: Policy, grace: float, limits: PruneLimits, metrics: Metrics
    ) -> None:
        self._search, self._policy, self._grace = search, policy, grace
        self._limits, self._metrics = limits, metrics
        self._lock = threading.Lock()
        self._requests: list[_Request] = []
        self._told: frozenset[tuple[str, str]] = frozenset()
        self._before: Sighting | None = None

    def requested(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The question `prune`: `objects` ([kind, id] pairs), `max_count`, `max_percent`, `undated`."""
        try:
            keys = frozenset((str(kind), str(name)) for kind, name in question["objects"])
            limits = PruneLimits(int(question["max_count"]), float(question["max_percent"]))
        except (KeyError, TypeError, ValueError):
            return {"error": "a pruning needs objects, max_count and max_percent"}
        if self._policy is Policy.OBSERVE_ONLY:
            return {"error": "policy observe-only: nothing is written"}
        with self._lock:
            self._requests.append(_Request(keys, limits, bool(question.get("undated"))))
        return {"queued": len(keys)}

    def run(self) -> None:
        """One chore: what was asked for, then what is DELETED. Raises what a complete reading raises."""
        with self._lock:
            requests, self._requests = self._requests, []
        now = self._search.look()
        for request in requests:
            self._prune(_asked(now, request, self._grace), now, request.limits)
        judged = judge(now, self._before, grace=self._grace)
        if self._policy is Policy.SYNC:
            self._prune(of_deleted(judged), now, self._limits)
        self._tell(now, judged)
        # Readings closer together than the grace would never confirm anything.
        if self._before is None or now.at - self._before.at >= self._grace:
            self._before = now

    def _prune(self, judged: Sequence[Judged], now: Sighting, limits: PruneLimits) -> None:
        """Prune, and log what is refused or left; the next chore tries again."""
        done = prune(self._search, judged, now.ours, limits)
        if done.refused:
            LOG.error("orphans are not pruned: %s", done.refused)
        for name, why in done.failed.items():
            LOG.warning("orphans of %s are left: %s", name, why)

    def _tell(self, now: Sighting, judged: Sequence[Judged]) -> None:
        """Set the gauges, and warn once of every orphan that was seen before or is proven."""
        counts = {"prunable": sum(one.prunable for one in judged)}
        counts["reported"] = len(judged) - counts["prunable"]
        for state, count in counts.items():
            self._metrics.orphans.labels(state).set(count)
        self._metrics.foreign_rows.set(now.foreign)
        # A create that is about to be committed looks like an orphan once: it is not worth a warning.
        before = self._before.orphans if self._before else ()
        known = {one.key for one in before}
        sure = [one for one in judged if one.prunable or one.orphan.key in known]
        for one in sure:
            if one.orphan.key not in self._told:
                LOG.warning("orphan: %s", text(one))
        self._told = frozenset(one.orphan.key for one in sure)


def keeper_of(
    connections: Connections,
    settings: Settings,
    write: Callable[[Sequence[Plan]], AppliedEach],
    metrics: Metrics,
    memory: PortMemory,
) -> OrphanKeeper:
    """The keeper over a service's connections and its memory of ports."""
    nb, limits = connections.nb, settings.prune
    search = Search(
        connections.database,
        nb,
        connections.neutron,
        connections.client,
        write,
        lambda: nb.connected,
        memory=memory,
    )
    allowed = PruneLimits(limits.max_count, limits.max_percent)
    return OrphanKeeper(search, Policy(settings.policy), limits.grace, allowed, metrics)


def _asked(now: Sighting, request: _Request, grace: float) -> tuple[Judged, ...]:
    """What was asked for and is still found: the asker's two readings count as the earlier one."""
    mine = tuple(one for one in now.orphans if one.key in request.keys)
    before = replace(now, at=now.at - grace, orphans=mine)
    return judge(replace(now, orphans=mine), before, grace=grace, undated=request.undated)
