"""What a process may do with a plan: everything, everything but pruning, or look at it only."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from ovnlb.diff.plan import Change, Effect, Reason


class Policy(StrEnum):
    """Option `[ovnlb] policy`. architecture.md sections 6 and 8."""

    SYNC = "sync"
    NO_PRUNE = "no-prune"
    OBSERVE_ONLY = "observe-only"


def refusals(policy: Policy, changes: Iterable[Change], effects: Iterable[Effect]) -> tuple[str, ...]:
    """Why this policy forbids to do this, one sentence each; () when it does not."""
    work = [change.reason for change in changes] + [effect.reason for effect in effects]
    if policy is Policy.OBSERVE_ONLY and work:
        return ("policy observe-only: nothing is written; set [ovnlb] policy = sync to apply",)
    pruned = work.count(Reason.ORPHAN)
    if policy is Policy.NO_PRUNE and pruned:
        return (
            f"policy no-prune: {pruned} orphaned objects are kept; "
            "set [ovnlb] policy = sync or use ovnlb orphans --prune",
        )
    return ()
