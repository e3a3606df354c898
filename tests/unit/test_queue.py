"""The work queue: merging, locking, priorities, backoff; on a clock of its own."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clocks import Clock
from ovnlb.reconciler.queue import FIRST_BACKOFF, LAST_BACKOFF, Priority, WorkQueue


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(clock):
    made = WorkQueue(clock, lambda: 0.5)
    made.open()
    return made


def keys(works):
    return [work.key for work in works]


def test_closed_queue_takes_nothing(clock):
    queue = WorkQueue(clock)
    queue.add("a", Priority.NUDGE, "nudge")
    queue.open()
    assert queue.take(10) == ()


def test_ready_keys_go_in_order_of_priority_then_arrival(queue):
    queue.add("retry", Priority.RETRY, "retry")
    queue.add("b", Priority.NUDGE, "nudge")
    queue.add("a", Priority.NUDGE, "nudge")
    assert keys(queue.take(10, trickle=10)) == ["b", "a", "retry"]


def test_a_resync_is_never_mixed_with_other_keys(queue):
    queue.offer(["r1", "r2", "r3"], Priority.RESYNC, "resync")
    queue.add("n", Priority.NUDGE, "nudge")
    assert keys(queue.take(10, trickle=2)) == ["n"]
    assert keys(queue.take(10, trickle=2)) == ["r1", "r2"]
    assert keys(queue.take(10)) == []


def test_limit_leaves_the_rest_ready(queue):
    for key in "abc":
        queue.add(key, Priority.NUDGE, "nudge")
    assert keys(queue.take(2)) == ["a", "b"]
    assert keys(queue.take(2)) == ["c"]


def test_adding_merges_the_earliest_time_and_the_highest_priority(queue, clock):
    queue.add("a", Priority.RESYNC, "resync", after=10)
    queue.add("a", Priority.NUDGE, "nudge", after=20)
    clock.now += 10
    (work,) = queue.take(1)
    assert (work.priority, work.triggers) == (Priority.NUDGE, {"resync", "nudge"})
    assert work.since == 1000.0


def test_a_ready_key_rises_in_priority(queue):
    queue.add("other", Priority.RETRY, "retry")
    queue.add("a", Priority.RESYNC, "resync")
    assert queue.depth()[Priority.RESYNC] == 1
    queue.add("a", Priority.NUDGE, "nudge")
    assert queue.depth() == {Priority.NUDGE: 1, Priority.RETRY: 1, Priority.RESYNC: 0}
    assert keys(queue.take(10)) == ["a", "other"]


def test_a_locked_key_is_not_given_twice_and_runs_again_when_added_meanwhile(queue):
    queue.add("a", Priority.NUDGE, "nudge")
    assert keys(queue.take(1)) == ["a"]
    queue.add("a", Priority.RESYNC, "row")
    queue.add("a", Priority.NUDGE, "nudge")
    assert queue.take(1) == ()
    queue.done("a")
    (work,) = queue.take(1)
    assert work.triggers == {"row", "nudge"}
    queue.done("a")
    assert queue.take(1, trickle=1) == ()


def test_backoff_grows_to_its_limit_and_ends_with_a_success(queue, clock):
    delays = []
    for _ in range(14):
        queue.add("a", Priority.NUDGE, "nudge")
        queue.take(1)
        delays.append(queue.retry("a"))
        clock.now += delays[-1]
    assert delays[:3] == [0.5 * FIRST_BACKOFF, 0.5 * 2 * FIRST_BACKOFF, 0.5 * 4 * FIRST_BACKOFF]
    assert delays[-1] == 0.5 * LAST_BACKOFF
    assert queue.failing() == 1
    (work,) = queue.take(1)
    assert work.failures == 14
    queue.done("a")
    assert queue.failing() == 0


def test_a_failed_key_is_never_dropped(queue, clock):
    queue.add("a", Priority.NUDGE, "nudge")
    for _ in range(100):
        assert keys(queue.take(1)) == ["a"]
        clock.now += queue.retry("a")


def test_an_offer_disturbs_neither_backoff_nor_a_running_round(queue, clock):
    queue.add("failed", Priority.NUDGE, "nudge")
    queue.add("running", Priority.NUDGE, "nudge")
    assert keys(queue.take(2)) == ["failed", "running"]
    queue.retry("failed")
    assert queue.offer(["failed", "running", "new"], Priority.NUDGE, "poll") == 1
    assert keys(queue.take(9)) == ["new"]
    queue.done("running")
    assert queue.take(9) == ()
    clock.now += LAST_BACKOFF
    assert keys(queue.take(9)) == ["failed"]


def test_news_of_a_failing_key_ends_its_backoff(queue):
    queue.add("a", Priority.NUDGE, "nudge")
    queue.take(1)
    queue.retry("a")
    queue.add("a", Priority.NUDGE, "nudge")
    assert keys(queue.take(1)) == ["a"]


def test_hasten_runs_what_waits_for_a_server_but_not_what_waits_by_itself(queue):
    queue.add("failed", Priority.NUDGE, "nudge")
    queue.take(1)
    queue.retry("failed")
    queue.add("later", Priority.RETRY, "monitor", after=5)
    queue.hasten()
    assert keys(queue.take(9)) == ["failed"]


def test_park_forgets_everything_and_lets_running_rounds_end(queue):
    queue.add("running", Priority.NUDGE, "nudge")
    queue.take(1)
    queue.add("running", Priority.NUDGE, "nudge")
    queue.add("waiting", Priority.NUDGE, "nudge")
    queue.park()
    queue.retry("running")
    queue.open()
    assert queue.idle
    assert queue.take(9) == ()


def test_state_tells_where_a_key_is(queue, clock):
    assert queue.state("a") is None
    queue.add("a", Priority.NUDGE, "nudge", after=4)
    clock.now += 1
    state = queue.state("a")
    assert (state.state, state.due_in, state.age, state.failures) == ("waiting", 3.0, 1.0, 0)
    clock.now += 3
    assert queue.state("a").state == "ready"
    queue.take(1)
    assert queue.state("a").state == "locked"
    queue.retry("a")
    assert queue.state("a").failures == 1
    assert queue.backs_off("a")


def test_take_wakes_up_for_a_key_of_another_thread():
    queue = WorkQueue()
    queue.open()
    taken = []
    thread = threading.Thread(target=lambda: taken.extend(queue.take(1, patience=5)))
    thread.start()
    queue.add("a", Priority.NUDGE, "nudge", after=0.05)
    thread.join(4)
    assert keys(taken) == ["a"]


class Machine(RuleBasedStateMachine):
    """Whatever happens, a key is held by one worker at most, and no added key is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.queue = WorkQueue(self.clock, lambda: 0.5)
        self.queue.open()
        self.held: set[str] = set()
        self.owed: set[str] = set()

    @rule(key=st.sampled_from("abcd"), priority=st.sampled_from(Priority), after=st.sampled_from([0, 1, 7]))
    def add(self, key, priority, after):
        self.queue.add(key, priority, "test", after=after)
        self.owed.add(key)

    @rule(limit=st.integers(1, 3))
    def take(self, limit):
        for work in self.queue.take(limit, trickle=limit):
            assert work.key not in self.held
            self.held.add(work.key)
            self.owed.discard(work.key)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def done(self, data):
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.held.discard(key)
        self.queue.done(key)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def retry(self, data):
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.held.discard(key)
        self.queue.retry(key)
        self.owed.add(key)

    @rule(seconds=st.sampled_from([0.3, 5, 400]))
    def advance(self, seconds):
        self.clock.now += seconds

    @rule()
    def hasten(self):
        self.queue.hasten()

    @invariant()
    def nothing_is_lost(self):
        for key in self.owed:
            assert self.queue.state(key) is not None

    def teardown(self):
        for key in list(self.held):
            self.queue.done(key)
        self.clock.now += 1000
        found = set()
        while taken := self.queue.take(10, trickle=10):
            found.update(work.key for work in taken)
            for work in taken:
                self.queue.done(work.key)
        assert self.owed <= found


Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_machine = Machine.TestCase


def takers(queue, *trickles):
    """Threads that each take once, waiting long; what they took, in order, with their trickle."""
    taken, threads = [], []
    for trickle in trickles:

        def take(trickle=trickle):
            for item in queue.take(10, 20.0, trickle=trickle):
                taken.append((item.key, trickle))

        threads.append(threading.Thread(target=take, daemon=True))
        threads[-1].start()
        time.sleep(0.05)  # they wait in this order, and are notified in it
    return taken, threads


def test_a_resync_finds_a_worker_although_one_that_leaves_them_alone_waits_first():
    queue = WorkQueue()
    queue.open()
    taken, threads = takers(queue, 0, 10)
    queue.add("a", Priority.RESYNC, "test")
    threads[1].join(5)
    assert taken == [("a", 10)]
    queue.close()
    threads[0].join(5)
    assert not threads[0].is_alive(), "a closed queue lets everybody go"
