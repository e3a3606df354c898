"""Provisioning verdicts and messages: what is reported, in which order, in how many pieces."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driver_updater import DriverUpdater, Refused
from graphs import LB, LISTENER, MONITOR, POOL, balancer, listener, member, monitor, pool
from ovnlb.desired.model import L7Object, LoadBalancer
from ovnlb.desired.verdicts import (
    DELETED_LIMIT,
    KINDS,
    PLAIN_LIMIT,
    Outcome,
    Record,
    StatusUpdate,
    messages,
    status_update,
)

PENDING = ("PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
STATUSES = ("ACTIVE", "ERROR", *PENDING)


def tables(lb: LoadBalancer) -> dict[str, list[dict[str, str]]]:
    """The graph as Octavia's rows, as far as the driver-agent looks at them."""

    def row(item, **more):
        return {
            "id": item.id,
            "provisioning_status": item.provisioning_status,
            "operating_status": getattr(item, "operating_status", "ONLINE"),
            **more,
        }

    monitors = [found.health_monitor for found in lb.pools if found.health_monitor]
    l7 = [item for found in lb.listeners for item in found.l7]
    return {
        "load_balancer": [row(lb)],
        "listener": [row(one, default_pool_id=one.default_pool_id) for one in lb.listeners],
        "pool": [row(one) for one in lb.pools],
        "member": [row(one, pool_id=one.pool_id) for found in lb.pools for one in found.members],
        "health_monitor": [row(one, pool_id=one.pool_id) for one in monitors],
        "l7policy": [row(one, listener_id=LISTENER) for one in l7 if one.kind == "l7policies"],
        "l7rule": [row(one, l7policy_id="policy") for one in l7 if one.kind == "l7rules"],
        "session_persistence": [],
    }


def members_of(lb: LoadBalancer) -> dict[str, str]:
    return {one.id: "NO_MONITOR" for found in lb.pools for one in found.members}


def report(lb: LoadBalancer, **outcome) -> DriverUpdater:
    """Octavia after the messages for this graph."""
    octavia = DriverUpdater(tables(lb))
    for message in messages([status_update(lb, members_of(lb), Outcome(**outcome))]):
        octavia.update(message)
    return octavia


def records(lb: LoadBalancer, **outcome) -> dict[str, tuple[str | None, str | None]]:
    update = status_update(lb, members_of(lb), Outcome(**outcome))
    return {record.id: (record.provisioning, record.operating) for record in update.records}


def test_nothing_changed_nothing_is_said():
    assert records(balancer(pools=[pool([member(1)], monitor())])) == {}


def test_an_active_object_only_gets_an_operating_status():
    lb = balancer(pools=[pool([member(1, operating_status="ERROR")])])
    assert records(lb) == {"m1": (None, "NO_MONITOR")}


def test_pending_objects_become_active_and_the_lb_comes_last():
    busy = balancer(
        [listener(provisioning_status="PENDING_UPDATE")],
        [pool([member(1, provisioning_status="PENDING_CREATE")], provisioning_status="PENDING_UPDATE")],
        provisioning_status="PENDING_UPDATE",
    )
    update = status_update(busy, members_of(busy), Outcome())
    assert [(one.kind, one.provisioning) for one in update.records] == [
        ("members", "ACTIVE"),
        ("pools", "ACTIVE"),
        ("listeners", "ACTIVE"),
        ("loadbalancers", "ACTIVE"),
    ]


def test_cascade_delete_reports_every_child_with_its_quota():
    l7 = (L7Object("policy", "l7policies", "ACTIVE"), L7Object("rule", "l7rules", "ACTIVE"))
    lb = balancer(
        [listener(l7=l7)],
        [pool([member(1), member(2)], monitor())],
        provisioning_status="PENDING_DELETE",
    )
    octavia = report(lb)
    assert octavia.freed == Counter(
        member=2, health_monitor=1, pool=1, l7rule=1, l7policy=1, listener=1, load_balancer=1
    )
    assert octavia.row("load_balancer", LB)["provisioning_status"] == "DELETED"


