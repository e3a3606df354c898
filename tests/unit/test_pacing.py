"""Group commit and pacing: who waits for whom, and for how long."""

from __future__ import annotations

import threading
import time

import pytest

from clocks import Clock
from ovnlb.diff.plan import Plan
from ovnlb.reconciler import pacing
from ovnlb.reconciler.apply import Applied, AppliedEach
from ovnlb.reconciler.errors import StalePlan, Transient
from ovnlb.reconciler.pacing import (
    KNOWN_INTERVAL,
    LONGEST_REST,
    PATIENCE,
    PRESSURE,
    STAMP_EXPIRY,
    STAMP_INTERVAL,
    STREAM_WRITES,
    Committer,
    Pace,
)
from servers.ovsdb import wait_until


class Northd:
    """NB_Global's counters: northd answers when a test says so."""

    def __init__(self):
        self.nb_cfg = self.sb_cfg = 0

    def cfg(self):
        return self.nb_cfg, self.sb_cfg


class Database:
    """Takes batches; `gate` holds a write back."""

    def __init__(self, northd):
        self.northd, self.batches, self.stamps = northd, [], []
        self.gate = threading.Event()
        self.gate.set()
        self.failed = {}
        self.error = None

    def write(self, plans, *, stamp=False):
        self.gate.wait(10)
        if self.error is not None:
            raise self.error
        self.batches.append([plan.lb_id for plan in plans])
        self.stamps.append(stamp)
        number = None
        if stamp:
            self.northd.nb_cfg += 1
            number = self.northd.nb_cfg
        applied = Applied(transactions=1, nb_cfg=number)
        failed = {plan.lb_id: self.failed[plan.lb_id] for plan in plans if plan.lb_id in self.failed}
        return AppliedEach(
            {plan.lb_id: applied for plan in plans if plan.lb_id not in failed}, failed, transactions=1
        )


@pytest.fixture
def northd():
    return Northd()


@pytest.fixture
def database(northd):
    return Database(northd)


def start(committer, *ids):
    """Write plans in threads of their own; where their outcomes appear."""
    outcomes, threads = {}, []
    for lb_id in ids:

        def one(lb_id=lb_id):
            outcomes[lb_id] = committer.write([Plan(lb_id)])

        thread = threading.Thread(target=one, daemon=True)
        thread.start()
        threads.append(thread)
    return outcomes, threads


def join(threads):
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def gathered(committer, count):
    wait_until(lambda: len(committer._tickets) == count, f"{count} waiting plans")


def test_a_lone_change_is_written_at_once_and_not_stamped(database, northd):
    committer = Committer(database.write, Pace(northd))
    for number in range(STREAM_WRITES):
        started = time.monotonic()
        committer.write([Plan(str(number))])
        assert time.monotonic() - started < 0.5
    assert database.stamps == [False] * STREAM_WRITES


def test_what_comes_during_a_write_goes_together_in_the_next(database, northd):
    committer = Committer(database.write, Pace(northd))
    database.gate.clear()
    first = start(committer, "a")
    wait_until(lambda: not committer._tickets and committer._turn.locked(), "the first write")
    others = start(committer, "b", "c", "d")
    gathered(committer, 3)
    database.gate.set()
    join(first[1] + others[1])
    assert [sorted(batch) for batch in database.batches] == [["a"], ["b", "c", "d"]]
    assert database.stamps == [False, True]
    assert set(others[0]) == {"b", "c", "d"}


def test_everybody_gets_the_outcome_of_his_own_plans(database, northd):
    committer = Committer(database.write, Pace(None))
    database.failed = {"b": StalePlan({"b": "moved"})}
    database.gate.clear()
    outcomes, threads = start(committer, "a", "b")
    time.sleep(0.05)
    database.gate.set()
    join(threads)
    assert list(outcomes["a"].applied) == ["a"]
    assert (dict(outcomes["b"].applied), list(outcomes["b"].failed)) == ({}, ["b"])


def test_nobody_waits_for_ever_when_a_write_breaks(database, northd):
    committer = Committer(database.write, Pace(None))
    database.error = RuntimeError("broken")
    outcome = committer.write([Plan("a")])
    assert isinstance(outcome.failed["a"], Transient)
    database.error = None
    assert committer.write([Plan("a")]).applied


