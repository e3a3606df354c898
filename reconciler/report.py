"""Telling Octavia: one thread, one message in flight, many load balancers in one message.

What is not reported is not lost: the load balancer is still PENDING, and the next poll walks it again
(to no change) and reports it. So the backlog lives in memory only, and a dead or slow driver-agent
blocks nobody. Source: octavia-contract.md sections 0, 3, 5 and 8.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from ovnlb.desired.model import Provisioning
from ovnlb.desired.octavia import DatabaseError
from ovnlb.desired.verdicts import StatusUpdate, messages

LOG = logging.getLogger(__name__)

# A report that comes alone goes at once; one soon after another waits for more.
GATHER, QUIET = 0.05, 0.1
# Records that go together; a larger load balancer goes by itself. An agent that does not answer in time
# gets less and less, so that a slow one comes to an end before octavia-lib gives up.
RECORDS, FEWEST_RECORDS = 1000, 50
FIRST_PAUSE, LAST_PAUSE = 0.5, 15.0
LAST_REFUSAL = 300.0
# Two messages that delete one object at one time count its quota down twice, and the agent goes on with a
# message whose sender has died or given up: so long deletions wait after either.
DELETION_PAUSE = 3.0
# A round that began this long ago cannot come back with an older graph any more.
_REMEMBER = 3600.0

Seen = tuple[str, datetime | None]
Row = tuple[str, str, datetime | None]


class AgentUnavailable(Exception):
    """The driver-agent is absent or did not answer: what was sent may have been processed or not."""


class AgentRefused(Exception):
    """The driver-agent processed the message and failed on a record of it."""


class Send(Protocol):
    """Sends one message and waits for the answer. Raises AgentUnavailable and AgentRefused."""

    def __call__(self, message: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """A load balancer's update with what it rests on.

    seen: status and updated_at of the LB's row in the applied snapshot. loaded: when the round that
    made it began, on the reporter's clock.
    """

    update: StatusUpdate
    seen: Seen
    loaded: float

    @property
    def deletes(self) -> bool:
        """Whether an object of it goes."""
        return any(record.provisioning == Provisioning.DELETED for record in self.update.records)


class Reporter:
    """See the module.

    reread: id -> (provisioning status, provider, updated_at) from the database, absent ids left out.
    requeue: walk this load balancer again after so many seconds. may_send: whether we are still the writer.
    sent: told of each result (sent, stale, refused, lost) and how many load balancers it was about.
    """

    def __init__(
        self,
        send: Send,
        reread: Callable[[Collection[str]], Mapping[str, Row]],
        requeue: Callable[[str, float], None],
        may_send: Callable[[], bool],
        sent: Callable[[str, int], None] = lambda result, count: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send, self._reread, self._requeue = send, reread, requeue
        self._may_send, self._sent, self._clock = may_send, sent, clock
        self._changed = threading.Condition()
        self._backlog: dict[str, Report] = {}
        self._in_flight: frozenset[str] = frozenset()
        self._reported: dict[str, float] = {}
        self._refusals: dict[str, tuple[int, str]] = {}
        self._pause = 0.0
        self._size = RECORDS
        self._deletions_from = self._flushed = float("-inf")
        self._last_error = ""

    def take_over(self) -> None:
        """We report from now on; whoever did before may still have a message under way."""
        with self._changed:
            self._deletions_from = self._clock() + DELETION_PAUSE

    def submit(self, report: Report) -> None:
        """Report this; an unsent older report of the same load balancer is replaced."""
        with self._changed:
            self._backlog[report.update.lb_id] = report
            self._changed.notify()

    def holds(self, lb_id: str) -> bool:
        """Whether an update of this load balancer waits or is under way."""
        with self._changed:
            return lb_id in self._backlog or lb_id in self._in_flight

    @property
    def backlog(self) -> int:
        """Load balancers whose update waits or is under way."""
        with self._changed:
            return len(self._backlog.keys() | self._in_flight)

    @property
    def last_error(self) -> str:
        """Why reports wait, or why one was refused; empty when all is well."""
        with self._changed:
            refused = next((text for _, text in reversed(self._refusals.values())), "")
            return self._last_error or refused

    def clear(self) -> None:
        """Forget everything: another process reports now."""
        with self._changed:
            self._backlog.clear()
            self._refusals.clear()

    def run(self, stop: threading.Event) -> None:
        """Report until `stop` is set."""
        while not stop.is_set():
            with self._changed:
                if not self._backlog:
                    self._changed.wait(0.5)
                    continue
            if self._clock() - self._flushed >= QUIET or not stop.wait(GATHER):
                self.flush()
                self._flushed = self._clock()
            if self._pause and not stop.is_set():
                stop.wait(self._pause)

    def flush(self) -> None:
        """Send what is ready now. After an AgentUnavailable the rest stays in the backlog."""
        for chunk in self._chunks():
            try:
                self._report(chunk)
            except (AgentUnavailable, DatabaseError) as error:
                self._wait(chunk, error)
                return
            finally:
                self._in_flight = frozenset()
        self._pause, self._last_error = 0.0, ""

    def _chunks(self) -> Iterable[tuple[Report, ...]]:
        """The backlog, taken piece by piece so that the latest update counts."""
        while True:
            with self._changed:
                chunk: list[Report] = []
                records, held = 0, self._clock() < self._deletions_from
                for report in self._backlog.values():
                    if held and report.deletes:
                        continue
                    records += len(report.update.records)
                    if chunk and records > self._size:
                        break
                    chunk.append(report)
                for report in chunk:
                    del self._backlog[report.update.lb_id]
                self._in_flight = frozenset(report.update.lb_id for report in chunk)
            if not chunk:
                return
            yield tuple(chunk)

    def _report(self, chunk: Sequence[Report]) -> None:
        try:
            self._deliver(chunk)
        except AgentRefused as error:
            if len(chunk) == 1:
                self._refused(chunk[0], error)
                return
            LOG.warning("the driver-agent refused a message: %s; telling it one by one", error)
            for report in chunk:
                self._report((report,))

    def _deliver(self, chunk: Sequence[Report]) -> None:
        """Send the messages of these reports, looking at the database again before each of them."""
        valid = self._valid(chunk)
        for number, message in enumerate(messages([report.update for report in valid])):
            if number and len(self._valid(valid)) != len(valid):
                for report in valid:
                    self._requeue(report.update.lb_id, 0.0)
                return
            if not self._may_send():
                LOG.info("not the writer any more: %d load balancers are not reported", len(valid))
                return
            self._send(message)
        now = self._clock()
        with self._changed:
            self._reported.update({report.update.lb_id: now for report in valid})
            for report in valid:
                self._refusals.pop(report.update.lb_id, None)
            if len(self._reported) > 10_000:
                self._reported = {key: at for key, at in self._reported.items() if now - at < _REMEMBER}
        if valid:
            self._size = min(RECORDS, 2 * self._size)
            self._sent("sent", len(valid))

    def _valid(self, chunk: Sequence[Report]) -> list[Report]:
        """Those whose row is as it was in their snapshot; the others are walked again."""
        rows = self._reread([report.update.lb_id for report in chunk])
        valid = []
        for report in chunk:
            lb_id = report.update.lb_id
            row = rows.get(lb_id)
            current = None if row is None else (row[0], row[2])
            # updated_at has seconds only: a round that began before our last report may be about an
            # operation that this report has ended.
            if current == report.seen and report.loaded > self._reported.get(lb_id, float("-inf")):
                valid.append(report)
                continue
            self._sent("stale", 1)
            if row is not None:
                self._requeue(lb_id, 0.0)
        return valid

    def _refused(self, report: Report, error: AgentRefused) -> None:
        LOG.error("load balancer %s: the driver-agent refused its status: %s", report.update.lb_id, error)
        self._sent("refused", 1)
        with self._changed:
            count = self._refusals.get(report.update.lb_id, (0, ""))[0] + 1
            self._refusals[report.update.lb_id] = count, str(error)
        self._requeue(report.update.lb_id, min(LAST_REFUSAL, FIRST_PAUSE * 2 ** min(count, 20)))

    def _wait(self, chunk: Sequence[Report], error: Exception) -> None:
        if not self._pause:
            LOG.warning("statuses wait: %s", error)
        self._sent("lost", len(chunk))
        self._last_error = str(error)
        self._pause = min(LAST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
        self._size = max(FEWEST_RECORDS, self._size // 2)
        with self._changed:
            self._deletions_from = self._clock() + DELETION_PAUSE
            for report in chunk:
                self._backlog.setdefault(report.update.lb_id, report)
