"""What a process may do with a plan, and how much it may prune.

Source: architecture.md sections 6 and 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from ovnlb.diff.plan import Change, Effect, Reason


class Policy(StrEnum):
    """Option `[ovnlb] policy`."""

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


@dataclass(frozen=True, slots=True)
class PruneLimits:
    """How much one pass may prune: objects, and percent of those that are ours."""

    count: int = 5
    percent: float = 10.0


def prune_refusal(orphans: int, ours: int, limits: PruneLimits) -> str | None:
    """Why so many orphans among `ours` objects (orphans included) are not pruned in one pass."""
    if orphans > limits.count:
        return (
            f"{orphans} orphans are more than prune_max_count = {limits.count}; "
            f"if they are right, run ovnlb orphans --prune --prune-max-count {orphans}"
        )
    share = 100 * orphans / ours if ours else 0.0
    if orphans and share > limits.percent:
        return (
            f"{orphans} orphans are {share:.0f} % of {ours} objects, more than prune_max_percent = "
            f"{limits.percent:g}; if they are right, run "
            f"ovnlb orphans --prune --prune-max-percent {ceil(share)}"
        )
    return None
