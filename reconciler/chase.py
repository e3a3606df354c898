"""Chasing a nudge: octavia-api calls the driver before it commits, so the first look is too early.

A nudged load balancer is looked at at once, then 5, 10, 20, 40, ... 640 ms after the nudge, until it is
seen PENDING; never seen, the API rolled back, and there is nothing to do. The driver's call is almost the
last thing before the commit, hence the close early looks. Source: architecture.md section 2.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

STEPS = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
# More nudges than this at one time are left to the poll.
MOST = 10_000


class Chase:
    """The nudges under way. Times are seconds of one monotonic clock, given by the caller. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nudges: dict[str, tuple[float, int]] = {}

    def nudged(self, lb_id: str, now: float) -> None:
        """Start looking for this load balancer, anew if it is being chased."""
        with self._lock:
            if lb_id in self._nudges or len(self._nudges) < MOST:
                self._nudges[lb_id] = (now, 0)

    def due(self, now: float) -> dict[str, float]:
        """The load balancers to look at now, with the time of their nudge; each step comes once."""
        with self._lock:
            found = {}
            for lb_id, (at, step) in list(self._nudges.items()):
                if at + STEPS[step] > now:
                    continue
                found[lb_id] = at
                while step < len(STEPS) and at + STEPS[step] <= now:
                    step += 1
                if step < len(STEPS):
                    self._nudges[lb_id] = (at, step)
                else:
                    del self._nudges[lb_id]
            return found

    def caught(self, lb_ids: Iterable[str]) -> None:
        """These were seen PENDING: look no further."""
        with self._lock:
            for lb_id in lb_ids:
                self._nudges.pop(lb_id, None)

    def next_at(self) -> float | None:
        """When something is due next, None when nothing is chased."""
        with self._lock:
            return min((at + STEPS[step] for at, step in self._nudges.values()), default=None)

    def clear(self) -> None:
        """Chase nothing."""
        with self._lock:
            self._nudges.clear()
