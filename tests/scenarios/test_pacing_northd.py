"""Pacing against a real ovn-northd: what a stream of changes costs it, and whom it may hold up."""

from __future__ import annotations

import statistics
import time

import pytest

from bench.world import cpu_seconds
from clouds import cloud, lb_id
from faults.operations import start_cloud, transactions, update_member
from servers.northd import running_northd
from servers.ovsdb import wait_until

COUNT = 100
# As many as make a round of northd's cost some ten milliseconds.
PORTS, AT_ONCE = 1000, 500
APART = 0.04
QUIET = {"resync_interval": 3600, "sweep_interval": 3600}


@pytest.fixture
def world(shared_world):
    return shared_world


@pytest.fixture
def northd(world):
    """A northd whose rounds cost something, over a cloud whose rows are all there."""
    with running_northd(world.nb, world.sb) as made:
        start_cloud(world, cloud(COUNT, pools=1))
        for first in range(0, PORTS, AT_ONCE):
            world.nb.transact(*machines(first))
        with world.service(**QUIET) as service:
            started(service, made)
        yield made


def machines(first):
    """Ports of machines on the cloud's switch, as operations."""
    numbers = range(first, first + AT_ONCE)
    for number in numbers:
        addresses = f"fa:16:3e:01:{number >> 8:02x}:{number & 255:02x} 10.200.{number >> 8}.{number & 255}"
        row = {"name": f"vm{number}", "addresses": addresses}
        yield {"op": "insert", "table": "Logical_Switch_Port", "row": row, "uuid-name": f"p{number}"}
    ports = ["set", [["named-uuid", f"p{number}"] for number in numbers]]
    mutations = [["ports", "insert", ports]]
    yield {"op": "mutate", "table": "Logical_Switch", "where": [], "mutations": mutations}


def started(service, northd):
    """Wait for the end of the first pass, and of what northd makes of it."""
    wait_until(lambda: service.first_pass.is_set() and service.queue.idle, "the first pass", 60)
    northd.settle()


def streamed(world, northd, service):
    """Change one load balancer after the other, each by itself: transactions, rounds and CPU seconds."""
    sent, rounds, cpu = transactions(service), northd.rounds, cpu_seconds(northd.process.pid)
    for number in range(COUNT):
        assert update_member(world, number) > 0
        world.nudge(lb_id(number))
        time.sleep(APART)
    wait_until(lambda: service.queue.idle and not world.unsettled(), "the end of the stream", 60)
    northd.settle()
    used = cpu_seconds(northd.process.pid) - cpu
    return transactions(service) - sent, northd.rounds - rounds, used


@pytest.mark.timeout(300)
def test_a_stream_of_changes_costs_northd_far_less_with_pacing(world, northd, capsys):
    found = {}
    for pace in ("True", "False"):
        with world.service(pace_northd=pace, **QUIET) as service:
            started(service, northd)
            found[pace] = streamed(world, northd, service)
            assert not world.differences(service)
    (sent, rounds, cpu), (every, unpaced, more) = found["True"], found["False"]
    with capsys.disabled():
        print(
            f"\n{COUNT} changes, one every {APART * 1000:.0f} ms: {sent:.0f} transactions, {rounds} rounds, "
            f"{cpu:.2f} s of CPU; without pacing {every:.0f}, {unpaced}, {more:.2f} s"
        )
    assert sent * 2 <= every
    assert rounds * 2 <= unpaced


def lone(world, service, number):
    """Seconds from the nudge of one change to its row."""
    port = update_member(world, number)
    assert port > 0
    began = time.monotonic()
    world.nudge(lb_id(number))
    nb = service.connections.nb
    wait_until(lambda: f":{port}" in str(nb.load_balancers(lb_id(number))[0].vips), "the row")
    took = time.monotonic() - began
    wait_until(lambda: world.status(lb_id(number)) == "ACTIVE", "ACTIVE")
    return took


@pytest.mark.timeout(300)
def test_a_lone_change_waits_for_nobody_and_a_stopped_northd_blocks_nobody(world, northd):
    with world.service(**QUIET) as service:
        started(service, northd)
        streamed(world, northd, service)
        assert service.committer._pace.round is not None, "the stream has measured northd"
        time.sleep(1.0)
        paced = statistics.median(lone(world, service, number) for number in range(10))
        northd.freeze()
        try:
            frozen = statistics.median(lone(world, service, number) for number in range(10))
            began = time.monotonic()
            for number in range(COUNT):
                update_member(world, number)
                world.nudge(lb_id(number))
            wait_until(lambda: service.queue.idle and not world.unsettled(), "the end of the burst", 60)
            burst = time.monotonic() - began
        finally:
            northd.thaw()
        assert not world.differences(service)
        northd.settle()
    with world.service(pace_northd="False", **QUIET) as service:
        started(service, northd)
        unpaced = statistics.median(lone(world, service, number) for number in range(10))
    # Servers and northd share two cores with whatever else runs here: 200 ms are theirs.
    assert paced < unpaced + 0.2
    assert frozen < unpaced + 0.2
    assert burst < 30
