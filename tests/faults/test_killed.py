"""kill -9 at every stage of the walk, and a restart: nothing is lost, nothing is done twice."""

from __future__ import annotations

import signal

import pytest

from clouds import cloud, lb_id
from faults.failing_daemon import STAGES, Daemons
from faults.operations import assert_whole, delete_balancer, start_cloud, update_member
from faults.rounds import ROUNDS

QUIET = {"resync_interval": 3600, "sweep_interval": 3600}


@pytest.fixture(scope="module")
def daemons():
    made = Daemons()
    yield made
    made.close()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("stage", STAGES)
def test_killed_and_restarted(world, daemons, stage, tmp_path):
    start_cloud(world, cloud(ROUNDS + 1, pools=1, members=2))
    with world.service(**QUIET) as service:
        assert_whole(world, service)
    for number in range(ROUNDS):
        # Every fourth operation is a deletion.
        gone = number % 4 == 3
        if gone:
            delete_balancer(world, number)
        else:
            assert update_member(world, number) > 0
        mark = tmp_path / f"{stage}-{number}"
        assert daemons.run(world.config(**QUIET), stage, mark) == -signal.SIGKILL
        assert mark.read_text() == stage, "another stage was hit"
        pending = world.status(lb_id(number))
        if stage != "during_report":
            assert pending.startswith("PENDING")
        with world.service(**QUIET) as service:
            assert_whole(world, service)
        assert world.status(lb_id(number)) == ("DELETED" if gone else "ACTIVE")
