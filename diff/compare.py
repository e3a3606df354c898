"""The plan: the smallest set of changes that turns the observed rows of one LB into the desired ones.

Pure, total and deterministic: the same values give the same plan, whatever their order, and damaged
rows never raise. Maps change key by key, so that nobody else's keys are touched; living rows are
changed in place. Source: architecture.md sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ovnlb.desired.rows import NbState
from ovnlb.diff import reasons
from ovnlb.diff.changes import deletion, insertion, update
from ovnlb.diff.children import Work
from ovnlb.diff.identity import free_uuids
from ovnlb.diff.match import RowMatch, match_rows
from ovnlb.diff.plan import Change, Effect, Plan, PlanWarning, Reason
from ovnlb.diff.policy import Policy, refusals
from ovnlb.diff.reasons import RowReasons
from ovnlb.diff.same import equal, sharing


def plan(
    want: NbState,
    have: NbState,
    policy: Policy = Policy.SYNC,
    *,
    lb_id: str,
    pending: Mapping[str, str] | None = None,
    gone: Reason = Reason.INTENT_DELETED,
    provider_switches: Collection[str] = frozenset(),
    in_use: Callable[[str], bool] | None = None,
    effects: Sequence[Effect] = (),
    warnings: Sequence[PlanWarning] = (),
    waiting: Sequence[str] = (),
) -> Plan:
    """What must be written so that `have` becomes `want`; nothing when they say the same.

    pending: provisioning status of the graph's objects by id (the LB's too), the source of the
    reasons; None when it is not known. gone: why an empty `want` deletes rows. provider_switches:
    names of switches that no row may be on. in_use: whether a UUID is that of a row which is
    none of this load balancer's (a renamed row, a check that hangs on another LB), told from the
    snapshot that `have` was read from. effects, warnings and waiting come from the stages before,
    and are carried along.
    """
    comparison = _Comparison(lb_id, Work(pending), frozenset(provider_switches), in_use, gone)
    same = equal(want, have)
    changes = () if same else tuple(comparison.changes(want, have))
    return Plan(
        lb_id=lb_id,
        changes=changes,
        effects=tuple(effects),
        warnings=(*warnings, *_suspects(have)),
        waiting=tuple(waiting),
        refused=refusals(policy, changes, effects),
        want=sharing(want, have) if same else want,
        have=have,
    )


def in_sync(want: NbState, have: NbState) -> bool:
    """Whether the rows say the same; texts that are equal are never parsed."""
    return equal(want, have) or not plan(want, have, lb_id="").changes


def _suspects(have: NbState) -> Iterator[PlanWarning]:
    for row in sorted(have.suspect, key=lambda row: row.uuid or ""):
        yield PlanWarning(
            "suspect_row",
            f"Load_Balancer {row.uuid} is named {row.name} but belongs to somebody else: not touched",
        )


@dataclass(frozen=True)
class _Comparison:
    lb_id: str
    work: Work
    provider_switches: frozenset[str]
    in_use: Callable[[str], bool] | None
    gone: Reason

    def changes(self, want: NbState, have: NbState) -> Iterator[Change]:
        match = match_rows(want.rows, have.rows)
        free = free_uuids(have, self.in_use)
        for mine, theirs in match.kept:
            why = RowReasons(mine, theirs, self.lb_id, self.work, self.provider_switches)
            yield from update(mine, theirs, why, free)
        for mine in match.missing:
            reason = reasons.of_insertion(mine, self.work, self.lb_id)
            yield from insertion(mine, self.lb_id, reason, free)
        yield from self._delete(match, bool(want.rows))

    def _delete(self, match: RowMatch, alive: bool) -> Iterator[Change]:
        for row in match.duplicates:
            yield deletion(row, Reason.DUPLICATE if alive else self.gone)
        for row in match.surplus:
            yield deletion(row, reasons.of_removal(row, self.work) if alive else self.gone)
