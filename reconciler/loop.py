"""The workers: keys from the queue, rounds over them, and what follows from each outcome.

Source: architecture.md sections 2, 4 and 5.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ovnlb.desired.blame import blamed
from ovnlb.desired.model import PENDING, LoadBalancer
from ovnlb.desired.octavia import DatabaseError
from ovnlb.desired.verdicts import Outcome, StatusUpdate, status_update
from ovnlb.diff.plan import Plan
from ovnlb.observed.neutron_errors import NeutronError
from ovnlb.reconciler.interest import Interest
from ovnlb.reconciler.journal import Entry, Journal
from ovnlb.reconciler.metrics import Metrics
from ovnlb.reconciler.orphans import Incomplete
from ovnlb.reconciler.queue import Priority, Work, WorkQueue
from ovnlb.reconciler.report import Report, Reporter
from ovnlb.reconciler.rounds import SETTLED, Done, Means, Result, play

LOG = logging.getLogger(__name__)

# Load balancers in one round: few enough that the first of them does not wait long for the last.
BATCH = 200
# Of a resync: a nudge never waits for more than these.
TRICKLE = 100
# A worker without work looks up now and then all the same.
_PATIENCE = 10.0
# As much of a transaction's comment as tells it from others in `ovsdb-tool show-log`: the first LB id.
_COMMENT = 42
# The outcomes after which a key comes back by itself.
_AGAIN = frozenset({Result.WAITING, Result.STALE, Result.TRANSIENT, Result.TERMINAL, Result.REFUSED})


@dataclass(frozen=True)
class Desk:
    """What the workers share. means: how a round reads and writes; True for a resync's rounds.

    settled: told of every outcome. report: whether Octavia is told at all (not by an observer).
    error_after: seconds of failures until a verdict. chores: keys that are no load balancer's, with
    what to do; a chore that raises comes back with backoff.
    """

    queue: WorkQueue
    means: Callable[[bool], Means]
    reporter: Reporter
    journal: Journal
    interest: Interest
    metrics: Metrics
    settled: Callable[[Done], None] = lambda done: None
    report: bool = True
    error_after: Callable[[], float] = lambda: 600.0
    clock: Callable[[], float] = time.monotonic
    chores: Mapping[str, Callable[[], None]] = field(default_factory=dict)


def work(desk: Desk, stop: threading.Event, urgent_only: bool = False) -> None:
    """A worker's life. `urgent_only`: leave resyncs to the others, so that a nudge finds somebody free."""
    while not stop.is_set():
        batch = desk.queue.take(BATCH, _PATIENCE, trickle=0 if urgent_only else TRICKLE)
        if batch:
            run_batch(desk, batch)


def run_batch(desk: Desk, batch: Sequence[Work]) -> None:
    """One round over locked keys; every key is unlocked again, whatever happens."""
    balancers = [item for item in batch if item.key not in desk.chores]
    if balancers:
        _run_round(desk, balancers)
    for item in batch:
        if item.key in desk.chores:
            _chore(desk, item)


def _run_round(desk: Desk, batch: Sequence[Work]) -> None:
    started, by_key = desk.clock(), {item.key: item for item in batch}
    for item in batch:
        desk.metrics.queue_wait.observe(max(0.0, started - item.ready))
    for done in _play(desk, batch):
        item = by_key.pop(done.lb_id)
        try:
            _settle(desk, item, done, started)
        except Exception:
            LOG.exception("load balancer %s: its outcome could not be dealt with", done.lb_id)
            desk.queue.retry(done.lb_id)
    for key in by_key:
        desk.queue.retry(key)


def _chore(desk: Desk, item: Work) -> None:
    try:
        desk.chores[item.key]()
    except (DatabaseError, NeutronError, Incomplete) as error:
        LOG.warning("%s: again in %.1f s: %s", item.key, desk.queue.retry(item.key), error)
    except Exception:  # a chore must never end a worker
        LOG.exception("%s: again in %.1f s", item.key, desk.queue.retry(item.key))
    else:
        desk.queue.done(item.key)


