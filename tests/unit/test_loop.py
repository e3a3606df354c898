"""Workers and outcomes: what is reported, what comes back, and when an operation is given up."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from clocks import Clock
from ovnlb.desired.blame import blamed
from ovnlb.desired.model import HealthMonitor, Listener, LoadBalancer, Member, Pool, Vip
from ovnlb.desired.octavia import DatabaseUnavailable
from ovnlb.desired.verdicts import Record, StatusUpdate
from ovnlb.reconciler import loop
from ovnlb.reconciler.interest import Interest
from ovnlb.reconciler.journal import Journal
from ovnlb.reconciler.loop import Desk, failure_update, run_batch
from ovnlb.reconciler.metrics import Metrics
from ovnlb.reconciler.queue import Priority, WorkQueue
from ovnlb.reconciler.rounds import Done, Result

T0 = datetime(2026, 1, 1)


def graph(
    lb: str = "ACTIVE",
    listener: str = "ACTIVE",
    pool: str = "ACTIVE",
    member: str = "ACTIVE",
    hm: str = "ACTIVE",
) -> LoadBalancer:
    """A load balancer with one of everything, in these provisioning statuses."""
    monitor = HealthMonitor("hm", "pool", "TCP", 5, 3, 2, 3, True, hm, "ONLINE")
    backend = Member("member", "pool", "10.0.0.9", 80, "s", 1, False, True, member, "ONLINE")
    backends = Pool("pool", "TCP", "SOURCE_IP_PORT", True, pool, "ONLINE", T0, None, (backend,), monitor)
    front = Listener("listener", "TCP", 80, "pool", True, listener, "ONLINE", T0)
    vip = Vip("10.0.0.1", "p", "s", "n")
    return LoadBalancer("lb", "prj", "lb", "ovn", True, lb, "ONLINE", T0, T0, vip, (), (front,), (backends,))


PU, PC, PD = "PENDING_UPDATE", "PENDING_CREATE", "PENDING_DELETE"
EVERYTHING = ("lb", "listener", "pool", "member", "hm")


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        ({"lb": PU, "listener": PU, "pool": PU, "member": PC}, {"member"}),
        ({"lb": PU, "listener": PU, "pool": PU, "hm": PU}, {"hm"}),
        ({"lb": PU, "listener": PU, "pool": PC}, {"pool"}),
        ({"lb": PU, "listener": PU}, {"listener"}),
        ({"lb": PU}, {"lb"}),
        (
            {"lb": PC, "listener": PC, "pool": PC, "member": PC, "hm": PC},
            {"lb", "listener", "pool", "member", "hm"},
        ),
        ({"lb": PD}, set()),
        ({"lb": PU, "listener": PU, "pool": PU, "member": PD}, set()),
        ({}, set()),
    ],
    ids=[
        "member",
        "monitor",
        "pool",
        "listener",
        "lb-update",
        "lb-create",
        "lb-delete",
        "member-delete",
        "none",
    ],
)
def test_the_deepest_pending_objects_are_blamed(pending, expected):
    assert blamed(graph(**pending)) == expected


def test_a_failed_pool_is_ERROR_and_what_it_locked_is_ACTIVE_B003():
    update = failure_update(graph(lb=PU, listener=PU, pool=PU))
    verdicts = {record.id: record.provisioning for record in update.records}
    assert verdicts == {"pool": "ERROR", "listener": "ACTIVE", "lb": "ACTIVE"}
    assert [record.id for record in update.records][-1] == "lb"


def test_a_failed_create_is_ERROR_as_a_whole():
    update = failure_update(graph(lb=PC, listener=PC, pool=PC, member=PC, hm=PC))
    assert {record.provisioning for record in update.records} == {"ERROR"}


@pytest.mark.parametrize("pending", [{"lb": PD}, {"lb": PU, "listener": PU, "pool": PU, "member": PD}, {}])
def test_deletions_never_become_ERROR_B007(pending):
    assert failure_update(graph(**pending)) is None


@dataclass
class Bench:
    """A desk whose rounds end as the test says."""

    clock: Clock = field(default_factory=Clock)
    outcomes: dict[str, Any] = field(default_factory=dict)
    reported: list[Any] = field(default_factory=list)
    settled: list[Done] = field(default_factory=list)
    error: Exception | None = None
    chores: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        self.queue = WorkQueue(self.clock, lambda: 0.5)
        self.queue.open()
        self.desk = Desk(
            queue=self.queue,
            means=lambda resync: resync,
            reporter=self,
            journal=Journal(self.clock, self.clock),
            interest=Interest(),
            metrics=Metrics(),
            settled=self.settled.append,
            error_after=lambda: 600.0,
            clock=self.clock,
            chores=self.chores,
        )

    def submit(self, report):
        self.reported.append(report)

    def play(self, ids, means):
        if self.error is not None:
            raise self.error
        return [self.outcomes[lb_id] for lb_id in ids]

    def run(self, *keys):
        for key in keys:
            self.queue.add(key, Priority.NUDGE, "test")
        run_batch(self.desk, self.queue.take(99))

    def value(self, name, **labels):
        return self.desk.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def bench(monkeypatch):
    made = Bench()
    monkeypatch.setattr(loop, "play", made.play)
    return made


def test_gone_and_not_leader_are_forgotten(bench):
    bench.outcomes = {"a": Done("a", Result.GONE), "b": Done("b", Result.NOT_LEADER)}
    bench.run("a", "b")
    assert bench.queue.state("a") is None
    assert bench.queue.state("b") is None
    assert [done.lb_id for done in bench.settled] == ["a", "b"]


@pytest.mark.parametrize(
    "result", [Result.STALE, Result.TRANSIENT, Result.TERMINAL, Result.WAITING, Result.REFUSED]
)
def test_failures_come_back(bench, result):
    bench.outcomes = {"a": Done("a", result, error="why")}
    bench.run("a")
    assert bench.queue.backs_off("a")
    assert bench.desk.journal.errors() == {"a": f"{result}: why"}
    assert bench.value("ovnlb_reconcile_total", result=str(result)) == 1


def test_a_lost_database_fails_nobody_for_good(bench):
    bench.error = DatabaseUnavailable("away")
    bench.run("a", "b")
    assert bench.queue.failing() == 2
    assert bench.desk.journal.about("a").result is Result.TRANSIENT


def test_a_broken_round_ends_no_worker_and_loses_no_key(bench):
    bench.error = KeyError("bug")
    bench.run("a")
    assert bench.queue.backs_off("a")
    bench.error = None
    bench.outcomes = {"b": Done("b", Result.GONE)}
    bench.run("b")


def fail(bench, lb, result=Result.TERMINAL, seconds=100.0):
    bench.clock.now += seconds
    bench.outcomes = {"lb": Done("lb", result, error="no", lb=lb)}
    bench.run("lb")


def test_error_after_counts_only_failures_of_its_own(bench):
    lb = graph(lb=PU, listener=PU)
    fail(bench, lb)
    for _ in range(30):
        fail(bench, lb, Result.TRANSIENT)
    for _ in range(6):
        fail(bench, lb)
    assert bench.reported == []
    fail(bench, lb)
    (report,) = bench.reported
    assert {r.id: r.provisioning for r in report.update.records} == {"listener": "ERROR", "lb": "ACTIVE"}
    assert report.seen == (PU, T0)
    assert bench.queue.state("lb") is None


def test_a_success_starts_the_count_anew(bench):
    lb = graph(lb=PU, listener=PU)
    for _ in range(6):
        fail(bench, lb)
    bench.outcomes = {"lb": Done("lb", Result.GONE)}
    bench.run("lb")
    for _ in range(6):
        fail(bench, lb)
    assert bench.reported == []


def test_a_deletion_is_retried_for_ever_B007(bench):
    for _ in range(100):
        fail(bench, graph(lb=PD))
    assert bench.reported == []
    assert bench.queue.backs_off("lb")


def test_a_clock_of_the_wall_that_steps_back_changes_nothing(bench):
    """Ages and deadlines use the monotonic clock; the wall clock is only shown."""
    wall = Clock(5e9)
    journal = Journal(bench.clock, wall)
    journal.record(Done("a", Result.TERMINAL))
    wall.now -= 4e9
    bench.clock.now += 50
    assert journal.record(Done("a", Result.TERMINAL)).failing == 50


def test_a_chore_that_fails_comes_back_and_disturbs_no_round(bench):
    calls = []

    def chore():
        calls.append(1)
        if len(calls) == 1:
            raise DatabaseUnavailable("away")

    bench.chores["orphans"] = chore
    bench.outcomes = {"a": Done("a", Result.GONE)}
    bench.run("a", "orphans")
    assert bench.queue.state("a") is None
    assert bench.queue.backs_off("orphans")
    bench.run("orphans")
    assert (len(calls), bench.queue.state("orphans")) == (2, None)


def test_an_observer_reports_nothing(bench):
    from dataclasses import replace

    bench.desk = replace(bench.desk, report=False)
    bench.desk.journal.record(Done("lb", Result.TERMINAL))
    for _ in range(10):
        fail(bench, graph(lb=PU, listener=PU))
    assert bench.reported == []


def test_an_update_without_records_is_not_submitted(bench):
    loop._report(bench.desk, graph(), StatusUpdate("lb"), 0.0)
    loop._report(bench.desk, graph(), StatusUpdate("lb", (Record("members", "m", "ACTIVE"),)), 5.0)
    (report,) = bench.reported
    assert report.loaded == 5.0
