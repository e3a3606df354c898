"""Servers lost, slow and restored under a running service."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clouds import cloud, lb_id
from faults.operations import Load, assert_whole, delete_balancer, start_cloud, update_member
from servers.mariadb import MariaDb, _await_start, _environment, running_mariadb
from servers.ovsdb import NB, ovsdb_server, wait_until
from service_world import service_world

SIZE = 12
QUIET = {"resync_interval": 3600, "sweep_interval": 3600}


@pytest.mark.timeout(200)
def test_the_northbound_server_is_killed_and_restarted_under_load(world):
    start_cloud(world, cloud(SIZE, pools=1, members=2))
    with world.service(**QUIET) as service:
        with Load(world, SIZE) as load:
            for _ in range(5):
                done = load.operations
                wait_until(lambda done=done: load.operations > done + 5, "operations", 60)
                world.nb.kill()
                time.sleep(0.5)
                world.nb.start()
        assert_whole(world, service)


class RestartableMariaDb:
    """A server that can be killed and started on the same data."""

    def __init__(self, server: MariaDb) -> None:
        self.server, self.process = server, server.process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        self.process = subprocess.Popen(self.process.args, env=_environment(self.server.socket.parent))
        _await_start(MariaDb(self.server.socket, self.process), self.server.socket.parent / "log")


@contextmanager
def restartable() -> Iterator[RestartableMariaDb]:
    # What was committed survives the kill: the servers of other tests are quicker and lose a second of it.
    durable = ("--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=1")
    with running_mariadb(*durable) as server:
        made = RestartableMariaDb(server)
        try:
            yield made
        finally:
            made.kill()


@pytest.mark.timeout(300)
def test_the_database_is_restarted_and_slow(tmp_path, make_agent):
    with (
        restartable() as database,
        service_world(database.server, tmp_path, lambda: ovsdb_server(NB), make_agent) as world,
    ):
        start_cloud(world, cloud(SIZE, pools=1, members=2))
        with world.service(**QUIET) as service:
            assert_whole(world, service)
            for number in range(SIZE):
                assert update_member(world, number) > 0
            database.kill()
            wait_until(lambda: service.watch.lost, "the loss", 30)
            assert service.healthy()[0]
            database.start()
            world.engine.dispose()
            assert_whole(world, service)
            for number in range(SIZE):
                assert update_member(world, number) > 0
            database.process.send_signal(signal.SIGSTOP)
            time.sleep(4)
            database.process.send_signal(signal.SIGCONT)
            assert_whole(world, service)


@pytest.mark.timeout(200)
def test_the_agent_is_absent_restarted_and_hangs(world):
    start_cloud(world, cloud(SIZE, pools=1, members=2))
    world.agent.stop()
    with world.service(**QUIET) as service:
        for number in range(SIZE):
            update_member(world, number)
        wait_until(lambda: service.reporter.last_error, "a report that waits")
        wait_until(lambda: service.connections.nb.load_balancers(lb_id(SIZE - 1)), "the rows")
        world.agent.start()
        assert_whole(world, service)
        with Load(world, SIZE) as load:
            for _ in range(3):
                done = load.operations
                wait_until(lambda done=done: load.operations > done + 5, "operations", 60)
                world.agent.stop()
                world.agent.start()
        assert_whole(world, service)
        world.agent.freeze()
        update_member(world, 0)
        port = update_member(world, 1)
        wait_until(lambda: str(port) in str(service.connections.nb.load_balancers(lb_id(1))), "the new rows")
        assert world.status(lb_id(1)) == "PENDING_UPDATE"
        world.agent.thaw()
        assert_whole(world, service)


@pytest.mark.timeout(200)
def test_a_backup_restored_under_the_service_deletes_nothing(world):
    """Octavia's database loses load balancers that OVN has: an absent row is no evidence."""
    made = cloud(SIZE, pools=1, members=2)
    start_cloud(world, made)
    with world.service(resync_interval=10, sweep_interval=3600) as service:
        assert_whole(world, service)
        rows = world.balancers()
        older = {table: [row for row in found if not _newer(row)] for table, found in made.octavia.items()}
        world.octavia(older)
        for _ in range(2):
            at = service.resync.last_success
            service.resync.request("test")
            wait_until(lambda at=at: service.resync.last_success != at, "a pass", 30)
            wait_until(lambda: service.queue.idle, "an idle queue")
        assert world.balancers() == rows
        world.octavia(made.octavia)
        assert_whole(world, service)


def _newer(row: dict) -> bool:
    own = {lb_id(number) for number in range(SIZE // 2, SIZE)}
    parts = {text[-12:] for text in own}
    return str(row.get("id") or row.get("load_balancer_id"))[-12:] in parts


@pytest.mark.timeout(200)
def test_a_deletion_waits_for_its_neutron_port(world):
    start_cloud(world, cloud(2, pools=1, members=2))
    with world.service(**QUIET) as service:
        assert_whole(world, service)
        world.neutron.fail("DELETE", "ports", status=503, times=100_000)
        delete_balancer(world, 0)
        wait_until(lambda: not service.connections.nb.load_balancers(lb_id(0)), "the rows to go")
        wait_until(lambda: service.queue.failing(), "a failure")
        time.sleep(3)
        assert world.status(lb_id(0)) == "PENDING_DELETE"
        world.neutron.faults.clear()
        assert_whole(world, service)
        assert world.status(lb_id(0)) == "DELETED"


@pytest.mark.timeout(200)
def test_the_wall_clock_steps_back_by_a_day(world, monkeypatch):
    """Ticks follow the wall clock; the full passes must not stop for a day."""
    from datetime import datetime, timedelta

    import apscheduler.schedulers.base as base

    start_cloud(world, cloud(2, pools=1, members=2))
    with world.service(resync_interval=10, sweep_interval=3600) as service:
        assert_whole(world, service)

        class Yesterday(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(tz) - timedelta(days=1)

        monkeypatch.setattr(base, "datetime", Yesterday)
        service._scheduler.wakeup()
        at = service.resync.last_success
        wait_until(lambda: service.resync.last_success != at, "a pass all the same", 40)
        monkeypatch.undo()
        update_member(world, 0)
        assert_whole(world, service)
