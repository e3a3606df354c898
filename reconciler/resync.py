"""The full pass: every load balancer, oldest check first, as a trickle behind everything else.

Asked for by the schedule, by a new leadership and by a reconnect; one pass at a time, requests that
come during one are one more pass. Source: architecture.md sections 2 and 5.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping

from ovnlb.desired.octavia import DatabaseError
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.neutron_errors import NeutronError
from ovnlb.reconciler.queue import Priority, WorkQueue
from ovnlb.reconciler.rounds import Done, Result

LOG = logging.getLogger(__name__)

_AGAIN_AFTER = 5.0


class ListedFips(Mapping[str, str]):
    """The floating IPs of one listing, as the mapping that a walk asks port by port.

    noted: a port's floating IP in the Northbound database. Where it differs, Neutron is asked again:
    the listing may be older than the note, and must not take a new floating IP out of the rows.
    """

    def __init__(self, neutron: SdkNeutron, noted: Callable[[str], str | None]) -> None:
        self._neutron, self._noted = neutron, noted

    def __getitem__(self, port_id: str) -> str:
        fip = self._neutron.floating_ips((port_id,)).get(port_id)
        if fip != self._noted(port_id):
            fip = self._neutron.floating_ip_now(port_id)
        if fip is None:
            raise KeyError(port_id)
        return fip

    def __iter__(self) -> Iterator[str]:
        raise TypeError("a listing is asked port by port")

    def __len__(self) -> int:
        raise TypeError("a listing is asked port by port")


class Resync:
    """See the module.

    living: ids of all load balancers of ours. checked: when one was walked last (any clock; small for
    never). listing: makes Neutron's floating IPs be listed anew, None when Neutron is away.
    finished: told of the duration of a complete pass.
    """

    def __init__(
        self,
        queue: WorkQueue,
        living: Callable[[], Collection[str]],
        checked: Callable[[str], float],
        listing: Callable[[], Mapping[str, str] | None],
        finished: Callable[[float], None] = lambda duration: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue, self._living, self._checked = queue, living, checked
        self._listing, self._finished, self._clock = listing, finished, clock
        self._changed = threading.Condition()
        self._wanted = ""
        self._requested = clock()
        self._remaining: set[str] = set()
        self.fips: Mapping[str, str] | None = None
        self.last_success: float | None = None

    def request(self, why: str) -> None:
        """Ask for a pass."""
        with self._changed:
            self._wanted = self._wanted or why
            self._requested = self._clock()
            self._changed.notify_all()

    def settled(self, done: Done) -> None:
        """A load balancer has had its round, whatever came of it."""
        with self._changed:
            self._remaining.discard(done.lb_id)
            if not self._remaining or done.result is Result.NOT_LEADER:
                self._changed.notify_all()

    def abandon(self) -> None:
        """Not the writer any more: the pass under way ends without success, and none is wanted."""
        with self._changed:
            self._wanted = ""
            self._remaining = {""} if self._remaining else set()
            self._changed.notify_all()

    def overdue(self, interval: float) -> bool:
        """Whether no pass has been asked for in so many seconds of the monotonic clock."""
        return self._clock() - self._requested > interval

    @property
    def age(self) -> float | None:
        """Seconds since the last complete pass, None before the first."""
        return None if self.last_success is None else self._clock() - self.last_success

    def run(self, stop: threading.Event) -> None:
        """Make passes until `stop` is set."""
        while not stop.is_set():
            with self._changed:
                if not self._wanted:
                    self._changed.wait(0.5)
                    continue
                why, self._wanted = self._wanted, ""
            try:
                self._pass(why, stop)
            except DatabaseError as error:
                LOG.warning("the full pass (%s) waits: %s", why, error)
                self._retry(why, stop)
            except Exception:  # the schedule must not end
                LOG.exception("the full pass (%s) broke", why)
                self._retry(why, stop)

    def _retry(self, why: str, stop: threading.Event) -> None:
        stop.wait(_AGAIN_AFTER)
        self.request(why)

    def _pass(self, why: str, stop: threading.Event) -> None:
        started = self._clock()
        ids = sorted(self._living(), key=lambda lb_id: (self._checked(lb_id), lb_id))
        try:
            self.fips = self._listing()
        except NeutronError as error:
            # The rows then follow what Neutron noted in the Northbound database.
            LOG.warning("no floating IPs from Neutron for this pass: %s", error)
            self.fips = None
        with self._changed:
            self._remaining = set(ids)
        self._queue.offer(ids, Priority.RESYNC, f"resync:{why}")
        backing_off = {lb_id for lb_id in ids if self._queue.backs_off(lb_id)}
        with self._changed:
            self._remaining -= backing_off
        while not stop.is_set():
            with self._changed:
                if not self._remaining or self._remaining == {""}:
                    break
                self._changed.wait(0.5)
        if stop.is_set() or self._remaining:
            self._remaining = set()
            return
        self.last_success = self._clock()
        duration = self.last_success - started
        LOG.info("full pass (%s): %d load balancers in %.2f s", why, len(ids), duration)
        self._finished(duration)
