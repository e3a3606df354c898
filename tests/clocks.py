"""A clock for tests: seconds that pass when the test says so."""

from __future__ import annotations


class Clock:
    """Callable like time.monotonic."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
