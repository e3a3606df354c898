"""The whole walk, once: orphans of DELETED load balancers first, then everything in scope, then what is left.

What `ovnlb apply`, `octavia-ovn-db-sync-util` and the Neutron plugin have in common. Source:
architecture.md sections 2, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ovnlb.desired.verdicts import Outcome, status_update
from ovnlb.diff import report
from ovnlb.diff.orphans import first_in_conflict, judge, torn_by
from ovnlb.diff.plan import Plan
from ovnlb.diff.policy import Policy, PruneLimits
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import LiveInputs
from ovnlb.reconciler.one_shot import living_rows, search_of
from ovnlb.reconciler.orphans import Pruned, of_deleted, prune
from ovnlb.reconciler.passes import Orphans, pass_document
from ovnlb.reconciler.report_once import report_once
from ovnlb.reconciler.rounds import SETTLED, Done, Result, play
from ovnlb.reconciler.status_socket import StatusSocket
from ovnlb.reconciler.walk import Pass, Walked, walk_all

# Load balancers in one transaction: northd works as long for one as for hundreds.
BATCH = 200

# What needs no more work; a load balancer that has gone meanwhile is none.
_ENDS = SETTLED | {Result.GONE}

Say = Callable[[str], None]
Progress = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Once:
    """What was done, and the report of what remains different."""

    done: tuple[Done, ...] = ()
    pruned: Pruned = field(default_factory=Pruned)
    unreported: tuple[str, ...] = ()
    remaining: dict[str, Any] | None = None

    @property
    def plans(self) -> list[Plan]:
        """The plans that were written, in their order."""
        return [*self.pruned.plans, *(plan for item in self.done for plan in item.plans)]

    @property
    def failures(self) -> list[str]:
        """What did not end as it should, one line each."""
        lines = [f"{name}: {why}" for name, why in self.pruned.failed.items()]
        lines += [f"{one.lb_id}: {one.result}: {one.error}" for one in self.done if one.result not in _ENDS]
        return lines

    @property
    def exit(self) -> Exit:
        """0 only when nothing remains different and everybody has been told."""
        code = plan_exit((self.remaining or {})["summary"])
        refused = bool(self.pruned.refused) or any(one.result is Result.REFUSED for one in self.done)
        if code is Exit.REFUSED or (refused and code is not Exit.ERROR):
            return Exit.REFUSED
        failed = bool(self.unreported or self.failures)
        return Exit.ERROR if code is Exit.DIFFERS or (failed and code is Exit.IN_SYNC) else code


def apply_once(
    found: LiveInputs,
    wanted: Scope,
    say: Say,
    progress: Progress = iter,
    accept: Callable[[Plan], str] | None = None,
    *,
    pictured: bool = False,
) -> Once:
    """Apply everything in scope.

    `accept` lets only plans pass that were reviewed; nothing is pruned then. `pictured`: the report of
    what remains holds what a page draws.
    """
    # An orphan with a VIP of a living one makes OVN's choice undefined: it goes before rows are written.
    pruned = Pruned() if accept else prune_deleted(found, wanted, say)
    done = _apply(found, wanted, progress, accept)
    unreported = report_once(done, StatusSocket(found.settings.sockets), found.statuses, say)
    return Once(done, pruned, unreported, remaining(found, wanted, progress, pictured=pictured)[1])


def plan_once(found: LiveInputs, wanted: Scope, progress: Progress = iter) -> Pass:
    """The plans of everything in scope, as an `apply` would make them.

    With an `apply`'s knowledge of ports, so that its effects are told alike.
    """
    graph = found.graph(wanted)
    return walk_all(graph, found.means(graph).world, progress)


def remaining(
    found: LiveInputs,
    wanted: Scope,
    progress: Progress = iter,
    with_desired: bool = False,
    *,
    pictured: bool = False,
) -> tuple[Pass, dict[str, Any]]:
    """What differs now, and its report. Orphans are looked for only when everything is in scope."""
    found.neutron.refresh()
    done = walk_all(found.graph(wanted), found.world, progress)
    return done, pass_document(done, with_desired, orphans_of(found, wanted), pictured=pictured)


def orphans_of(found: LiveInputs, wanted: Scope) -> Orphans | None:
    """The orphans of now; None when the scope is a part, which tells nothing about them."""
    if wanted.partial:
        return None
    sighting = search_of(found).look()
    return Orphans(judge(sighting, grace=found.settings.prune.grace), sighting.foreign)


def prune_deleted(found: LiveInputs, wanted: Scope, say: Say) -> Pruned:
    """Prune what belongs to DELETED load balancers, under policy sync and with everything in scope."""
    if wanted.partial or Policy(found.settings.policy) is not Policy.SYNC:
        return Pruned()
    search, limits = search_of(found), found.settings.prune
    sighting = search.look()
    torn = torn_by(sighting.orphans, living_rows(found))
    for conflict in torn:
        say(f"conflict: {conflict.text}")
    judged = of_deleted(first_in_conflict(judge(sighting), torn))
    done = prune(search, judged, sighting.ours, PruneLimits(limits.max_count, limits.max_percent))
    if done.refused:
        say(f"refused: {done.refused}")
    return done


def ids_of(found: LiveInputs, wanted: Scope) -> list[str]:
    """The ids in scope, those whose rows cannot be read as a graph too."""
    graph = found.graph(wanted)
    return [lb.id for lb in graph.load_balancers] + [broken.id for broken in graph.broken]


def _apply(
    found: LiveInputs, wanted: Scope, progress: Progress, accept: Callable[[Plan], str] | None
) -> tuple[Done, ...]:
    """One outcome a load balancer; what is right already has no round, so that few are needed."""
    # One reading names the ids; every round then reads its own load balancers again.
    graph = found.graph(wanted)
    ids = [lb.id for lb in graph.load_balancers] + [broken.id for broken in graph.broken]
    means = found.means(graph)
    done: dict[str, Done] = {}
    if accept is None:
        walked = walk_all(graph, means.world, progress).walked
        done.update((one.lb.id, Done(one.lb.id, Result.NOOP, lb=one.lb)) for one in walked if _is_right(one))
    else:
        # A reviewed plan must be asked about even where nothing differs any more.
        means = replace(means, accept=accept)
    left = [lb_id for lb_id in ids if lb_id not in done]
    for start in progress(range(0, len(left), BATCH)):
        done.update((one.lb_id, one) for one in play(left[start : start + BATCH], means))
    return tuple(done[lb_id] for lb_id in ids)


def _is_right(walked: Walked) -> bool:
    """Whether there is nothing to write, to do in Neutron, to refuse or to tell Octavia."""
    plan, lb = walked.plan, walked.lb
    if plan.changes or plan.effects or plan.refused or walked.vip_port_missing:
        return False
    return not status_update(lb, walked.desired.members, Outcome()).records


def document(once: Once) -> dict[str, Any]:
    """What was done, whose verdicts Octavia could not be told, and what remains different."""
    return {
        "format_version": report.FORMAT_VERSION,
        "pruned": [_plan(plan) for plan in once.pruned.plans],
        "pruning_refused": once.pruned.refused,
        "applied": [
            {
                "id": item.lb_id,
                "result": str(item.result),
                "error": item.error,
                "changes": [report.change(change) for plan in item.plans for change in plan.changes],
            }
            for item in once.done
        ],
        "unreported": list(once.unreported),
        "remaining": once.remaining,
    }


def _plan(plan: Plan) -> dict[str, Any]:
    """A plan that pruned; `name` is a load balancer's id or a health-monitor port's name."""
    return {
        "name": plan.lb_id,
        "changes": [report.change(change) for change in plan.changes],
        "effects": [report.effect(effect) for effect in plan.effects],
    }


def told(once: Once, render: Callable[[dict[str, Any]], str], written: Sequence[Plan]) -> str:
    """What was done and what remains, for people; `render` makes a text of a report."""
    lines = [
        render(report.document(written, with_desired=False)).rstrip()
        if written
        else "Nothing had to be written.",
        *once.failures,
        *([f"refused: {once.pruned.refused}"] if once.pruned.refused else []),
        *(f"{lb_id}: its statuses are not reported to Octavia" for lb_id in once.unreported),
        f"Applied: {len(once.done)} load balancers looked at, {len(written)} written, "
        f"{len(once.failures)} not settled.",
        "Remaining:",
        render(once.remaining or {}),
    ]
    return "\n".join(lines)
