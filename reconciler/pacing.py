"""Group commit: what several workers want to write at one time goes in one OVSDB transaction.

A worker that finds nobody writing writes at once; what comes while it writes, or while northd is still
busy with our last stamped transaction, is collected and sent together. Source: architecture.md
section 5, performance-facts.md (one northd round costs the same for 1 and for 500 changes).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ovnlb.diff.plan import Plan
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.errors import Transient

LOG = logging.getLogger(__name__)

# The longest wait for northd: a stuck one never blocks us.
PATIENCE = 2.0
# Every chassis answers a stamp with a write to the Southbound database.
STAMP_INTERVAL = 1.0
# A stamp that northd has not answered for so long says nothing any more.
STAMP_EXPIRY = 30.0
_LOOK = 0.01


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
    """Whether northd is behind our last stamped write. `nb` None: no pacing at all."""

    def __init__(self, nb: Northbound | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._nb, self._clock = nb, clock
        self._stamped: int | None = None
        self._stamped_at = float("-inf")
        self._waited = False

    def behind(self) -> bool:
        """Whether to collect a little longer; never for longer than PATIENCE after one stamp."""
        if self._nb is None or self._stamped is None or self._waited:
            return False
        if self._nb.cfg()[1] >= self._stamped:
            self._stamped = None
            return False
        return True

    def give_up(self) -> None:
        """Northd took too long: do not wait for this stamp again."""
        self._waited = True

    def wants_stamp(self) -> bool:
        """Whether the next batch should count up nb_cfg, given that others wait."""
        if self._nb is None:
            return False
        age = self._clock() - self._stamped_at
        if self._stamped is not None and self._nb.cfg()[1] < self._stamped:
            return age >= STAMP_EXPIRY
        return age >= STAMP_INTERVAL

    def stamped(self, nb_cfg: int) -> None:
        """A transaction counted nb_cfg up to this."""
        self._stamped, self._stamped_at, self._waited = nb_cfg, self._clock(), False


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
        while self._pace.behind():
            if time.monotonic() >= end:
                LOG.info("northd has not answered our last write for %.1f s: writing on", PATIENCE)
                self._pace.give_up()
                return
            time.sleep(_LOOK)

    def _send(self) -> None:
        with self._lock:
            tickets, self._tickets = self._tickets, []
        plans = [plan for ticket in tickets for plan in ticket.plans]
        stamp = (len(tickets) > 1 or self._others()) and self._pace.wants_stamp()
        try:
            outcome = self._write(plans, stamp=stamp)
        except Exception as error:  # every waiting thread must learn of it
            LOG.exception("%d plans could not be written", len(plans))
            outcome = AppliedEach(failed={plan.lb_id: Transient(str(error)) for plan in plans})
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
