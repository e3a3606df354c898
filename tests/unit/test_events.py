"""Row events, by way of what they name, to the load balancers that must be looked at."""

from __future__ import annotations

import pytest

from clocks import Clock
from ovnlb.desired.compute import Desired
from ovnlb.desired.facts import MonitorKey, Router, RouterInterface, Subnet, Switch, Topology
from ovnlb.desired.model import LoadBalancer, Member, Pool, Vip
from ovnlb.desired.rows import LoadBalancerRow, NbState, load_balancer_row_uuid
from ovnlb.diff.plan import Plan
from ovnlb.observed.connection import RELOADED, RowEvent
from ovnlb.observed.events import NOTHING, touched
from ovnlb.reconciler.interest import Interest
from ovnlb.reconciler.queue import Priority, WorkQueue
from ovnlb.reconciler.sources import EventSource
from ovnlb.reconciler.walk import Walked

OLD_UUID = "11111111-1111-4111-8111-111111111111"
MONITOR = MonitorKey("vm1", "10.0.0.9", 80, "tcp")


def walked(number: int = 1) -> Walked:
    """A load balancer of its own network, switch, router and ports."""
    n = str(number)
    member = Member(f"m{n}", f"pool{n}", f"10.0.{n}.9", 80, f"s{n}", 1, False, True, "ACTIVE", "ONLINE")
    pool = Pool(f"pool{n}", "TCP", "SOURCE_IP_PORT", True, "ACTIVE", "ONLINE", None, None, (member,), None)
    vip = Vip(f"10.0.{n}.1", f"vip{n}", f"s{n}", f"net{n}")
    lb = LoadBalancer(f"lb{n}", "p", None, "ovn", True, "ACTIVE", "ONLINE", None, None, vip, (), (), (pool,))
    interface = RouterInterface(f"lrp{n}", f"neutron-net{n}", frozenset({f"s{n}"}), (), False)
    topology = Topology(
        subnets={f"s{n}": Subnet(f"s{n}", f"net{n}", f"10.0.{n}.0/24")},
        switches={f"neutron-net{n}": Switch(f"neutron-net{n}", False), f"far{n}": Switch(f"far{n}", False)},
        routers=(Router(f"router{n}", (interface,)),),
    )
    row = LoadBalancerRow(f"lb{n}", "tcp", {})
    old = LoadBalancerRow(f"lb{n}", "udp", {}, uuid=OLD_UUID if number == 1 else None)
    plan = Plan(f"lb{n}", want=NbState((row,)), have=NbState((old,)))
    monitors = {MONITOR: 5} if number == 1 else {}
    return Walked(lb, topology, Desired(monitors=monitors), plan)


@pytest.fixture
def interest():
    made = Interest()
    made.put(walked(1))
    made.put(walked(2))
    return made


def update(table, new, old):
    return RowEvent(table, "update", "uuid", {**new}, {**old})


