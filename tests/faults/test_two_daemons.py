"""Two daemons on one Northbound: the leader killed, stopped, split from its lock; RAFT leaders changing."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from functools import partial

import pytest

from clouds import cloud, lb_id
from faults.operations import Load, assert_whole, start_cloud, update_member
from faults.raft import cluster_nb
from faults.rounds import ROUNDS
from ovnlb.observed.idl import connect_nb
from servers.ovsdb import wait_until
from service_world import service_world

SIZE = 12
QUIET = {"resync_interval": 3600, "sweep_interval": 3600}


def start(world) -> None:
    start_cloud(world, cloud(SIZE, pools=1, members=2))


@pytest.mark.timeout(300)
def test_the_leader_is_killed_under_load(world):
    start(world)
    with world.daemon(**QUIET) as first:
        first.await_log("this process writes now")
        with world.service(**QUIET) as second:
            with Load(world, SIZE) as load:
                wait_until(lambda: load.operations > 10, "some operations", 60)
                first.kill()
                killed, done = time.monotonic(), load.operations
                wait_until(lambda: second.leading, "the take-over", 10)
                assert time.monotonic() - killed < 2, "the lock of a closed connection is free at once"
                wait_until(lambda: load.operations > done + 10, "more operations", 60)
            assert_whole(world, second)


@pytest.mark.timeout(300)
def test_the_leader_is_stopped_in_the_middle_and_comes_back(world):
    start(world)
    world.nb_remote = world.nb.listen_tcp(5000)
    with world.daemon(**QUIET) as first:
        first.await_log("this process writes now")
        with world.service(**QUIET) as second:
            with Load(world, SIZE) as load:
                wait_until(lambda: load.operations > 10, "some operations", 60)
                first.process.send_signal(signal.SIGSTOP)
                wait_until(lambda: second.leading, "the take-over after the probe", 30)
                done = load.operations
                wait_until(lambda: load.operations > done + 10, "more operations", 60)
                first.process.send_signal(signal.SIGCONT)
                wait_until(lambda: load.operations > done + 20, "more operations", 60)
            first.await_log("does not write any more", 30)
            assert second.leading
            assert_whole(world, second)


@pytest.fixture(scope="module")
def raft_world(mariadb, tmp_path_factory, make_agent):
    """The world on a cluster of three."""
    with service_world(mariadb, tmp_path_factory.mktemp("raft"), cluster_nb, make_agent) as made:
        yield made


@pytest.mark.timeout(600)
def test_raft_leaders_change_under_load(raft_world):
    world = raft_world
    world.reset()
    start(world)
    with world.daemon(**QUIET) as first, world.service(**QUIET) as second:
        # A cluster that has no leader for long while it starts ends a daemon with a message.
        first.await_log("connected, as follower", 60)
        with Load(world, SIZE) as load:
            for number in range(ROUNDS):
                done = load.operations
                if number % 2:
                    world.nb.snapshot_leader()
                else:
                    world.nb.kill_leader()
                wait_until(lambda done=done: load.operations > done + 2, "operations after the change", 60)
        assert first.process.poll() is None
        world.settle(60)
        first.stop()
        wait_until(lambda: second.leading, "the last one to lead", 30)
        assert_whole(world, second)


@pytest.mark.timeout(300)
def test_two_that_both_hold_the_lock_double_nothing(raft_world, monkeypatch):
    """OVSDB locks belong to one server: identity, not the lock, keeps rows single."""
    world = raft_world
    world.reset()
    start(world)
    monkeypatch.setattr("ovnlb.reconciler.connections.connect_nb", partial(connect_nb, leader_only=False))
    with ExitStack() as stack:
        services = []
        for member in world.nb.cluster.members[:2]:
            world.nb_remote = member.tcp
            # Both report. The end of one's message may come after the next operation's commit, and make its
            # load balancer ACTIVE before its children are: the sweep finds that.
            services.append(stack.enter_context(world.service(resync_interval=3600, sweep_interval=3)))
        wait_until(lambda: all(one.leading for one in services), "two holders of the lock", 20)
        for _ in range(5):
            for number in range(SIZE):
                assert update_member(world, number) > 0
                world.nudge(lb_id(number))
            world.settle(60)
        assert world.doubled() == []
        for service in services:
            assert_whole(world, service)
