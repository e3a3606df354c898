"""Catalogue faults of health monitors, IPv6, subnets and deletions, as plans of small clouds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from octavia_lib.api.drivers.data_models import Member
from octavia_lib.api.drivers.exceptions import UnsupportedOptionError

from graphs import LB, NETWORK, POOL, SUBNET, VIP_PORT, balancer, listener, member, monitor, pool
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, Subnet, Topology
from ovnlb.desired.model import LoadBalancer, Vip
from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff.compare import plan
from ovnlb.diff.plan import Op, Plan
from ovnlb.reconciler import validate
from ovnlb.reconciler.validate import Lookups, VipFacts
from servers.neutron import serving
from small_cloud import hm_port, small_cloud

V6 = "sub-6"
TOPO = Topology(
    subnets={SUBNET: Subnet(SUBNET, NETWORK, "10.0.0.0/24"), V6: Subnet(V6, NETWORK, "fd00::/64")},
    member_ports={
        **{(SUBNET, f"10.0.0.{20 + n}"): (f"port-{n}",) for n in range(1, 9)},
        (V6, "fd00::5"): ("port-v6",),
    },
    hm_ports={SUBNET: "10.0.0.2", V6: "fd00::2"},
)


def row(lb: LoadBalancer, topo: Topology = TOPO) -> LoadBalancerRow:
    """The one row of the load balancer."""
    (found,) = desired_state(lb, topo, Health()).state.rows
    return found


def observed(lb: LoadBalancer, **columns) -> NbState:
    """The desired row as a database has it, with damage."""
    made = row(lb)
    checks = tuple(replace(check, uuid=f"check-{n}") for n, check in enumerate(made.health_checks))
    return NbState((replace(made, uuid="row", health_checks=checks, **columns),))


def planned(lb: LoadBalancer, have: NbState) -> Plan:
    return plan(desired_state(lb, TOPO, Health()).state, have, lb_id=LB)


def checked(*members, **more) -> LoadBalancer:
    return balancer(pools=[pool(members or (member(1), member(2)), monitor(**more))])


def v6(listeners=None, algorithm: str = "SOURCE_IP_PORT", hm=None) -> LoadBalancer:
    vip = Vip("fd00::10", VIP_PORT, V6, NETWORK)
    backend = member(1, "fd00::5", port=8080, subnet_id=V6)
    return balancer(listeners, [pool([backend], hm, algorithm=algorithm)], vip=vip)


# Health monitors


def test_one_changed_field_leaves_the_others_B086():
    have = observed(checked())
    changes = planned(checked(delay=10), have).changes
    assert [(one.column, one.key, one.before, one.after) for one in changes] == [
        ("options", "interval", "5", "10")
    ]
    assert row(checked(delay=10)).health_checks[0].options == {
        "interval": "10",
        "timeout": "3",
        "success_count": "2",
        "failure_count": "3",
    }


def test_new_member_is_one_mapping_B088():
    have = observed(checked())
    changes = planned(checked(member(1), member(2), member(3)), have).changes
    mappings = [one for one in changes if one.column == "ip_port_mappings"]
    assert [(one.op, one.key, one.before, one.after) for one in mappings] == [
        (Op.SET, "10.0.0.23", None, "port-3:10.0.0.2")
    ]


def test_source_of_another_port_is_rewritten_B090():
    mappings = {f"10.0.0.2{n}": f"port-{n}:10.0.0.99" for n in (1, 2)}
    changes = planned(checked(), observed(checked(), ip_port_mappings=mappings)).changes
    assert {one.after for one in changes} == {"port-1:10.0.0.2", "port-2:10.0.0.2"}


def test_listener_that_moves_to_a_pool_without_monitor_L21():
    second = pool([member(3, pool_id="pool-2")], id="pool-2")
    before = balancer([listener()], [pool([member(1)], monitor()), second])
    after = balancer([listener(default_pool_id="pool-2")], [pool([member(1)], monitor()), second])
    assert row(after).health_checks == ()
    assert [one.op for one in planned(after, observed(before)).changes if one.owner] == [Op.DELETE]


def test_monitor_goes_with_its_pool_B087():
    gone = balancer([listener()], [pool([member(1)], monitor(), provisioning_status="PENDING_DELETE")])
    have = observed(checked())
    changes = planned(gone, have).changes
    assert ("external_ids", "octavia:healthmonitors", None) in {(c.column, c.key, c.after) for c in changes}
    assert [one.op for one in changes if one.owner] == [Op.DELETE]
    assert "octavia:healthmonitors" not in row(gone).external_ids


def test_address_of_the_monitor_port_that_is_a_members_own_B096():
    with serving() as server:
        world = small_cloud(server, hm_port(address="10.0.0.3"))
        world.balancers = (checked(member(1), member(9, "10.0.0.3")),)
        server.store["ports"]["twin"] = {**hm_port("twin"), "name": "vm", "device_owner": "compute:nova"}
        assert any("10.0.0.3" in text for text in world.walk(LB).plan.refused)


# IPv6


def test_v6_vips_are_bracketed_B041():
    assert row(v6()).vips == {"[fd00::10]:80": "[fd00::5]:8080"}


def test_v6_mappings_are_bracketed_and_old_ones_replaced_B094():
    lb = v6(hm=monitor())
    assert row(lb).ip_port_mappings == {"[fd00::5]": "port-v6:[fd00::2]"}
    changes = planned(lb, observed(lb, ip_port_mappings={"fd00::5": "port-v6:fd00::2"})).changes
    assert {(one.op, one.key, one.after) for one in changes} == {
        (Op.UNSET, "fd00::5", None),
        (Op.SET, "[fd00::5]", "port-v6:[fd00::2]"),
    }


def test_two_listeners_on_a_v6_vip_B042():
    both = [listener(), listener(id="listener-2", port=443)]
    assert set(row(v6(both)).vips) == {"[fd00::10]:80", "[fd00::10]:443"}


@pytest.mark.parametrize("entry", ["B123", "L39"])
def test_v6_hash_where_the_schema_has_it(entry):
    old = desired_state(v6(algorithm="SOURCE_IP"), TOPO, Health())
    assert old.state.rows[0].selection_fields == {"ip_src", "ip_dst"}
    assert "ipv6_not_hashed" in {warning.code for warning in old.warnings}
    new = desired_state(v6(algorithm="SOURCE_IP"), replace(TOPO, ipv6_hash=True), Health())
    assert new.state.rows[0].selection_fields == {"ip_src", "ip_dst", "ipv6_src", "ipv6_dst"}
    assert new.warnings == ()


def test_v6_monitor_port_is_made_on_the_v6_subnet_B094():
    without = replace(TOPO, hm_ports={SUBNET: "10.0.0.2"})
    assert desired_state(v6(hm=monitor()), without, Health()).hm_subnets == (V6,)


# Subnets


@pytest.mark.parametrize("status", ["ACTIVE", "PENDING_DELETE"])
def test_member_without_subnet_is_the_same_member_B056(status):
    """The key has the VIP's subnet, Octavia has none: one member all the same, and it can go."""
    have = observed(balancer(pools=[pool([member(1)])]))
    lb = balancer(pools=[pool([member(1, subnet_id=None, provisioning_status=status)])])
    changes = planned(lb, have).changes
    if status == "ACTIVE":
        assert changes == ()
    else:
        assert (POOL, "") in {((one.key or "").removeprefix("pool_"), one.after) for one in changes}
        assert ("vips", "10.0.0.10:80", None) in {(one.column, one.key, one.after) for one in changes}