def test_plans_are_collected_while_northd_is_behind_our_stamp(database, northd):
    others = [True]
    committer = Committer(database.write, Pace(northd), lambda: others[0])
    committer.write([Plan("a")])
    assert database.stamps == [True]
    _, threads = start(committer, "b", "c")
    time.sleep(0.2)
    assert len(database.batches) == 1
    northd.sb_cfg = northd.nb_cfg
    join(threads)
    assert [sorted(batch) for batch in database.batches] == [["a"], ["b", "c"]]


def test_a_stuck_northd_blocks_nobody(database, northd, monkeypatch):
    monkeypatch.setattr(pacing, "PATIENCE", 0.2)
    committer = Committer(database.write, Pace(northd), lambda: True)
    committer.write([Plan("a")])
    started = time.monotonic()
    for number in range(10):
        committer.write([Plan(str(number))])
    # It is waited for once, not once a write.
    assert 0.2 <= time.monotonic() - started < 1.5
    assert database.stamps == [True] + [False] * 10


def test_without_pacing_nothing_is_stamped_or_awaited(database, northd):
    committer = Committer(database.write, Pace(None), lambda: True)
    started = time.monotonic()
    for number in range(5):
        committer.write([Plan(str(number))])
    assert time.monotonic() - started < PATIENCE
    assert database.stamps == [False] * 5


def test_a_stamp_comes_once_a_second_at_most_and_never_onto_an_unanswered_one(northd):
    clock = Clock()
    pace = Pace(northd, clock)
    assert pace.wants_stamp()
    northd.nb_cfg = 1
    pace.stamped(1)
    assert pace.behind()
    clock.now += STAMP_INTERVAL
    assert not pace.wants_stamp()
    northd.sb_cfg = 1
    assert not pace.behind()
    assert pace.round == STAMP_INTERVAL, "known: it is asked less often from now on"
    assert not pace.wants_stamp()
    clock.now += KNOWN_INTERVAL
    assert pace.wants_stamp()
    northd.nb_cfg = 2
    pace.stamped(2)
    northd.sb_cfg = 2
    clock.now += KNOWN_INTERVAL / 2
    assert not pace.wants_stamp()
    clock.now += KNOWN_INTERVAL
    northd.nb_cfg = 3
    pace.stamped(3)
    pace.give_up()
    assert not pace.behind()
    clock.now += STAMP_EXPIRY
    assert pace.wants_stamp()


def test_increments_of_others_are_read_not_relied_on(northd):
    """Neutron counts nb_cfg up, too: only our own number counts."""
    pace = Pace(northd)
    northd.nb_cfg, northd.sb_cfg = 50, 3
    assert not pace.behind()
    pace.stamped(51)
    northd.nb_cfg = 60
    northd.sb_cfg = 51
    assert not pace.behind()


def measured(northd, clock, seconds):
    """A pace that has seen northd take so long for a stamp."""
    pace = Pace(northd, clock)
    northd.nb_cfg += 1
    pace.stamped(northd.nb_cfg)
    clock.now += seconds
    northd.sb_cfg = northd.nb_cfg
    pace.looked()
    return pace


@pytest.mark.parametrize(("took", "rest"), [(0.01, 0.08), (0.05, 0.4), (5.0, LONGEST_REST)])
def test_in_a_stream_northd_rests_as_long_as_its_rounds_ask_for(northd, took, rest):
    clock = Clock()
    pace = measured(northd, clock, took)
    assert pace.pressed(others=True)
    pace.wrote()
    clock.now += rest - 0.001
    assert pace.rests()
    clock.now += 0.002
    assert not pace.rests()


def test_a_lone_change_is_never_held_up(northd):
    clock = Clock()
    pace = measured(northd, clock, 5.0)
    for _ in range(50):
        assert not pace.rests()
        assert not pace.pressed(others=False)
        pace.wrote()
        clock.now += 1.0 / STREAM_WRITES + 0.001


def test_many_writes_in_a_second_are_a_stream_although_none_meets_another(northd):
    clock = Clock()
    pace = measured(northd, clock, 0.05)
    for _ in range(STREAM_WRITES):
        assert not pace.pressed(others=False)
        pace.wrote()
        clock.now += 0.05
    assert pace.pressed(others=False)
    pace.wrote()
    assert pace.rests()
    clock.now += PRESSURE
    assert not pace.rests()


def test_without_an_answer_nobody_knows_how_long_to_rest(northd):
    pace = Pace(northd, Clock())
    assert pace.pressed(others=True)
    pace.wrote()
    assert not pace.rests()