def _play(desk: Desk, batch: Sequence[Work]) -> Sequence[Done]:
    keys = [item.key for item in batch]
    try:
        return play(keys, desk.means(batch[0].priority is Priority.RESYNC))
    except (DatabaseError, NeutronError) as error:
        LOG.warning("%d load balancers wait: %s", len(keys), error)
        return [Done(key, Result.TRANSIENT, error=str(error)) for key in keys]
    except Exception as error:  # a round must never end a worker
        LOG.exception("a round over %d load balancers broke", len(keys))
        return [Done(key, Result.TRANSIENT, error=f"{type(error).__name__}: {error}") for key in keys]


def _settle(desk: Desk, item: Work, done: Done, started: float) -> None:
    now = desk.clock()
    entry = desk.journal.record(done, tuple(sorted(item.triggers)), now - started)
    desk.metrics.round(done, now - started)
    if done.plans:
        log_plans(done, item, now - started)
    if done.result in SETTLED and done.walked is not None:
        desk.interest.put(done.walked)
        _report(desk, done.walked.lb, done.update, started)
        if done.result is Result.CHANGED and "nudge" in item.triggers:
            desk.metrics.nudge_to_commit.observe(max(0.0, now - item.since))
    if done.result is Result.GONE:
        desk.interest.forget(done.lb_id)
    desk.settled(done)
    if done.result in _AGAIN:
        _failed(desk, item, done, entry, started)
    else:
        desk.queue.done(done.lb_id)


def _failed(desk: Desk, item: Work, done: Done, entry: Entry, started: float) -> None:
    verdict = None
    if entry.failing >= desk.error_after() and done.result is Result.TERMINAL and done.lb is not None:
        verdict = failure_update(done.lb)
    if verdict is not None and desk.report:
        LOG.error(
            "load balancer %s fails for %.0f s: reporting ERROR: %s", done.lb_id, entry.failing, done.error
        )
        _report(desk, done.lb, verdict, started)
        desk.queue.done(done.lb_id)
        return
    delay = desk.queue.retry(done.lb_id)
    level = logging.DEBUG if done.result in (Result.STALE, Result.WAITING) else logging.WARNING
    LOG.log(
        level,
        "load balancer %s: %s (failure %d, again in %.1f s): %s",
        done.lb_id,
        done.result,
        item.failures + 1,
        delay,
        done.error,
    )


def _report(desk: Desk, lb: LoadBalancer | None, update: StatusUpdate | None, started: float) -> None:
    if desk.report and lb is not None and update is not None and update.records:
        desk.reporter.submit(Report(update, (lb.provisioning_status, lb.updated_at), started))


def failure_update(lb: LoadBalancer) -> StatusUpdate | None:
    """The verdict on an operation that has failed for good; None when nothing may be reported."""
    failed = blamed(lb)
    if not failed or lb.provisioning_status not in PENDING:
        return None
    members: Mapping[str, str] = {
        member.id: member.operating_status for pool in lb.pools for member in pool.members
    }
    return status_update(lb, members, Outcome(failed))


def log_plans(done: Done, item: Work, duration: float) -> None:
    """One line for what was written for one load balancer, with key=value fields."""
    changes = [change for plan in done.plans for change in plan.changes]
    LOG.info(
        "applied lb=%s trigger=%s reasons=%s operations=%d effects=%d transactions=%d result=%s "
        "duration=%.3f transaction=%r",
        done.lb_id,
        ",".join(sorted(item.triggers)),
        ",".join(sorted({str(change.reason) for change in changes})),
        len(changes),
        _effects(done.plans),
        len(done.plans),
        done.result,
        duration,
        done.transaction[:_COMMENT],
    )


def _effects(plans: Sequence[Plan]) -> int:
    return sum(len(plan.effects) for plan in plans)
