"""Health as the walks see it: the Southbound monitors of now, and which expected ones are overdue.

Source: architecture.md section 4 (a monitor that is expected but absent for 3 intervals is ERROR).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.observed.sb import AbsenceTracker
from ovnlb.reconciler.walk import Walked


class MonitorHealth:
    """`World.health` with a memory. `read`: the monitors of now, without any overdue."""

    def __init__(self, read: Callable[[], Health], tracker: AbsenceTracker | None = None) -> None:
        self._read = read
        self._tracker = AbsenceTracker() if tracker is None else tracker
        self._lock = threading.Lock()
        self._expected: dict[str, Mapping[MonitorKey, int]] = {}
        self._overdue: dict[str, frozenset[MonitorKey]] = {}
        self._made: tuple[Health, Health] | None = None

    def __call__(self) -> Health:
        """The health of now."""
        with self._lock:
            read = self._read()
            if self._made is None or self._made[0] is not read:
                overdue = frozenset().union(*self._overdue.values())
                self._made = (read, replace(read, overdue=overdue) if overdue else read)
            return self._made[1]

    def walked(self, walked: Walked) -> None:
        """What one load balancer expects now."""
        with self._lock:
            lb_id, monitors = walked.lb.id, walked.desired.monitors
            if not monitors and lb_id not in self._expected:
                return
            self._expected[lb_id] = monitors
            self._update(lb_id)
            if not monitors:
                del self._expected[lb_id]

    def forget(self, lb_id: str) -> None:
        """The load balancer is gone."""
        with self._lock:
            self._tracker.forget(lb_id)
            self._expected.pop(lb_id, None)
            if self._overdue.pop(lb_id, None):
                self._made = None

    def due(self) -> tuple[str, ...]:
        """The load balancers that have a newly overdue monitor: to be walked again."""
        with self._lock:
            found = self._tracker.due()
            for lb_id in found:
                self._update(lb_id)
            return found

    def _update(self, lb_id: str) -> None:
        health = self._read()
        overdue = self._tracker.update(lb_id, self._expected.get(lb_id, {}), health.monitors, health.complete)
        if overdue != self._overdue.get(lb_id, frozenset()):
            self._made = None
            if overdue:
                self._overdue[lb_id] = overdue
            else:
                self._overdue.pop(lb_id, None)
