"""Group commit: what several workers want to write at one time goes in one OVSDB transaction.

A worker that finds nobody writing writes at once; what comes while it writes, or while northd is still
busy with our last stamped transaction, is collected and sent together. In a stream of changes northd
rests between two writes: its round costs the same for 1 and for 500 changes, and changes written one by
one keep it computing all the time. How long a round takes is measured by stamps.
Source: architecture.md section 5, performance-facts.md.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ovnlb.diff.plan import Plan
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.errors import Transient

LOG = logging.getLogger(__name__)

# The longest wait for northd: a stuck one never blocks us.
PATIENCE = 2.0
# Every chassis answers a stamp with a write to the Southbound database: seconds from one to the next, and
# to the next once it is known how long a round takes.
STAMP_INTERVAL, KNOWN_INTERVAL = 1.0, 10.0
# A stamp that northd has not answered for so long says nothing any more.
STAMP_EXPIRY = 30.0
_LOOK = 0.01
# A stream: changes that meet each other, or more writes than this in a second; for so long after either.
STREAM_WRITES, PRESSURE = 10, 1.0
# From one write to the next, in rounds of northd's: a write costs it two, as its own changes of the
# Southbound database come back to it, so that it works a quarter of the time for us.
ROUNDS_APART, LONGEST_REST = 8, 1.0


class Northbound(Protocol):
    """What pacing needs of the replica."""

    def cfg(self) -> tuple[int, int]:
        """NB_Global nb_cfg and sb_cfg."""


class WriteBatch(Protocol):
    """Writes plans in one transaction, or one each when one of them is stale."""

    def __call__(self, plans: Sequence[Plan], *, stamp: bool = False) -> AppliedEach: ...


@dataclass
class _Ticket:
    plans: Sequence[Plan]
    done: threading.Event = field(default_factory=threading.Event)
    outcome: AppliedEach | None = None


class Pace:
    """Whether northd is behind our last stamped write, or rests. `nb` None: no pacing at all.

    A lone change is never held up: without a stream there is no rest.
    """

    def __init__(self, nb: Northbound | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._nb, self._clock = nb, clock
        self._stamped: int | None = None
        self._stamped_at = float("-inf")
        self._waited = False
        self._pressed_until = float("-inf")
        self._writes: deque[float] = deque(maxlen=STREAM_WRITES)
        self.round: float | None = None  # how long northd took for our last stamp, seconds

    def looked(self) -> None:
        """NB_Global has changed: northd may have answered our stamp."""
        stamped = self._stamped
        if self._nb is not None and stamped is not None and self._nb.cfg()[1] >= stamped:
            self.round, self._stamped = self._clock() - self._stamped_at, None

    def pressed(self, others: bool) -> bool:
        """Whether a write that goes out now is part of a stream. `others`: more changes wait."""
        now = self._clock()
        many = len(self._writes) == STREAM_WRITES and now - self._writes[0] < 1.0
        if others or many:
            self._pressed_until = now + PRESSURE
        return others or many

    def wrote(self) -> None:
        """A transaction was sent."""
        self._writes.append(self._clock())

    def rests(self) -> bool:
        """Whether to leave northd alone a little longer."""
        now = self._clock()
        if self._nb is None or self.round is None or now >= self._pressed_until or not self._writes:
            return False
        return now < self._writes[-1] + min(LONGEST_REST, ROUNDS_APART * self.round)

    def behind(self) -> bool:
        """Whether to collect a little longer; never for longer than PATIENCE after one stamp."""
        if self._nb is None or self._stamped is None or self._waited:
            return False
        self.looked()
        return self._stamped is not None

    def give_up(self) -> None:
        """Northd took too long: do not wait for this stamp again."""
        self._waited = True

    def wants_stamp(self) -> bool:
        """Whether the next batch of a stream should count up nb_cfg."""
        if self._nb is None:
            return False
        age, stamped = self._clock() - self._stamped_at, self._stamped
        if stamped is not None and self._nb.cfg()[1] < stamped:
            return age >= STAMP_EXPIRY
        return age >= (STAMP_INTERVAL if self.round is None else KNOWN_INTERVAL)

    def stamped(self, nb_cfg: int) -> None:
        """A transaction counted nb_cfg up to this."""
        self._stamped, self._stamped_at, self._waited = nb_cfg, self._clock(), False
        self.looked()


class Committer:
    """Merges the writes of several threads. `others`: whether more work waits for a worker."""

    def __init__(
        self,
        write: WriteBatch,
        pace: Pace,
        others: Callable[[], bool] = lambda: False,
        written: Callable[[AppliedEach], None] = lambda outcome: None,
    ) -> None:
        self._write, self._pace, self._others, self._written = write, pace, others, written
        self._lock = threading.Lock()
        self._tickets: list[_Ticket] = []
        self._turn = threading.Lock()

    def write(self, plans: Sequence[Plan]) -> AppliedEach:
        """Write these plans, alone or with others'; the outcome of these. Blocks until it is known."""
        ticket = _Ticket(plans)
        with self._lock:
            self._tickets.append(ticket)
        with self._turn:
            if not ticket.done.is_set():
                self._collect()
                self._send()
        if ticket.outcome is None:
            raise AssertionError("a ticket was taken and never answered")
        return ticket.outcome

    def _collect(self) -> None:
        end = time.monotonic() + PATIENCE
        while (behind := self._pace.behind()) or self._pace.rests():
            if behind and time.monotonic() >= end:
                LOG.info("northd has not answered our last write for %.1f s: writing on", PATIENCE)
                self._pace.give_up()
                return
            time.sleep(_LOOK)

    def _send(self) -> None:
        with self._lock:
            tickets, self._tickets = self._tickets, []
        plans = [plan for ticket in tickets for plan in ticket.plans]
        stamp = self._pace.pressed(len(tickets) > 1 or self._others()) and self._pace.wants_stamp()
        try:
            outcome = self._write(plans, stamp=stamp)
        except Exception as error:  # every waiting thread must learn of it
            LOG.exception("%d plans could not be written", len(plans))
            outcome = AppliedEach(failed={plan.lb_id: Transient(str(error)) for plan in plans})
        self._pace.wrote()
        numbers = [one.nb_cfg for one in outcome.applied.values() if one.nb_cfg is not None]
        if numbers:
            self._pace.stamped(max(numbers))
        self._written(outcome)
        for ticket in tickets:
            ticket.outcome = _part(outcome, ticket.plans)
            ticket.done.set()


def _part(outcome: AppliedEach, plans: Sequence[Plan]) -> AppliedEach:
    ids = {plan.lb_id for plan in plans}
    return AppliedEach(
        {lb_id: one for lb_id, one in outcome.applied.items() if lb_id in ids},
        {lb_id: error for lb_id, error in outcome.failed.items() if lb_id in ids},
        outcome.transactions,
    )
