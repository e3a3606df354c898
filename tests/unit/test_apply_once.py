"""What a one-shot `apply` makes of the outcomes of its rounds."""

from __future__ import annotations

import pytest

from ovnlb.diff import report
from ovnlb.reconciler.apply_once import Once
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.rounds import Done, Result

NOTHING_LEFT = report.document([])


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (Result.CHANGED, Exit.IN_SYNC),
        (Result.NOOP, Exit.IN_SYNC),
        (Result.GONE, Exit.IN_SYNC),
        (Result.TERMINAL, Exit.ERROR),
        (Result.TRANSIENT, Exit.ERROR),
        (Result.WAITING, Exit.ERROR),
        (Result.REFUSED, Exit.REFUSED),
    ],
)
def test_exit_of_one_outcome(result: Result, code: Exit) -> None:
    """A load balancer that was deleted while the others were applied is nobody's failure."""
    once = Once(done=(Done("lb1", result, error="why"),), remaining=NOTHING_LEFT)
    assert once.exit is code
    assert once.failures == ([] if code is Exit.IN_SYNC else [f"lb1: {result}: why"])
