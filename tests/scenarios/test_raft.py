"""Two writers on two members of a Northbound cluster, elections, and members that go."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from tenacity import Retrying, retry_if_exception_type, stop_after_delay

import hand_plans as hand
from hand_plans import BALANCER, CHECK, SWITCH, lb_id
from ovnlb.desired.rows import load_balancer_row_uuid
from ovnlb.diff.plan import Plan
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.apply import apply
from ovnlb.reconciler.errors import StalePlan, Transient
from servers.ovsdb import NB, RaftCluster, raft_cluster


@pytest.fixture
def writers(nb_cluster: RaftCluster):
    """Two replicas on two members, each with the lock of its own member: OVSDB locks are per server."""
    nb_cluster.members[0].insert(hand.topology())
    found = [
        connect_nb(Endpoint(member.tcp, timeout=15), lock=True, leader_only=False)
        for member in nb_cluster.members[:2]
    ]
    yield found
    for one in found:
        one.close()


def race(writers: list[NbReplica], number: int) -> list[str]:
    """Both create the same row at once; what each got."""
    barrier, outcomes = threading.Barrier(len(writers)), []

    def create(nb: NbReplica) -> None:
        made = hand.creation(lb_id(number), switches=("ls0", "ls1"))
        barrier.wait(10)
        try:
            outcomes.append("written" if apply(nb, made).transactions else "nothing")
        except StalePlan:
            outcomes.append("stale")

    threads = [threading.Thread(target=create, args=(nb,)) for nb in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def test_two_members_both_grant_the_lock_yet_leave_one_row_each(nb_cluster, writers):
    assert [nb.has_lock for nb in writers] == [True, True]
    counts: Counter[str] = Counter()
    for number in range(30):
        outcomes = race(writers, number)
        assert sorted(outcomes) == ["stale", "written"], number
        counts.update(outcomes)
    assert counts == {"written": 30, "stale": 30}
    rows = nb_cluster.leader().rows(BALANCER)
    assert {row["_uuid"]: row["name"] for row in rows} == {
        str(load_balancer_row_uuid(lb_id(number), "tcp")): lb_id(number) for number in range(30)
    }
    assert len(nb_cluster.leader().rows(CHECK)) == 30
    attached = {row["name"]: len(row["load_balancer"]) for row in nb_cluster.leader().rows(SWITCH)}
    assert attached == {"ls0": 30, "ls1": 30, "ls2": 0}


def test_a_change_on_one_member_makes_the_other_plan_stale(writers):
    first, second = writers
    apply(first, hand.creation(lb_id(1)))
    assert second.wait_for(lambda: bool(second.load_balancers(lb_id(1))), 10)
    row = second.load_balancers(lb_id(1))[0].uuid
    one = hand.plan(lb_id(1), hand.set_key(row, "external_ids", "enabled", "True", "False"))
    other = hand.plan(lb_id(1), hand.set_key(row, "external_ids", "enabled", "True", "maybe"))
    with second.snapshot():
        apply(first, one)
    with pytest.raises(StalePlan):
        apply(second, other)
    assert second.load_balancers(lb_id(1))[0].external_ids["enabled"] == "False"


def test_replica_follows_the_leader(nb_cluster):
    nb_cluster.members[0].insert(hand.topology())
    nb = connect_nb(Endpoint(nb_cluster.remotes, timeout=15), lock=True)
    try:
        assert nb.has_lock
        apply(nb, hand.creation(lb_id(1)))
        nb_cluster.transfer_leadership()
        assert nb.wait_for(lambda: nb.reconnects >= 1 and nb.has_lock, 30)
        assert apply(nb, hand.creation(lb_id(2))).transactions == 1
        nb_cluster.leader().kill()
        nb_cluster.leader()
        assert nb.wait_for(lambda: nb.reconnects >= 2 and nb.has_lock, 30)
        assert apply(nb, hand.creation(lb_id(3))).transactions == 1
        names = sorted(row["name"] for row in nb_cluster.leader().rows(BALANCER))
        assert names == [lb_id(1), lb_id(2), lb_id(3)]
    finally:
        nb.close()


def written_at_last(nb: NbReplica, plan: Plan) -> None:
    """Apply as the service does: again while the failure is transient.

    The lost transaction may have been in the leader's log: the plan is stale then and the row is there.
    """
    transient = retry_if_exception_type(Transient)
    for attempt in Retrying(retry=transient, stop=stop_after_delay(60), reraise=True):
        with attempt:
            try:
                apply(nb, plan)
            except StalePlan:
                assert nb.wait_for(lambda: bool(nb.load_balancers(lb_id(1))), 30)


def test_cluster_that_loses_its_majority_is_transient():
    with raft_cluster(NB) as cluster:
        cluster.members[0].insert(hand.topology())
        nb = connect_nb(Endpoint(cluster.remotes, timeout=3))
        try:
            for member in cluster.followers():
                member.kill()
            with pytest.raises(Transient):
                apply(nb, hand.creation(lb_id(1)))
            for member in cluster.members:
                if cluster.role(member) == "":
                    member.start()
            cluster.leader()
            written_at_last(nb, hand.creation(lb_id(1)))
            assert len(cluster.leader().rows(BALANCER)) == 1
        finally:
            nb.close()