def test_member_without_subnet_in_the_vips_subnet_B057():
    assert row(balancer(pools=[pool([member(1, subnet_id=None)])])).vips == {"10.0.0.10:80": "10.0.0.21:80"}


def test_refusal_says_what_to_set_B060():
    facts = VipFacts(LB, (("10.0.0.10", SUBNET),))
    asked = Lookups(lambda: facts, lambda subnet: {SUBNET: "10.0.0.0/24"}[subnet])
    candidate = Member(member_id="m1", address="10.9.0.5", protocol_port=80)
    with pytest.raises(UnsupportedOptionError) as refused:
        validate.member(candidate, asked, "create")
    assert "Give subnet_id for member 10.9.0.5: the VIP subnets are 10.0.0.0/24" in str(
        refused.value.user_fault_string
    )


# Deletion


def test_deleted_protocol_is_one_row_less_B026():
    udp = listener(id="listener-u", protocol="UDP", default_pool_id=None)
    both = desired_state(balancer([listener(), udp]), TOPO, Health()).state
    have = NbState(tuple(replace(one, uuid=f"row-{one.protocol}") for one in both.rows))
    gone = balancer([listener(), replace(udp, provisioning_status="PENDING_DELETE")])
    (change,) = planned(gone, have).changes
    assert (change.op, change.table, change.row) == (Op.DELETE, "Load_Balancer", "row-udp")


# Floating IPs


def test_vip_port_without_name_is_found_by_its_id_B027():
    with serving() as server:
        world = small_cloud(server, vip_fip="172.24.4.10")
        del world._tables["Logical_Switch_Port"][0]["external_ids"]["neutron:port_name"]
        world.balancers = (balancer(pools=[pool([member(1)])]),)
        (found,) = world.walk(LB).plan.want.rows
        assert found.external_ids["neutron:vip_fip"] == "172.24.4.10"
        assert set(found.vips) == {"10.0.0.10:80", "172.24.4.10:80"}


def test_vip_port_that_answers_for_its_address_is_reported_B083():
    with serving() as server:
        world = small_cloud(server)
        world.balancers = (balancer(),)
        assert "vip_port_published" in {one.code for one in world.walk(LB).plan.warnings}
        world._tables["Logical_Switch_Port"][0]["addresses"] = []
        world.writes += 1
        assert "vip_port_published" not in {one.code for one in world.walk(LB).plan.warnings}


def test_vip_port_is_fine_where_down_ports_are_not_answered_for_B083():
    with serving() as server:
        world = small_cloud(server)
        world.balancers = (balancer(),)
        world._tables["NB_Global"][0]["options"]["ignore_lsp_down"] = "false"
        world.writes += 1
        assert "vip_port_published" not in {one.code for one in world.walk(LB).plan.warnings}
