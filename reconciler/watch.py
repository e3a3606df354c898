"""Looking at Octavia's database: the poll (the guarantee), the chase of nudges, and the sweep.

One thread, a few cheap queries. Source: architecture.md section 2, octavia-contract.md section 1
("Change detection").
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from ovnlb.desired.model import PENDING
from ovnlb.desired.octavia import DatabaseError
from ovnlb.reconciler.chase import Chase
from ovnlb.reconciler.queue import Priority, WorkQueue
from ovnlb.reconciler.report import Row

LOG = logging.getLogger(__name__)

# updated_at has seconds only, and is written by the clocks of several hosts.
OVERLAP = timedelta(seconds=5)


class Database(Protocol):
    """The queries. All raise DatabaseError."""

    def pending(self) -> list[tuple[str, str]]:
        """Id and status of every load balancer of ours in PENDING_*."""

    def statuses(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Id -> (provisioning status, provider, updated_at)."""

    def updated_since(self, since: datetime) -> list[str]:
        """Ids of the load balancers that changed at `since` or later."""

    def ours(self, provider: str) -> bool:
        """Whether a provider is one of ours."""


@dataclass(frozen=True)
class Intervals:
    """Seconds between two polls, and two sweeps."""

    poll: float = 1.0
    sweep: float = 30.0


class Watch:
    """See the module. `reported`: whether an update of a load balancer is on its way to Octavia."""

    def __init__(
        self,
        database: Database,
        queue: WorkQueue,
        intervals: Intervals,
        reported: Callable[[str], bool] = lambda lb_id: False,
        extra: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._queue, self.intervals = database, queue, intervals
        self._reported, self._extra, self._clock = reported, extra, clock
        self.chase = Chase()
        self._woken = threading.Event()
        self._poll_at = self._sweep_at = clock()
        self._pending_since: dict[str, float] = {}
        self._lost = False
        self._watermark = datetime.now(UTC) - timedelta(hours=1)
        self._swept: dict[str, datetime | None] | None = None
        self.beat = clock()

    def nudged(self, lb_id: str | None) -> None:
        """A nudge has come: for one load balancer, or to look at all of the queue now."""
        if lb_id is None:
            self._poll_at = self._clock()
        else:
            self.chase.nudged(lb_id, self._clock())
        self._woken.set()

    def reset(self) -> None:
        """We write from now on: look at once, and forget what was chased before."""
        self.chase.clear()
        self._poll_at = self._clock()
        self._swept = None
        self._woken.set()

    def pending_since(self, lb_id: str) -> float | None:
        """For how many seconds a load balancer has been seen pending, None when it is not."""
        since = self._pending_since.get(lb_id)
        return None if since is None else self._clock() - since

    @property
    def oldest_pending(self) -> float:
        """Age in seconds of the oldest pending load balancer; 0 without one."""
        oldest = min(self._pending_since.values(), default=None)
        return 0.0 if oldest is None else self._clock() - oldest

    @property
    def lost(self) -> bool:
        """Whether the database could not be read the last time."""
        return self._lost

    def pause(self) -> None:
        """Wait until something is due or a nudge comes, for a second at most."""
        self._woken.wait(min(1.0, max(0.001, self._next_at() - self._clock())))
        self._woken.clear()

    def rest(self) -> None:
        """There is nothing to look for, but this thread lives."""
        self.beat = self._clock()

    def now(self) -> float:
        """The clock of `beat`."""
        return self._clock()

    def look(self) -> None:
        """Do what is due now."""
        now = self.beat = self._clock()
        try:
            if due := self.chase.due(now):
                self._catch(due)
            if now >= self._poll_at:
                self._poll_at = now + self.intervals.poll
                self._poll(now)
            if now >= self._sweep_at:
                self._sweep_at = now + self.intervals.sweep
                self._sweep()
        except DatabaseError as error:
            if not self._lost:
                LOG.warning("Octavia's database cannot be read: %s", error)
            self._lost = True
        except Exception:  # the guarantee must not end
            LOG.exception("looking at Octavia's database failed")

    def _next_at(self) -> float:
        chased = self.chase.next_at()
        regular = min(self._poll_at, self._sweep_at)
        return regular if chased is None else min(regular, chased)

    def _catch(self, due: Mapping[str, float]) -> None:
        found = self._database.statuses(list(due))
        caught = [
            lb_id
            for lb_id, (status, provider, _) in found.items()
            if status in PENDING and self._database.ours(provider)
        ]
        self.chase.caught(caught)
        for lb_id in caught:
            self._queue.add(lb_id, Priority.NUDGE, "nudge", since=due[lb_id])

    def _poll(self, now: float) -> None:
        found = [lb_id for lb_id, _ in self._database.pending()]
        if self._lost:
            LOG.info("Octavia's database can be read again")
            self._lost = False
            self._queue.hasten()
        self._pending_since = {lb_id: self._pending_since.get(lb_id, now) for lb_id in found}
        self._queue.offer((one for one in found if not self._reported(one)), Priority.NUDGE, "poll")
        self._extra()

    def _sweep(self) -> None:
        """Offer what changed since the last sweep; the first sweep only learns what there is."""
        ids = self._database.updated_since(self._watermark - OVERLAP)
        rows = self._database.statuses(ids)
        now = {lb_id: updated for lb_id, (_, _, updated) in rows.items()}
        if self._swept is not None:
            changed = [lb_id for lb_id, updated in now.items() if self._swept.get(lb_id, ...) != updated]
            self._queue.offer((one for one in changed if not self._reported(one)), Priority.RESYNC, "sweep")
        self._swept = now
        newest = max((updated for updated in now.values() if updated is not None), default=None)
        if newest is not None:
            self._watermark = max(self._watermark, newest.replace(tzinfo=UTC))
