"""Operating statuses from the graph, the topology and the monitors; catalogue kind "member status"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphs import LB, LISTENER, MONITOR, NETWORK, POOL, SUBNET, balancer, listener, member, monitor, pool
from ovnlb.desired.compute import Desired, desired_state
from ovnlb.desired.facts import Health, MonitorKey, Subnet, Topology
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.statuses import operating_statuses

ADDRESSES = [f"10.0.0.{20 + number}" for number in range(1, 12)] + ["10.0.0.1", "10.0.0.10"]
TOPO = Topology(
    subnets={SUBNET: Subnet(SUBNET, NETWORK, "10.0.0.0/24")},
    member_ports={(SUBNET, address): (f"port-{address}",) for address in ADDRESSES},
    hm_ports={SUBNET: "10.0.0.2"},
)


def key(address: str, port: int = 80, protocol: str = "tcp") -> MonitorKey:
    return MonitorKey(f"port-{address}", address, port, protocol)


def health(**statuses: str) -> Health:
    """Monitors by member (m1="online")."""
    keys = {f"m{number}": key(f"10.0.0.{20 + number}") for number in range(1, 12)}
    return Health({keys[name]: status for name, status in statuses.items()}, complete=True)


def statuses(lb: LoadBalancer, found: Health | None = None, topo: Topology = TOPO) -> dict[str, str]:
    want: Desired = desired_state(lb, topo, found or Health({}, complete=True))
    return operating_statuses(lb, want.members)


def monitored(*members, **more) -> LoadBalancer:
    return balancer(pools=[pool(members, monitor(**more))])


def test_disabled_member_is_offline_and_comes_back_without_monitor_B029():
    lb = balancer(pools=[pool([member(1, enabled=False), member(2)])])
    assert statuses(lb)["m1"] == "OFFLINE"
    assert statuses(balancer(pools=[pool([member(1)])]))["m1"] == "NO_MONITOR"


def test_pool_with_listener_and_no_members_is_online_B028():
    assert statuses(balancer())[POOL] == "ONLINE"
    assert statuses(balancer(listeners=[]))[POOL] == "OFFLINE"


def test_one_member_without_port_does_not_spoil_the_monitor_B034():
    lb = monitored(member(1), member(2), member(3, "10.0.0.99"))
    found = desired_state(lb, TOPO, health(m1="online", m2="online"))
    assert operating_statuses(lb, found.members) | {} == {
        "m1": "ONLINE",
        "m2": "ONLINE",
        "m3": "ERROR",
        MONITOR: "ONLINE",
        POOL: "DEGRADED",
        LISTENER: "DEGRADED",
        LB: "DEGRADED",
    }
    assert set(found.state.rows[0].ip_port_mappings) == {"10.0.0.21", "10.0.0.22"}


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_offline_monitor_of_the_rows_protocol_B035(protocol):
    lb = balancer(
        listeners=[listener(protocol=protocol)], pools=[pool([member(1)], monitor(), protocol=protocol)]
    )
    offline = Health({key("10.0.0.21", protocol=protocol.lower()): "offline"}, complete=True)
    other = {"TCP": "udp", "UDP": "tcp"}[protocol]
    assert statuses(lb, offline)["m1"] == "ERROR"
    assert statuses(lb, Health({key("10.0.0.21", protocol=other): "offline"}, True))["m1"] == "NO_MONITOR"


def test_degraded_then_error_up_to_the_load_balancer_B036():
    lb = monitored(member(1), member(2))
    for found, expected in (
        (health(m1="offline", m2="online"), "DEGRADED"),
        (health(m1="offline", m2="offline"), "ERROR"),
        (health(m1="online", m2="online"), "ONLINE"),
    ):
        got = statuses(lb, found)
        assert (got[POOL], got[LISTENER], got[LB]) == (expected,) * 3


def test_another_load_balancer_is_not_touched_B038():
    other = balancer(pools=[pool([member(2)], monitor())], id="lb-2")
    assert statuses(other, health(m1="offline", m2="online"))["lb-2"] == "ONLINE"
    assert statuses(monitored(member(1)), health(m1="offline", m2="online"))[LB] == "ERROR"


def test_monitor_and_port_gone_is_an_error_B039():
    lb = monitored(member(1, operating_status="ONLINE"), member(2, operating_status="ONLINE"))
    without = replace(TOPO, member_ports={(SUBNET, "10.0.0.22"): ("port-10.0.0.22",)})
    got = statuses(lb, health(m2="online"), without)
    assert (got["m1"], got["m2"], got[POOL]) == ("ERROR", "ONLINE", "DEGRADED")


@pytest.mark.parametrize(
    ("status", "overdue", "expected"),
    [
        ("online", False, "ONLINE"),
        ("offline", False, "ERROR"),
        ("error", False, "ERROR"),
        ("", False, "NO_MONITOR"),
        (None, False, "NO_MONITOR"),
        ("", True, "ERROR"),
        (None, True, "ERROR"),
        ("online", True, "ONLINE"),
    ],
)
def test_status_of_a_monitor_B040(status, overdue, expected):
    monitors = {} if status is None else {key("10.0.0.21"): status}
    found = Health(monitors, complete=True, overdue=frozenset([key("10.0.0.21")] if overdue else []))
    assert statuses(monitored(member(1)), found)["m1"] == expected


@pytest.mark.parametrize("last", ["ONLINE", "ERROR", "OFFLINE", "NO_MONITOR"])
def test_nothing_is_downgraded_while_the_southbound_is_away(last):
    lb = monitored(member(1, operating_status=last))
    away = Health({key("10.0.0.21"): "offline"}, complete=False, overdue=frozenset([key("10.0.0.21")]))
    assert statuses(lb, away)["m1"] == last


def test_monitor_removed_B032():
    members = [member(1, operating_status="ERROR"), member(2, enabled=False, operating_status="ONLINE")]
    gone = pool(members, monitor(provisioning_status="PENDING_DELETE"))
    for lb in (balancer(pools=[gone]), balancer(pools=[pool(members)])):
        got = statuses(lb, health(m1="offline"))
        assert (got["m1"], got["m2"]) == ("NO_MONITOR", "OFFLINE")
        assert MONITOR not in got


def test_members_are_matched_exactly_and_in_every_pool_L28():
    first = pool([member(1, "10.0.0.1"), member(2, "10.0.0.10")], monitor())
    second = pool(
        [member(3, "10.0.0.1", pool_id="pool-2")], monitor(id="hm-2", pool_id="pool-2"), id="pool-2"
    )
    both = [listener(), listener(id="listener-2", port=81, default_pool_id="pool-2")]
    found = Health({key("10.0.0.1"): "error", key("10.0.0.10"): "online"}, complete=True)
    got = statuses(balancer(both, [first, second]), found)
    assert (got["m1"], got["m2"], got["m3"]) == ("ERROR", "ONLINE", "ERROR")


def test_disabled_monitor_L38():
    lb = monitored(member(1, operating_status="ERROR"), enabled=False)
    row = desired_state(lb, TOPO, health(m1="offline")).state.rows[0]
    assert (row.health_checks, row.ip_port_mappings) == ((), {})
    got = statuses(lb, health(m1="offline"))
    assert (got["m1"], got[MONITOR]) == ("NO_MONITOR", "OFFLINE")


def test_member_of_weight_zero_drains_or_not():
    lb = monitored(member(1, weight=0), member(2))
    assert statuses(lb, health(m1="online", m2="online"))["m1"] == "DRAINING"
    kept = desired_state(lb, TOPO, health(m1="online", m2="online"), drain=False)
    assert kept.members["m1"] == "ONLINE"
    drained = desired_state(lb, TOPO, health(m2="online")).state.rows[0]
    assert '"m1": "OFFLINE"' in drained.external_ids["neutron:member_status"]


def test_member_without_subnet_outside_every_vip_subnet_B058():
    lb = balancer(pools=[pool([member(1, "10.9.0.5", subnet_id=None), member(2)])])
    got = statuses(lb)
    assert (got["m1"], got["m2"], got[POOL], got[LB]) == ("ERROR", "NO_MONITOR", "DEGRADED", "DEGRADED")


@pytest.mark.parametrize("below", ["ERROR", "DEGRADED", "ONLINE"])
def test_disabled_things_are_offline_whatever_is_below(below):
    members = {
        "m1": "ERROR" if below != "ONLINE" else "ONLINE",
        "m2": "ERROR" if below == "ERROR" else "ONLINE",
    }
    pools = [pool([member(1), member(2)])]
    up = operating_statuses(balancer(pools=pools), members)
    assert (up[POOL], up[LISTENER], up[LB]) == (below,) * 3
    assert operating_statuses(balancer(pools=pools, enabled=False), members)[LB] == "OFFLINE"
    off = operating_statuses(balancer([listener(enabled=False)], pools), members)
    assert (off[LISTENER], off[LB]) == ("OFFLINE", "ONLINE")
    down = operating_statuses(balancer(pools=[replace(pools[0], enabled=False)]), members)
    assert (down[POOL], down[LISTENER], down[LB]) == ("OFFLINE", "ONLINE", "ONLINE")


def test_going_objects_have_no_status():
    gone = pool([member(1)], monitor(), provisioning_status="PENDING_DELETE")
    assert set(statuses(balancer(pools=[gone]))) == {LB, LISTENER}
    lost = balancer([listener(provisioning_status="PENDING_DELETE")], [pool([member(1)])])
    assert statuses(lost) == {LB: "ONLINE", POOL: "ONLINE", "m1": "NO_MONITOR"}
