"""A batch of plans whose writing breaks in a way that nobody foresaw."""

from __future__ import annotations

from typing import Any, cast

import pytest

from diff_rows import RIGHT
from ovnlb.desired.rows import NbState
from ovnlb.diff.compare import plan
from ovnlb.diff.plan import Plan
from ovnlb.observed.commit import Outcome
from ovnlb.observed.idl import NbReplica
from ovnlb.reconciler.errors import Terminal
from ovnlb.reconciler.writing import write_batch


class Replica:
    """Breaks on the transactions that hold one plan."""

    wants_lock = has_lock = connected = persistent_uuids = True

    def __init__(self, broken: str) -> None:
        self.broken = broken
        self.sent: list[list[str]] = []

    def transact(self, writer: Any) -> Outcome:
        ids = [one.lb_id for one in writer.plans]
        if self.broken in ids:
            raise ValueError(f"{self.broken} breaks the library")
        self.sent.append(ids)
        writer.written = dict.fromkeys(ids, 1)
        return Outcome(sent=True, attempts=1)


def plans(*names: str) -> list[Plan]:
    return [plan(NbState((RIGHT,)), NbState(), lb_id=name) for name in names]


@pytest.mark.parametrize("names", [("a", "b", "c"), ("b",)])
def test_a_plan_that_breaks_stops_no_other(names: tuple[str, ...]) -> None:
    """It ends as a failure of its own; the rest is written one by one."""
    nb = Replica("b")
    done = write_batch(cast(NbReplica, nb), plans(*names))
    assert isinstance(done.failed["b"], Terminal)
    assert "ValueError: b breaks the library" in str(done.failed["b"])
    assert list(done.failed) == ["b"]
    assert nb.sent == [[name] for name in names if name != "b"]
    assert set(done.applied) == {*names} - {"b"}