def test_deleted_pool_takes_members_and_monitor_with_their_quota_and_frees_its_listener():
    gone = pool([member(1)], monitor(), provisioning_status="PENDING_DELETE")
    lb = balancer(
        [listener(provisioning_status="PENDING_UPDATE")], [gone], provisioning_status="PENDING_UPDATE"
    )
    octavia = report(lb)
    assert octavia.pending() == []
    assert octavia.freed == Counter(member=1, health_monitor=1, pool=1)
    assert octavia.row("listener", LISTENER)["default_pool_id"] is None


def test_nothing_is_said_of_a_deleted_load_balancer():
    lb = balancer(
        pools=[pool([member(1, provisioning_status="PENDING_CREATE")])], provisioning_status="DELETED"
    )
    assert status_update(lb, {}, Outcome()) == StatusUpdate(LB)


def test_failed_child_is_an_error_and_unlocks_its_parents():
    bad = pool([member(1, provisioning_status="PENDING_CREATE")], provisioning_status="PENDING_UPDATE")
    lb = balancer([listener()], [bad], provisioning_status="PENDING_UPDATE")
    got = records(lb, failed={"m1"})
    assert {key: value[0] for key, value in got.items()} == {"m1": "ERROR", POOL: "ACTIVE", LB: "ACTIVE"}
    assert records(replace(lb, provisioning_status="PENDING_CREATE"), failed={LB})[LB] == ("ERROR", "ERROR")


@pytest.mark.parametrize("status", ["ACTIVE", "ERROR"])
def test_a_failed_object_that_is_not_pending_keeps_its_status(status):
    lb = balancer(pools=[pool([member(1, provisioning_status=status)])])
    assert records(lb, failed={"m1"}) == {}


def test_going_objects_never_become_errors():
    gone = member(1, provisioning_status="PENDING_DELETE")
    busy = balancer(pools=[pool([gone])], provisioning_status="PENDING_DELETE")
    assert records(busy, failed={"m1", LB, POOL})[LB] == ("DELETED", "OFFLINE")
    assert records(balancer(pools=[pool([gone])]), failed={"m1"})["m1"] == ("DELETED", "OFFLINE")


def test_errors_heal_but_a_load_balancer_without_its_port():
    lb = balancer(
        [listener(provisioning_status="ERROR")], provisioning_status="ERROR", operating_status="ERROR"
    )
    healed = status_update(lb, {}, Outcome())
    assert healed.heals_lb
    assert {one.id: one.provisioning for one in healed.records} == {LISTENER: "ACTIVE", LB: "ACTIVE"}
    kept = status_update(lb, {}, Outcome(vip_port=False))
    assert not kept.heals_lb
    assert {one.id for one in kept.records} == {LISTENER}


def test_heal_travels_alone():
    lb = balancer([listener(provisioning_status="ERROR")], provisioning_status="ERROR")
    other = balancer(pools=[], provisioning_status="PENDING_UPDATE", id="lb-2", listeners=[])
    sent = list(messages([status_update(lb, {}, Outcome()), status_update(other, {}, Outcome())]))
    assert [sorted(message) for message in sent] == [["loadbalancers"], ["listeners"], ["loadbalancers"]]
    assert sent[-1]["loadbalancers"] == [{"id": LB, "provisioning_status": "ACTIVE"}]


def test_layer_seven_is_never_left_pending():
    l7 = (L7Object("policy", "l7policies", "PENDING_CREATE"), L7Object("rule", "l7rules", "PENDING_CREATE"))
    octavia = report(balancer([listener(l7=l7)], provisioning_status="PENDING_CREATE"))
    assert octavia.row("l7policy", "policy")["provisioning_status"] == "ERROR"
    assert octavia.pending() == []


