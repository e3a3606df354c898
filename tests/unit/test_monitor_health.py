"""Health with a memory: monitors that are expected and never come."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from clocks import Clock
from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.observed.sb import AbsenceTracker
from ovnlb.reconciler.monitor_health import MonitorHealth

KEY, OTHER = MonitorKey("vm1", "10.0.0.9", 80, "tcp"), MonitorKey("vm2", "10.0.0.8", 80, "tcp")


class Southbound:
    """What the replica says; a new value object whenever it changes."""

    def __init__(self):
        self.health = Health({}, complete=True)

    def __call__(self):
        return self.health


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def southbound():
    return Southbound()


@pytest.fixture
def health(southbound, clock):
    return MonitorHealth(southbound, AbsenceTracker(clock))


def walked(lb_id, *keys):
    return SimpleNamespace(
        lb=SimpleNamespace(id=lb_id), desired=SimpleNamespace(monitors=dict.fromkeys(keys, 5))
    )


def test_an_absent_monitor_is_overdue_after_three_intervals(health, clock):
    health.walked(walked("lb", KEY))
    clock.now += 14
    assert (health.due(), health().overdue) == ((), frozenset())
    clock.now += 1
    assert health.due() == ("lb",)
    assert health().overdue == {KEY}
    # It is due once; what follows is the walk that reports it.
    assert health.due() == ()
    health.walked(walked("lb", KEY))
    assert health().overdue == {KEY}


def test_a_monitor_that_comes_is_not_overdue_any_more(health, southbound, clock):
    health.walked(walked("lb", KEY))
    clock.now += 15
    health.due()
    southbound.health = Health({KEY: "online"}, complete=True)
    health.walked(walked("lb", KEY))
    assert health().overdue == frozenset()
    assert health().monitors == {KEY: "online"}


def test_time_without_the_southbound_database_does_not_count(health, southbound, clock):
    health.walked(walked("lb", KEY))
    southbound.health = Health({}, complete=False)
    health.walked(walked("lb", KEY))
    clock.now += 1000
    assert health.due() == ()
    assert not health().complete
    southbound.health = Health({}, complete=True)
    health.walked(walked("lb", KEY))
    clock.now += 14
    assert health.due() == ()
    clock.now += 1
    assert health.due() == ("lb",)


def test_load_balancers_are_independent_and_forgotten(health, clock):
    health.walked(walked("a", KEY))
    health.walked(walked("b", OTHER))
    clock.now += 15
    assert health.due() == ("a", "b")
    health.forget("a")
    assert health().overdue == {OTHER}
    health.walked(walked("b"))
    assert health().overdue == frozenset()
    assert health.due() == ()


def test_the_same_health_is_not_made_twice(health):
    assert health() is health()
