"""Row events of both databases as keys for the queue.

Everything that is mapped here is found by the resync too, only later. Source: architecture.md section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ovnlb.observed.events import NONE, Touched, touched
from ovnlb.observed.idl import RowEvent
from ovnlb.reconciler.interest import Interest
from ovnlb.reconciler.queue import Priority, WorkQueue

# One change of Neutron's comes in several transactions: one walk for all of them.
_SETTLE = 0.05
# Our own writes come back as events as well; a look at low priority tells them from foreign edits.
_OWN = 1.0
# Flapping monitors: the changes of one second are one report.
_DAMP = 1.0


class EventSource:
    """Listeners for both replicas. `reloaded`: told when one was received anew."""

    def __init__(self, queue: WorkQueue, interest: Interest, reloaded: Callable[[str], None]) -> None:
        self._queue, self._interest, self._reloaded = queue, interest, reloaded

    def northbound(self, event: RowEvent) -> None:
        """An event of the Northbound replica; called on its thread."""
        found = touched(event)
        if found.everything:
            self._reloaded("northbound")
            return
        rows = Touched(balancers=found.balancers, rows=found.rows, pools=found.pools)
        self._add(rows, Priority.RESYNC, "row", _OWN)
        others = replace(found, balancers=NONE, rows=NONE, pools=NONE)
        self._add(others, Priority.RETRY, "topology", _SETTLE)

    def southbound(self, event: RowEvent) -> None:
        """An event of the Southbound replica; called on its thread."""
        found = touched(event)
        if found.everything:
            self._reloaded("southbound")
            return
        self._add(found, Priority.RETRY, "monitor", _DAMP)

    def _add(self, found: Touched, priority: Priority, trigger: str, after: float) -> None:
        for lb_id in self._interest.keys(found):
            self._queue.add(lb_id, priority, trigger, after=after)