@pytest.mark.parametrize(("count", "expected"), [(0, 1), (48, 1), (49, 2), (120, 3)])
def test_deleted_records_are_sent_in_small_messages(count, expected):
    members = [member(number) for number in range(count)]
    lb = balancer([], [pool(members)], provisioning_status="PENDING_DELETE")
    sent = list(messages([status_update(lb, {}, Outcome())]))
    assert len(sent) == -(-(count + 2) // DELETED_LIMIT) == expected
    assert all(sum(map(len, message.values())) <= DELETED_LIMIT for message in sent)
    assert "loadbalancers" in sent[-1]


def test_plain_records_are_sent_in_messages_of_a_thousand():
    members = tuple(member(number, provisioning_status="PENDING_UPDATE") for number in range(2500))
    lb = balancer(pools=[pool(members)], provisioning_status="PENDING_UPDATE")
    sent = list(messages([status_update(lb, members_of(lb), Outcome())]))
    assert [sum(map(len, message.values())) for message in sent] == [PLAIN_LIMIT, PLAIN_LIMIT, 501]
    assert [list(message) for message in sent] == [["members"], ["members"], ["members", "loadbalancers"]]


def test_records_say_only_what_they_mean():
    assert Record("members", "m1").as_dict() == {"id": "m1"}
    assert Record("members", "m1", "ACTIVE", "ONLINE").as_dict() == {
        "id": "m1",
        "provisioning_status": "ACTIVE",
        "operating_status": "ONLINE",
    }


graphs = st.builds(
    lambda own, above, pools, hm, members, gone: balancer(
        [listener(provisioning_status=above)],
        [
            pool(
                [member(n, provisioning_status=status) for n, status in enumerate(members)],
                None if hm is None else monitor(provisioning_status=hm),
                provisioning_status=pools,
            )
        ],
        provisioning_status=own,
    ),
    st.sampled_from(STATUSES),
    st.sampled_from(STATUSES),
    st.sampled_from(STATUSES),
    st.sampled_from([None, *STATUSES]),
    st.lists(st.sampled_from(STATUSES), max_size=4),
    st.none(),
)


@given(lb=graphs, failed=st.sets(st.sampled_from([LB, LISTENER, POOL, MONITOR, "m0", "m1"])))
def test_no_graph_leaves_anything_pending(lb, failed):
    """Whatever is pending or fails; and every row that goes gives back its own quota."""
    octavia = report(lb, failed=failed)
    deleted = octavia.row("load_balancer", LB)["provisioning_status"] == "DELETED"
    assert octavia.pending() == []
    assert deleted == (lb.provisioning_status == "PENDING_DELETE")
    before = tables(lb)
    for table in ("member", "health_monitor", "pool", "listener"):
        assert octavia.freed[table] == len(before[table]) - len(octavia.tables[table])
    assert not deleted or all(octavia.tables[table] == [] for table in ("member", "pool", "listener"))


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
    st.sampled_from(["PENDING_UPDATE", "PENDING_DELETE"]),
)
def test_children_are_reported_before_their_load_balancer(sizes, status):
    """In the order in which the driver-agent works through a message, and over messages."""
    updates = []
    for number, size in enumerate(sizes):
        members = [member(0, id=f"m{number}-{n}", provisioning_status="PENDING_CREATE") for n in range(size)]
        mine = pool(members, id=f"pool-{number}", provisioning_status="PENDING_UPDATE")
        lb = balancer([], [mine], id=f"lb-{number}", provisioning_status=status)
        updates.append(status_update(lb, members_of(lb), Outcome()))
    sent = [
        (kind, one["id"]) for message in messages(updates) for kind in KINDS for one in message.get(kind, ())
    ]
    assert len(sent) == len(set(sent)) == sum(size + 2 for size in sizes)
    for update in updates:
        places = [sent.index((record.kind, record.id)) for record in update.records]
        assert sent.index(("loadbalancers", update.lb_id)) == max(places)


def test_the_interpreter_refuses_what_the_agent_refuses():
    octavia = DriverUpdater(tables(balancer()))
    for message in (
        {"listeners": [{"id": "no-such", "provisioning_status": "ACTIVE"}]},
        {"loadbalancers": [{"id": "no-such", "provisioning_status": "DELETED"}]},
        {"pools": [{"provisioning_status": "ACTIVE"}]},
        {"pools": [{"id": POOL, "provisioning_status": "FINE"}]},
    ):
        with pytest.raises(Refused):
            octavia.update(message)
    octavia.update({"members": [{"id": "no-such", "provisioning_status": "ACTIVE"}], "unknown": []})
    assert octavia.pending() == []
