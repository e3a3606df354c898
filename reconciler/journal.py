"""What the service thinks of each load balancer: its last outcome, and since when it fails.

Only load balancers with something to tell are kept: the last outcome of each that was walked, a short
text where it failed. Thread-safe. Source: architecture.md section 4 (error_after).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ovnlb.reconciler.rounds import Done, Result

# Failures of the load balancer itself. A lost server, a moving database and a wait for Neutron are none.
OWN_FAILURES = frozenset({Result.TERMINAL})
FAILURES = frozenset({Result.TERMINAL, Result.TRANSIENT, Result.STALE, Result.REFUSED, Result.WAITING})


@dataclass(frozen=True, slots=True)
class Entry:
    """The last round of one load balancer. `at` is a wall-clock time; the others count seconds.

    failing: time during which it failed while its servers answered. counted_at: when that was last
    counted, on the journal's clock; None when the last round was no failure of its own.
    """

    result: Result
    at: float
    error: str = ""
    triggers: tuple[str, ...] = ()
    duration: float = 0.0
    failing: float = 0.0
    counted_at: float | None = None


class Journal:
    """See the module. `clock` gives monotonic seconds, `wall` seconds since the epoch."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._clock, self._wall = clock, wall
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}

    def record(self, done: Done, triggers: tuple[str, ...] = (), duration: float = 0.0) -> Entry:
        """Note the outcome of a round."""
        with self._lock:
            known, now = self._entries.get(done.lb_id), self._clock()
            failing, counted_at = _failing(known, done.result, now)
            entry = Entry(done.result, self._wall(), done.error, triggers, duration, failing, counted_at)
            if done.result is Result.GONE:
                self._entries.pop(done.lb_id, None)
            elif done.result is not Result.NOT_LEADER:
                self._entries[done.lb_id] = entry
            return entry

    def about(self, lb_id: str) -> Entry | None:
        """The last round of a load balancer, None when this process has not walked it."""
        with self._lock:
            return self._entries.get(lb_id)

    def clear(self) -> None:
        """Forget all: another process writes now."""
        with self._lock:
            self._entries.clear()

    def errors(self) -> Mapping[str, str]:
        """Load balancers whose last round failed, with the text."""
        with self._lock:
            failed = {key: one for key, one in self._entries.items() if one.result in FAILURES}
        return {key: f"{one.result}: {one.error}" for key, one in failed.items()}

    def as_dict(self, lb_id: str) -> dict[str, Any]:
        """`about` for the status socket."""
        entry = self.about(lb_id)
        if entry is None:
            return {}
        return {
            "result": str(entry.result),
            "at": entry.at,
            "error": entry.error,
            "triggers": list(entry.triggers),
            "duration": round(entry.duration, 4),
            "failing_seconds": round(entry.failing, 1),
        }


def _failing(known: Entry | None, result: Result, now: float) -> tuple[float, float | None]:
    """How long it has failed by itself: spells between two such failures count, others do not."""
    so_far = known.failing if known is not None else 0.0
    if result in OWN_FAILURES:
        if known is not None and known.counted_at is not None:
            so_far += now - known.counted_at
        return so_far, now
    if result in FAILURES:
        return so_far, None
    return 0.0, None
