"""The service: the daemon that keeps every load balancer as it must be, for years.

Assembles what the other modules do and runs it until it is told to stop. The only module that knows
of all of them; it decides nothing about rows. Source: architecture.md sections 2, 4, 5, 8 and 9.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from ovnlb.desired.model import LoadBalancer, Provisioning
from ovnlb.diff.policy import Policy
from ovnlb.observed.neutron_rows import port_fip
from ovnlb.reconciler.account import about, condition
from ovnlb.reconciler.connections import Connections, connect
from ovnlb.reconciler.gauges import bind_gauges
from ovnlb.reconciler.health_page import HealthPage
from ovnlb.reconciler.interest import Interest
from ovnlb.reconciler.journal import Journal
from ovnlb.reconciler.loop import Desk, work
from ovnlb.reconciler.metrics import Metrics
from ovnlb.reconciler.monitor_health import MonitorHealth
from ovnlb.reconciler.nudge_socket import NudgeSocket
from ovnlb.reconciler.orphan_keeper import ORPHANS, keeper_of
from ovnlb.reconciler.pacing import Committer, Pace
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.ports import Ports
from ovnlb.reconciler.queue import Priority, WorkQueue
from ovnlb.reconciler.reloading import merged
from ovnlb.reconciler.report import Reporter, Send
from ovnlb.reconciler.resync import ListedFips, Resync
from ovnlb.reconciler.rounds import Done, Means, Result
from ovnlb.reconciler.schedule import ticking
from ovnlb.reconciler.sd_notify import notify, watchdog_interval
from ovnlb.reconciler.settings import Settings
from ovnlb.reconciler.sources import EventSource
from ovnlb.reconciler.status_socket import StatusSocket
from ovnlb.reconciler.walk import World
from ovnlb.reconciler.watch import Intervals, Watch
from ovnlb.reconciler.writing import write_batch

LOG = logging.getLogger(__name__)

_TICK = 0.2
_STOP_PATIENCE = 30.0
_REPORT_PATIENCE = 10.0
# A thread that has not moved for so long has died or hangs.
_BEAT = 120.0
# Intervals without a tick after which the scheduler is not waited for.
_OVERDUE = 1.3


class Service:
    """One daemon. `send` is how Octavia is told, for tests; the status socket when None."""

    def __init__(self, settings: Settings, send: Send | None = None) -> None:
        self.settings = settings
        self.writes = Policy(settings.policy) is not Policy.OBSERVE_ONLY
        self.metrics, self.queue = Metrics(), WorkQueue()
        self.interest, self.journal = Interest(), Journal()
        self.leading = False
        self.first_pass = threading.Event()
        self._send = StatusSocket(settings.sockets) if send is None else send
        self._threads: list[threading.Thread] = []
        self._notified = 0.0

    # Assembly

    def run(self, stop: threading.Event, started: Callable[[], None] = lambda: None) -> None:
        """Work until `stop` is set, then finish what is in flight.

        Raises what connecting raises, before anything was written. `started` is called when every
        thread runs.
        """
        with ExitStack() as stack:
            self._assemble(connect(self.settings, stack, lock=self.writes))
            if self.settings.metrics_listen:
                page = HealthPage(self.settings.metrics_listen, self.metrics.text, self.healthy, self.ready)
                stack.callback(page.close)
            for warning in self.settings.warnings:
                LOG.warning("%s", warning)
            self._run(stop, started)

    def _assemble(self, connections: Connections) -> None:
        settings, nb = self.settings, connections.nb
        self.connections = connections
        memory = PortMemory(nb, monitor_mac=settings.hm_port_monitor_mac)
        self.health = MonitorHealth(connections.southbound.health)
        self.world = World(
            nb=nb,
            neutron=connections.neutron,
            health=self.health,
            policy=Policy(settings.policy),
            drain=settings.drain_on_zero_weight,
            ports=memory,
        )
        self.ports = Ports(connections.client, nb, memory)
        pace = Pace(nb if settings.pace_northd else None)
        nb.on_change(lambda event: pace.looked() if event.table == "NB_Global" else None)
        self.committer = Committer(
            partial(write_batch, nb), pace, lambda: self.queue.busy, self.metrics.written
        )
        self.reporter = Reporter(
            self._send,
            connections.database.statuses,
            self._requeue,
            self._may_report,
            self.metrics.report,
        )
        self.watch = Watch(
            connections.database,
            self.queue,
            Intervals(settings.poll_interval, settings.sweep_interval),
            self.reporter.holds,
            self._overdue,
        )
        self.keeper = keeper_of(connections, settings, self.committer.write, self.metrics, memory)
        self.resync = Resync(
            self.queue, connections.database.living, self._checked, self._listing, self._passed
        )
        self.desk = Desk(
            queue=self.queue,
            means=self.means,
            reporter=self.reporter,
            journal=self.journal,
            interest=self.interest,
            metrics=self.metrics,
            settled=self._settled,
            report=self.writes,
            error_after=lambda: self.settings.error_after,
            chores={ORPHANS: self.keeper.run},
        )
        self.socket = NudgeSocket(settings.nudge_socket, self.watch.nudged, self.answer)
        self.events = EventSource(self.queue, self.interest, self._request)
        bind_gauges(self)

    def means(self, resync: bool) -> Means:
        """How a round reads and writes now."""
        return Means(
            world=self.world,
            load=self.connections.database.load,
            write=self.committer.write,
            perform=self.ports.perform,
            fips=self.resync.fips if resync else None,
            vip_port_exists=self._may_heal,
        )

    def _may_report(self) -> bool:
        """Whether we are the writer now, the next tick not waited for."""
        return self.leading and (self.connections.nb.has_lock or not self.writes)

    def _may_heal(self, lb: LoadBalancer) -> bool:
        """Whether a load balancer in ERROR may become ACTIVE; Neutron is asked only about those."""
        return lb.provisioning_status != Provisioning.ERROR or self.ports.vip_port_exists(lb)

    # Life

    def _run(self, stop: threading.Event, started: Callable[[], None]) -> None:
        workers, watchers = threading.Event(), threading.Event()
        count = max(1, self.settings.workers)
        working = [
            self._thread(f"worker-{number}", work, self.desk, workers, number == 0 and count > 1)
            for number in range(count)
        ]
        watching = [
            self._thread("watch", self._watch, watchers),
            self._thread("resync", self.resync.run, watchers),
            self._thread("reporter", self.reporter.run, watchers),
        ]
        forget = self.connections.nb.on_change(self.events.northbound)
        self.connections.southbound.start(self.events.southbound)
        scheduler = ticking(self._request, self.settings.resync_interval)
        self._scheduler = scheduler
        for thread in (*working, *watching):
            thread.start()
        self._threads = [*working, *watching]
        LOG.info("connected, as %s", self.role)
        notify("READY=1")
        started()
        while not stop.wait(_TICK):
            self._tick()
        notify("STOPPING=1")
        LOG.info("stopping: finishing what is in flight")
        scheduler.shutdown(wait=False)
        self.socket.close()
        forget()
        workers.set()
        self.queue.close()
        _join(working, _STOP_PATIENCE)
        if self.leading and not self.reporter.last_error:
            flush = threading.Thread(target=self.reporter.flush, name="last reports", daemon=True)
            flush.start()
            flush.join(_REPORT_PATIENCE)
        watchers.set()
        _join(watching, _REPORT_PATIENCE)

    def _thread(self, name: str, target: Callable[..., None], *args: Any) -> threading.Thread:
        return threading.Thread(target=target, args=args, name=name, daemon=True)

    def _watch(self, stop: threading.Event) -> None:
        """Look at the database while we write; a follower leaves it alone."""
        while not stop.is_set():
            if self.leading:
                self.watch.look()
                self.watch.pause()
            else:
                self.watch.rest()
                stop.wait(_TICK)

    def _tick(self) -> None:
        """Follow the lock, feed the watchdog."""
        nb = self.connections.nb
        lead = nb.has_lock if self.writes else nb.connected
        if lead != self.leading:
            (self._take_over if lead else self._stand_back)()
        if lead and self.resync.overdue(_OVERDUE * self.settings.resync_interval):
            # The scheduler follows the wall clock, which may have been put back by a day.
            self._request("overdue")
        interval = watchdog_interval()
        if interval is not None and self.watch.now() - self._notified >= interval and self.healthy()[0]:
            notify("WATCHDOG=1")
            self._notified = self.watch.now()

    def _take_over(self) -> None:
        LOG.info("this process writes now" if self.writes else "observing only: nothing is written")
        self.queue.open()
        self.watch.reset()
        self.reporter.take_over()
        self.leading = True
        self._request("leader")
        if self.writes:
            self.socket.open()

    def _stand_back(self) -> None:
        LOG.warning("this process does not write any more: the Northbound lock is not ours")
        self.leading = False
        self.socket.close()
        self.queue.park()
        self.reporter.clear()
        self.resync.abandon()
        self.journal.clear()
        self.interest.clear()
        self.first_pass.clear()

    def reload(self, new: Settings) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take over what can be changed while running; names of what changed, and of what needs a restart."""
        self.settings, changed, restart = merged(self.settings, new)
        if {"poll_interval", "sweep_interval"} & set(changed):
            self.watch.intervals = Intervals(new.poll_interval, new.sweep_interval)
        if "resync_interval" in changed:
            self._scheduler.reschedule_job("resync", trigger="interval", seconds=new.resync_interval)
        return changed, restart

    # What the parts tell each other

    def _request(self, why: str) -> None:
        if self.leading:
            self.resync.request(why)

    def _requeue(self, lb_id: str, after: float) -> None:
        self.queue.add(lb_id, Priority.RETRY, "report", after=after)

    def _overdue(self) -> None:
        for lb_id in self.health.due():
            self.queue.add(lb_id, Priority.RETRY, "monitor overdue")

    def _settled(self, done: Done) -> None:
        if done.result is Result.GONE:
            self.health.forget(done.lb_id)
            if self.world.ports is not None:
                self.world.ports.forget(done.lb_id)
        elif done.walked is not None and not done.error:
            self.health.walked(done.walked)
        self.resync.settled(done)

    def _checked(self, lb_id: str) -> float:
        entry = self.journal.about(lb_id)
        return 0.0 if entry is None else entry.at

    def _listing(self) -> Mapping[str, str]:
        neutron = self.connections.neutron
        neutron.refresh()
        neutron.recheck_subnets()
        neutron.floating_ips(())
        return ListedFips(neutron, self._noted_fip)

    def _noted_fip(self, port_id: str) -> str | None:
        port = self.world.nb.port(port_id)
        return None if port is None else port_fip(port.external_ids)

    def _passed(self, duration: float) -> None:
        self.metrics.pass_duration.set(duration)
        self.metrics.pass_success.set_to_current_time()
        self.first_pass.set()
        self.queue.add(ORPHANS, Priority.RESYNC, "full pass")

    # What it tells of itself

    def answer(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question over the nudge socket."""
        kind, lb = question["ask"], question.get("lb")
        if kind == "show":
            return self.about(lb) if isinstance(lb, str) else self.ready()[1]
        if kind == "reconcile" and isinstance(lb, list):
            ids = [one for one in lb if isinstance(one, str)]
            for lb_id in ids:
                self.queue.add(lb_id, Priority.NUDGE, "asked")
            return {"queued": len(ids)}
        if kind == "prune":
            answer = self.keeper.requested(question)
            self.queue.add(ORPHANS, Priority.NUDGE, "asked")
            return answer
        return {"error": f"unknown question {kind!r}"}

    def about(self, lb_id: str) -> Mapping[str, Any]:
        """What the service thinks of a load balancer; times in seconds, `at` since the epoch."""
        return about(self, lb_id)

    @property
    def role(self) -> str:
        """leader, follower or observer."""
        if not self.writes:
            return "observer"
        return "leader" if self.leading else "follower"

    def healthy(self) -> tuple[bool, Mapping[str, Any]]:
        """Whether the loop lives."""
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        idle = self.watch.now() - self.watch.beat
        return not dead and idle < _BEAT, {"dead_threads": dead, "last_look_seconds": round(idle, 1)}

    def ready(self) -> tuple[bool, Mapping[str, Any]]:
        """Whether the first pass is done (a follower: the replicas are complete), and how things are."""
        nb = self.connections.nb
        return nb.connected and (self.first_pass.is_set() or not self.leading), condition(self)


def _join(threads: Sequence[threading.Thread], patience: float) -> None:
    for thread in threads:
        thread.join(patience)
        if thread.is_alive():
            LOG.error("%s has not finished within %.0f s", thread.name, patience)
