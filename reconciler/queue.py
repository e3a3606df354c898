"""The work queue of load balancer ids: each key is ready, waiting for its time, or locked by a worker.

Adding merges (the earliest time, the highest priority); a key added while it is locked runs again
afterwards; a failing key comes back with backoff and is never dropped. Keys only: what made them
dirty is forgotten but for its name. Thread-safe. Source: architecture.md section 5.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

FIRST_BACKOFF = 0.5
LAST_BACKOFF = 300.0


class Priority(IntEnum):
    """Which of two ready keys goes first."""

    NUDGE = 0
    RETRY = 1
    RESYNC = 2


@dataclass(frozen=True, slots=True)
class Work:
    """A key that a worker holds. `since`: when it was first asked for; `ready`: since when it could run.

    failures: rounds that failed since the last success. Times are the queue's clock.
    """

    key: str
    priority: Priority
    triggers: frozenset[str]
    since: float
    ready: float
    failures: int = 0


@dataclass(slots=True)
class _Entry:
    at: float
    priority: Priority
    since: float
    triggers: set[str] = field(default_factory=set)
    ready: bool = False


@dataclass(frozen=True, slots=True)
class KeyState:
    """Where a key is: "ready", "waiting" or "locked". `due_in` and `age` in seconds."""

    state: str
    due_in: float
    age: float
    failures: int


class WorkQueue:
    """See the module. `clock` gives monotonic seconds, `draw` random numbers in [0, 1)."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, draw: Callable[[], float] = random.random
    ) -> None:
        self._clock, self._draw = clock, draw
        self._changed = threading.Condition()
        self._entries: dict[str, _Entry] = {}
        self._ready: dict[Priority, dict[str, None]] = {priority: {} for priority in Priority}
        self._waiting: list[tuple[float, int, str]] = []
        self._arrivals = itertools.count()
        self._locked: dict[str, Work] = {}
        self._again: dict[str, _Entry] = {}
        self._failures: dict[str, int] = {}
        self._open = False
        self._closed = False

    def open(self) -> None:
        """Take keys from now on."""
        with self._changed:
            self._open = True

    def park(self) -> None:
        """Forget all keys but the locked ones, and take none until `open`."""
        with self._changed:
            self._open = False
            self._entries.clear()
            self._waiting.clear()
            self._again.clear()
            self._failures.clear()
            for keys in self._ready.values():
                keys.clear()
            self._changed.notify_all()

    def add(
        self, key: str, priority: Priority, trigger: str, *, after: float = 0.0, since: float | None = None
    ) -> None:
        """Make a key run in `after` seconds or earlier; once more when it is running now."""
        with self._changed:
            now = self._clock()
            entry = _Entry(now + after, priority, now if since is None else since, {trigger})
            self._put(key, entry)

    def offer(self, keys: Iterable[str], priority: Priority, trigger: str) -> int:
        """Add those keys that the queue does not know: neither backoff nor a running round is disturbed.

        Returns how many were new.
        """
        with self._changed:
            now = self._clock()
            new = [key for key in keys if key not in self._entries and key not in self._locked]
            for key in new:
                self._put(key, _Entry(now, priority, now, {trigger}))
            return len(new)

    def take(self, limit: int, patience: float = 0.0, *, trickle: int = 0) -> tuple[Work, ...]:
        """Lock and return ready keys, waiting up to `patience` seconds for the first.

        At most `limit` nudged and retried keys, or when there are none at most `trickle` of a resync:
        the two are never mixed.
        """
        with self._changed:
            end = time.monotonic() + patience
            while True:
                self._promote()
                picked = self._pick(limit, trickle)
                left = end - time.monotonic()
                if picked or left <= 0 or self._closed:
                    return picked
                due = self._waiting[0][0] - self._clock() if self._waiting else left
                self._changed.wait(max(0.001, min(left, due)))

    def close(self) -> None:
        """Nobody waits in `take` any more: the workers end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def done(self, key: str) -> None:
        """The round of a locked key succeeded, or there is nothing to do: forget it."""
        with self._changed:
            self._failures.pop(key, None)
            self._unlock(key)

    def retry(self, key: str, trigger: str = "retry") -> float:
        """The round of a key failed: bring it back after its backoff, which is returned.

        A key that was added meanwhile runs at that time instead.
        """
        with self._changed:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            ceiling = min(LAST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(count - 1, 20))
            delay = max(0.02, self._draw() * ceiling)
            work, now = self._locked.get(key), self._clock()
            self._unlock(key)
            since = now if work is None else work.since
            if key not in self._entries:
                self._put(key, _Entry(now + delay, Priority.RETRY, since, {trigger}))
            return delay

    def hasten(self) -> None:
        """Let every waiting key run now: the server that they waited for has come back."""
        with self._changed:
            now = self._clock()
            for key, entry in self._entries.items():
                if not entry.ready and self._failures.get(key):
                    entry.at = now
                    heapq.heappush(self._waiting, (now, next(self._arrivals), key))
            self._changed.notify_all()

    def depth(self) -> Mapping[Priority, int]:
        """Ready keys by priority."""
        with self._changed:
            self._promote()
            return {priority: len(keys) for priority, keys in self._ready.items()}

    @property
    def busy(self) -> bool:
        """Whether some nudged or retried key waits for a worker."""
        with self._changed:
            self._promote()
            return bool(self._ready[Priority.NUDGE] or self._ready[Priority.RETRY])

    @property
    def idle(self) -> bool:
        """Whether nothing is ready and nothing runs."""
        with self._changed:
            self._promote()
            return not self._locked and not any(self._ready.values())

    def failing(self) -> int:
        """How many keys have failed since their last success."""
        with self._changed:
            return len(self._failures)

    def backs_off(self, key: str) -> bool:
        """Whether a key has failed and waits for its next time."""
        with self._changed:
            entry = self._entries.get(key)
            return entry is not None and not entry.ready and key in self._failures

    def state(self, key: str) -> KeyState | None:
        """Where a key is, None when it is not here."""
        with self._changed:
            now, failures = self._clock(), self._failures.get(key, 0)
            if (work := self._locked.get(key)) is not None:
                return KeyState("locked", 0.0, now - work.since, failures)
            if (entry := self._entries.get(key)) is None:
                return None
            due = max(0.0, entry.at - now)
            return KeyState("waiting" if due else "ready", due, now - entry.since, failures)

    def _put(self, key: str, entry: _Entry) -> None:
        if not self._open:
            return
        if key in self._locked:
            known = self._again.get(key)
            self._again[key] = entry if known is None else _merged(known, entry)
            return
        known = self._entries.get(key)
        if known is not None:
            entry = _merged(known, entry)
            if known.ready:
                del self._ready[known.priority][key]
        self._entries[key] = entry
        heapq.heappush(self._waiting, (entry.at, next(self._arrivals), key))
        if entry.priority is Priority.RESYNC:
            # Not every worker takes these.
            self._changed.notify_all()
        else:
            self._changed.notify()

    def _promote(self) -> None:
        now = self._clock()
        while self._waiting and self._waiting[0][0] <= now:
            at, _, key = heapq.heappop(self._waiting)
            entry = self._entries.get(key)
            if entry is not None and not entry.ready and entry.at == at:
                entry.ready = True
                self._ready[entry.priority][key] = None

    def _pick(self, limit: int, trickle: int) -> tuple[Work, ...]:
        urgent = [*self._ready[Priority.NUDGE], *self._ready[Priority.RETRY]][:limit]
        if urgent:
            return tuple(self._lock(key) for key in urgent)
        return tuple(self._lock(key) for key in list(self._ready[Priority.RESYNC])[:trickle])

    def _lock(self, key: str) -> Work:
        entry = self._entries.pop(key)
        del self._ready[entry.priority][key]
        failures = self._failures.get(key, 0)
        work = Work(key, entry.priority, frozenset(entry.triggers), entry.since, entry.at, failures)
        self._locked[key] = work
        return work

    def _unlock(self, key: str) -> None:
        self._locked.pop(key, None)
        again = self._again.pop(key, None)
        if again is not None:
            self._put(key, again)


def _merged(one: _Entry, other: _Entry) -> _Entry:
    return _Entry(
        min(one.at, other.at),
        min(one.priority, other.priority),
        min(one.since, other.since),
        one.triggers | other.triggers,
    )