OWN_UUID = str(load_balancer_row_uuid("lb1", "tcp"))
EVENTS = {
    "own-row-edited": update("Load_Balancer", {"name": "lb1"}, {"vips": {}}),
    "own-row-gone": RowEvent("Load_Balancer", "delete", "u", {"name": "lb1"}),
    "own-row-renamed": update("Load_Balancer", {"name": "other"}, {"name": "lb1"}),
    "check-edited": update(
        "Load_Balancer_Health_Check", {"external_ids": {"octavia:pool_id": "pool1"}}, {"vip": "x"}
    ),
    "detached-from-a-switch": update(
        "Logical_Switch", {"name": "elsewhere", "load_balancer": []}, {"load_balancer": [OWN_UUID]}
    ),
    "old-row-attached-to-a-router": update(
        "Logical_Router", {"name": "elsewhere", "load_balancer": [OLD_UUID]}, {"load_balancer": []}
    ),
    "switch-made": RowEvent("Logical_Switch", "create", "u", {"name": "neutron-net1"}),
    "reached-switch-gone": RowEvent("Logical_Switch", "delete", "u", {"name": "far1"}),
    "switch-becomes-provider": update(
        "Logical_Switch", {"name": "neutron-net1", "external_ids": {"a": "b"}}, {"external_ids": {}}
    ),
    "router-gains-a-port": update("Logical_Router", {"name": "router1", "ports": ["x"]}, {"ports": []}),
    "router-gone": RowEvent("Logical_Router", "delete", "u", {"name": "router1"}),
    "interface-on-the-network": RowEvent(
        "Logical_Router_Port",
        "create",
        "u",
        {"name": "new", "external_ids": {"neutron:network_name": "neutron-net1"}},
    ),
    "interface-gone": RowEvent("Logical_Router_Port", "delete", "u", {"name": "lrp1", "external_ids": {}}),
    "router-side-of-a-switch": RowEvent(
        "Logical_Switch_Port", "create", "u", {"name": "x", "options": {"router-port": "lrp1"}}
    ),
    "vip-port-gets-a-fip": update(
        "Logical_Switch_Port",
        {"name": "vip1", "external_ids": {"neutron:port_fip": "1.2.3.4"}},
        {"external_ids": {}},
    ),
    "hm-port": RowEvent(
        "Logical_Switch_Port",
        "create",
        "u",
        {"name": "x", "external_ids": {"neutron:port_name": "ovn-lb-hm-s1"}},
    ),
    "member-port": RowEvent(
        "Logical_Switch_Port", "delete", "u", {"name": "vm", "addresses": ["fa:16:3e:0:0:1 10.0.1.9"]}
    ),
    "member-port-moves-away": update(
        "Logical_Switch_Port",
        {"name": "vm", "addresses": ["fa:16:3e:00:00:01 10.0.7.7"]},
        {"addresses": ["fa:16:3e:00:00:01 10.0.1.9"]},
    ),
    "nat-of-a-member": RowEvent("NAT", "create", "u", {"logical_ip": "10.0.1.9", "external_ip": "1.1.1.1"}),
    "monitor": update(
        "Service_Monitor",
        {"logical_port": "vm1", "ip": "10.0.0.9", "port": 80, "protocol": ["tcp"], "status": ["offline"]},
        {"status": ["online"]},
    ),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS.keys())
def test_an_event_concerns_exactly_its_load_balancer(interest, event):
    assert interest.keys(touched(event)) == {"lb1"}


@pytest.mark.parametrize(
    "event",
    [
        update("NB_Global", {"nb_cfg": 7}, {"nb_cfg": 6}),
        update("Logical_Switch", {"name": "neutron-net1", "ports": ["p"]}, {"ports": []}),
        update("Logical_Switch", {"name": "neutron-net1", "load_balancer": ["x"]}, {"load_balancer": []}),
        update("Logical_Router", {"name": "router1", "nat": ["x"]}, {"nat": []}),
        RowEvent("Logical_Switch_Port", "create", "u", {"name": "vm", "addresses": ["dynamic"]}),
        RowEvent("Service_Monitor", "create", "u", {"logical_port": "vm1", "ip": "10.0.0.9", "port": 81}),
        RowEvent("Load_Balancer", "create", "u", {"name": "lb-of-somebody-else"}),
    ],
    ids=[
        "counters",
        "ports-of-a-switch",
        "others-rows",
        "nat-list",
        "other-port",
        "other-monitor",
        "foreign",
    ],
)
def test_what_no_load_balancer_depends_on_wakes_nobody(interest, event):
    assert interest.keys(touched(event)) == set()


def test_events_of_unknown_tables_and_reloads():
    assert touched(RowEvent("ACL", "create", "u", {})) is NOTHING
    assert touched(RowEvent("", RELOADED)).everything


def test_interest_follows_the_last_walk_and_forgets(interest):
    interest.put(walked(3))
    assert len(interest) == 3
    interest.forget("lb1")
    assert interest.keys(touched(EVENTS["vip-port-gets-a-fip"])) == set()
    assert not interest.knows("lb1")
    interest.clear()
    assert len(interest) == 0
    assert interest._of_mark == {}


def test_own_rows_come_late_and_low_topology_soon_monitors_damped(interest):
    clock, reloads = Clock(), []
    queue = WorkQueue(clock)
    queue.open()
    source = EventSource(queue, interest, reloads.append)
    source.northbound(EVENTS["own-row-edited"])
    source.northbound(EVENTS["vip-port-gets-a-fip"])
    assert queue.take(9, trickle=9) == ()
    clock.now += 0.05
    (work,) = queue.take(9)
    assert (work.priority, work.triggers) == (Priority.RETRY, {"row", "topology"})
    queue.done("lb1")
    for _ in range(20):
        source.southbound(EVENTS["monitor"])
        clock.now += 0.051
    (work,) = queue.take(9)
    assert work.triggers == {"monitor"}
    queue.done("lb1")
    assert queue.take(9) == ()
    source.northbound(RowEvent("", RELOADED))
    source.southbound(RowEvent("", RELOADED))
    assert reloads == ["northbound", "southbound"]
