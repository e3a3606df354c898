"""The chase of nudges, the poll and the sweep, on a clock and a database of the test's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from clocks import Clock
from ovnlb.desired.octavia import DatabaseUnavailable
from ovnlb.reconciler.chase import MOST, STEPS, Chase
from ovnlb.reconciler.queue import Priority, WorkQueue
from ovnlb.reconciler.watch import Intervals, Watch

NOW = datetime.now(UTC).replace(tzinfo=None, microsecond=0)


class Database:
    """Rows: id -> (status, provider, updated_at); counts its queries."""

    def __init__(self):
        self.rows = {}
        self.away = False
        self.queries = []

    def _asked(self, what):
        self.queries.append(what)
        if self.away:
            raise DatabaseUnavailable("away")

    def ours(self, provider):
        return provider == "ovn"

    def pending(self):
        self._asked("pending")
        return [(i, s) for i, (s, p, _) in self.rows.items() if s.startswith("PENDING") and self.ours(p)]

    def statuses(self, ids):
        self._asked("statuses")
        return {i: self.rows[i] for i in ids if i in self.rows}

    def updated_since(self, since):
        self._asked("updated_since")
        moment = since.replace(tzinfo=None)
        return [i for i, (_, p, at) in self.rows.items() if self.ours(p) and at is not None and at >= moment]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    made = WorkQueue(clock)
    made.open()
    return made


@pytest.fixture
def database():
    return Database()


@pytest.fixture
def reported():
    return set()


@pytest.fixture
def watch(database, queue, clock, reported):
    return Watch(database, queue, Intervals(1.0, 30.0), reported.__contains__, clock=clock)


def taken(queue):
    works = queue.take(99, trickle=99)
    for work in works:
        queue.done(work.key)
    return [work.key for work in works]


def test_a_chase_looks_at_once_and_at_every_step(clock):
    chase, looks = Chase(), []
    chase.nudged("a", 0.0)
    for millisecond in range(1000):
        looks += [millisecond] * len(chase.due(millisecond / 1000))
    assert looks == [round(step * 1000) for step in STEPS]
    assert chase.next_at() is None


def test_a_late_look_takes_several_steps_at_once():
    chase = Chase()
    chase.nudged("a", 10.0)
    assert chase.due(10.1) == {"a": 10.0}
    assert chase.next_at() == pytest.approx(10.16)
    assert chase.due(10.15) == {}


def test_a_caught_one_is_chased_no_more_and_a_new_nudge_starts_anew():
    chase = Chase()
    chase.nudged("a", 0.0)
    chase.caught(["a", "unknown"])
    assert chase.due(1.0) == {}
    chase.nudged("a", 5.0)
    chase.due(5.0)
    chase.nudged("a", 5.01)
    assert chase.due(5.01) == {"a": 5.01}


def test_a_flood_of_nudges_is_left_to_the_poll():
    chase = Chase()
    for number in range(MOST + 5):
        chase.nudged(str(number), 0.0)
    assert len(chase.due(0.0)) == MOST


def test_a_nudge_that_precedes_its_commit_is_caught_after_it(watch, database, queue, clock):
    watch.look()
    watch.nudged("a")
    watch.look()
    assert taken(queue) == []
    clock.now += 0.02
    watch.look()
    database.rows["a"] = ("PENDING_CREATE", "ovn", None)
    nudged_at = clock.now - 0.02
    clock.now += 0.02
    watch.look()
    (work,) = queue.take(1)
    assert (work.key, work.priority, work.triggers) == ("a", Priority.NUDGE, {"nudge"})
    assert work.since == pytest.approx(nudged_at)


def test_a_nudge_whose_call_was_rolled_back_leads_to_nothing(watch, database, queue, clock):
    database.rows["a"] = ("ACTIVE", "ovn", NOW)
    watch.look()
    taken(queue)
    database.queries.clear()
    watch.nudged("a")
    for _ in range(200):
        watch.look()
        clock.now += 0.004
    assert database.queries.count("statuses") == len(STEPS)
    assert taken(queue) == []


def test_other_providers_are_left_alone(watch, database, queue, clock):
    database.rows["a"] = ("PENDING_CREATE", "amphora", None)
    watch.nudged("a")
    watch.look()
    assert taken(queue) == []


def test_the_poll_finds_everything_without_nudges(watch, database, queue, clock):
    database.rows |= {"a": ("PENDING_CREATE", "ovn", None), "b": ("ACTIVE", "ovn", NOW)}
    watch.look()
    assert taken(queue) == ["a"]
    clock.now += 0.5
    watch.look()
    assert taken(queue) == []
    clock.now += 0.6
    watch.look()
    assert taken(queue) == ["a"]


def test_what_is_being_reported_is_not_walked_again(watch, database, queue, reported, clock):
    database.rows["a"] = ("PENDING_CREATE", "ovn", None)
    reported.add("a")
    watch.look()
    assert taken(queue) == []
    reported.clear()
    clock.now += 1
    watch.look()
    assert taken(queue) == ["a"]


def test_a_nudge_without_an_id_polls_at_once(watch, database, queue, clock):
    watch.look()
    database.rows["a"] = ("PENDING_DELETE", "ovn", NOW)
    clock.now += 0.1
    watch.look()
    assert taken(queue) == []
    watch.nudged(None)
    watch.look()
    assert taken(queue) == ["a"]


def test_the_poll_does_not_shorten_a_backoff(watch, database, queue, clock):
    database.rows["a"] = ("PENDING_UPDATE", "ovn", NOW)
    watch.look()
    for _ in range(9):
        queue.take(1)
        queue.retry("a")
    clock.now += 1
    watch.look()
    assert queue.backs_off("a")


def test_a_database_that_comes_back_ends_every_backoff(watch, database, queue, clock):
    database.rows["a"] = ("PENDING_UPDATE", "ovn", NOW)
    watch.look()
    database.away = True
    for _ in range(9):
        queue.take(1)
        queue.retry("a")
    clock.now += 1
    watch.look()
    assert watch.lost
    assert queue.backs_off("a")
    database.away = False
    clock.now += 1
    watch.look()
    assert not watch.lost
    assert taken(queue) == ["a"]


def test_pending_ages_are_kept_across_polls(watch, database, clock):
    database.rows["a"] = ("PENDING_UPDATE", "ovn", NOW)
    watch.look()
    clock.now += 7
    database.rows["b"] = ("PENDING_UPDATE", "ovn", NOW)
    watch.look()
    assert (watch.pending_since("a"), watch.pending_since("b"), watch.oldest_pending) == (7, 0, 7)
    database.rows["a"] = ("ACTIVE", "ovn", NOW)
    clock.now += 1
    watch.look()
    assert (watch.pending_since("a"), watch.oldest_pending) == (None, 1)


def test_the_sweep_finds_what_was_unlocked_without_being_applied(watch, database, queue, clock):
    database.rows = {"old": ("ACTIVE", "ovn", NOW - timedelta(days=1)), "known": ("ACTIVE", "ovn", NOW)}
    watch.look()
    assert taken(queue) == []
    database.rows["new"] = ("ACTIVE", "ovn", NOW + timedelta(seconds=20))
    clock.now += 31
    watch.look()
    assert taken(queue) == ["new"]
    clock.now += 31
    watch.look()
    assert taken(queue) == []


@pytest.mark.parametrize("offset", [-3, 0, 3])
def test_the_sweep_bears_clocks_that_differ_by_a_few_seconds(watch, database, queue, clock, offset):
    database.rows["first"] = ("ACTIVE", "ovn", NOW)
    watch.look()
    clock.now += 31
    database.rows["late"] = ("ACTIVE", "ovn", NOW + timedelta(seconds=offset))
    watch.look()
    assert taken(queue) == ["late"]
