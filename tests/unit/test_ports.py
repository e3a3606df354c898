"""Effects carried out in a Neutron that speaks HTTP; catalogue kinds "leaked ports" and "FIP"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Thread

import pytest

from graphs import LB, NETWORK, SUBNET, VIP_PORT, balancer, listener, member, monitor, pool
from ovnlb.desired.model import LoadBalancer, Vip
from ovnlb.diff.plan import Phase
from ovnlb.reconciler.rounds import SETTLED, Result
from servers.neutron import FakeNeutron, serving
from small_cloud import (
    FIP,
    HM_NAME,
    MAC,
    MEMBER_FIP,
    hm_port,
    monitored,
    nat,
    port,
    small_cloud,
    vip_port,
)


@pytest.fixture
def server() -> Iterator[FakeNeutron]:
    with serving() as found:
        yield found


def changed(world) -> list[tuple[str, str]]:
    """Method and object of every change that Neutron accepted."""
    return [
        (call.method, call.path.partition("/")[2] or call.body["name"])
        for call in world.calls()
        if call.status < 300
    ]


def deleting(lb: LoadBalancer | None = None) -> LoadBalancer:
    return replace(lb or balancer(), provisioning_status="PENDING_DELETE")


def settle(world, *lbs: LoadBalancer) -> dict[str, Result]:
    """One round for these load balancers; all of them settle."""
    world.balancers = lbs
    done = world.play()
    assert {one.result for one in done.values()} <= SETTLED, [one.error for one in done.values()]
    return {key: one.result for key, one in done.items()}


def sources(world, lb_id: str = LB) -> set[str]:
    """The source addresses in the load balancer's rows."""
    rows = world.states[lb_id].rows
    return {value.partition(":")[2] for row in rows for value in row.ip_port_mappings.values()}


# Health-monitor ports


def test_port_is_made_before_the_rows_that_name_it_B090(server):
    world = small_cloud(server)
    settle(world, monitored())
    (call,) = world.calls()
    assert call.body == {
        "name": HM_NAME,
        "network_id": NETWORK,
        "fixed_ips": [{"subnet_id": SUBNET}],
        "admin_state_up": True,
        "port_security_enabled": False,
        "device_owner": "ovn-lb-hm:distributed",
        "device_id": HM_NAME,
        "project_id": "project-1",
        "mac_address": MAC,
    }
    address = call.reply["port"]["fixed_ips"][0]["ip_address"]
    assert sources(world) == {address}
    assert settle(world, monitored()) == {LB: Result.NOOP}
    assert len(world.calls()) == 1


def test_plan_shows_the_port_to_come(server):
    world = small_cloud(server)
    world.balancers = (monitored(),)
    plan = world.walk(LB).plan
    (effect,) = plan.effects
    assert (effect.kind, effect.target, effect.phase) == ("create_hm_port", SUBNET, Phase.BEFORE)
    assert effect.details["mac_address"] == MAC
    assert effect.details["health_monitors"] == ["hm-1"]
    values = {v for row in plan.want.rows for v in row.ip_port_mappings.values()}
    assert values == {f"port-{n}:(address of the new HM port on {SUBNET})" for n in (1, 2)}
    assert world.calls() == []


@pytest.mark.parametrize("owner", ["network:distributed", "network:dhcp", "compute:nova"])
def test_another_port_of_the_subnet_is_never_the_source_B090(server, owner):
    world = small_cloud(server, port("metadata", "10.0.0.4", device_owner=owner))
    settle(world, monitored())
    assert sources(world) == {"10.0.0.2"}
    assert "metadata" not in {target for _, target in changed(world)}


def test_a_users_port_with_the_name_of_ours_is_not_used_nor_deleted(server):
    world = small_cloud(server, hm_port("a-users", device_owner="compute:nova", device_id="vm"))
    settle(world, monitored())
    assert changed(world) == [("POST", HM_NAME)]
    assert "10.0.0.3" not in sources(world)
    settle(world, deleting(monitored()))
    assert ("DELETE", "a-users") not in changed(world)


def test_port_of_another_writer_is_found_not_made_again(server):
    world = small_cloud(server)
    world.lag = True
    world.balancers = (monitored(),)
    world.tables()
    server.store["ports"]["zz"] = hm_port("zz", "10.0.0.30")
    server.store["ports"]["aa"] = hm_port("aa", "10.0.0.31")
    settle(world, monitored())
    assert changed(world) == []
    assert sources(world) == {"10.0.0.31"}


def test_address_is_known_before_the_northbound_shows_the_port(server):
    world = small_cloud(server)
    world.tables()
    world.lag = True
    settle(world, monitored())
    assert sources(world) == {"10.0.0.2"}
    assert settle(world, monitored()) == {LB: Result.NOOP}
    world.lag = False
    world.writes += 1
    assert settle(world, monitored()) == {LB: Result.NOOP}
    assert changed(world) == [("POST", HM_NAME)]


def test_lost_answer_leaves_one_port(server):
    world = small_cloud(server)
    server.fail("POST", "ports", lost=True)
    settle(world, monitored())
    assert [one["name"] for one in server.dump()["ports"]].count(HM_NAME) == 1


@pytest.mark.parametrize("status", [400, 403, 409])
def test_mac_is_left_out_when_neutron_refuses_it(server, status):
    world = small_cloud(server)
    server.fail("POST", "ports", status=status, when=lambda body: "mac_address" in body)
    settle(world, monitored())
    assert [("mac_address" in call.body, call.status) for call in world.calls()] == [
        (True, status),
        (False, 201),
    ]
    assert sources(world)


def test_mac_of_another_port_of_the_network_is_not_asked_for(server):
    world = small_cloud(server, port("other", "10.0.0.40", mac_address=MAC))
    settle(world, monitored())
    assert [("mac_address" in call.body, call.status) for call in world.calls()] == [(False, 201)]


def test_mac_can_be_switched_off(server):
    world = small_cloud(server)
    world.memory.monitor_mac = False
    settle(world, monitored())
    assert "mac_address" not in world.calls()[0].body


def test_mac_of_an_existing_port_is_never_changed(server):
    world = small_cloud(server, hm_port(mac_address="fa:16:3e:99:99:99"))
    settle(world, monitored())
    assert world.calls() == []
    assert sources(world) == {"10.0.0.3"}


# Removal


def test_port_goes_with_the_last_mapping_of_its_subnet_B093(server):
    world = small_cloud(server)
    settle(world, monitored())
    two = pool([member(1), member(2, provisioning_status="PENDING_DELETE")], monitor())
    settle(world, balancer(pools=[two]))
    assert changed(world) == [("POST", HM_NAME)]
    one = pool([member(1, provisioning_status="PENDING_DELETE")], monitor())
    settle(world, balancer(pools=[one]))
    assert changed(world)[1:] == [("DELETE", world.calls()[0].reply["port"]["id"])]


def second(status: str = "ACTIVE") -> LoadBalancer:
    """Another load balancer with a monitored member on the subnet."""
    mine = pool([member(2, pool_id="pool-2")], monitor(id="hm-2", pool_id="pool-2"), id="pool-2")
    return balancer(
        [listener(id="listener-2", port=81, default_pool_id="pool-2")],
        [mine],
        id="lb-2",
        vip=Vip("10.0.0.11", "vip-2", SUBNET, NETWORK),
        provisioning_status=status,
    )


def test_port_that_another_load_balancer_maps_stays_B093(server):
    world = small_cloud(server)
    settle(world, monitored(), second())
    settle(world, deleting(monitored()), second())
    assert ("DELETE", VIP_PORT) in changed(world)
    assert [name for method, name in changed(world) if method == "DELETE"] == [VIP_PORT]
    settle(world, deleting(second()))
    assert len([one for one in server.dump()["ports"] if one["name"] == HM_NAME]) == 0


def test_two_load_balancers_that_go_in_one_round_leave_no_port(server):
    world = small_cloud(server)
    settle(world, monitored(), second())
    settle(world, deleting(monitored()), deleting(second()))
    assert HM_NAME not in {one["name"] for one in server.dump()["ports"]}


def test_port_is_kept_for_a_plan_that_is_not_written_yet(server):
    world = small_cloud(server, hm_port())
    settle(world, monitored())
    world.balancers = (second(), deleting(monitored()))
    plan = world.walk(LB).plan
    world.walk("lb-2")  # asks for the port; nothing of it is in any row
    assert any(effect.kind == "delete_hm_port" for effect in plan.effects)
    world.write([plan])
    world.ports.perform(deleting(monitored()), [one for one in plan.effects if one.kind == "delete_hm_port"])
    assert changed(world) == []
    settle(world, second())
    assert sources(world, "lb-2") == {"10.0.0.3"}


def test_use_is_told_by_the_exact_address_L34(server):
    world = small_cloud(server, hm_port(address="10.0.0.20"), port("port-9", "10.0.0.9"))
    settle(world, monitored())
    other = replace(world.states[LB].rows[0], name="lb-9", uuid="row-9", health_checks=())
    world.states["lb-9"] = replace(
        world.states[LB], rows=(replace(other, ip_port_mappings={"10.0.0.9": "port-9:10.0.0.201"}),)
    )
    settle(world, deleting(monitored()))
    assert ("DELETE", "hm-port") in changed(world)


def test_same_address_of_another_network_is_another_address(server):
    world = small_cloud(server, hm_port(), port("elsewhere", "10.0.0.9", network_id="net-2"))
    settle(world, monitored())
    row = replace(world.states[LB].rows[0], name="lb-9", uuid="row-9", health_checks=())
    mapping = {"10.0.0.9": "elsewhere:10.0.0.3"}
    world.states["lb-9"] = replace(world.states[LB], rows=(replace(row, ip_port_mappings=mapping),))
    settle(world, deleting(monitored()))
    assert ("DELETE", "hm-port") in changed(world)


def test_port_removed_and_wanted_again_is_made_again(server):
    world = small_cloud(server, hm_port())
    settle(world, monitored())
    world.tables()
    world.lag = True  # the replica still shows the old port
    gone = balancer(pools=[pool([member(1, provisioning_status="PENDING_DELETE")], monitor())])
    settle(world, gone)
    settle(world, monitored())
    assert changed(world) == [("DELETE", "hm-port"), ("POST", HM_NAME)]
    assert sources(world) == {"10.0.0.2"}


def test_creating_and_removing_take_turns(server):
    """While one walk makes the port, another's removal waits and then finds it asked for."""
    world = small_cloud(server, hm_port())
    settle(world, monitored())
    world.balancers = (deleting(monitored()),)
    plan = world.walk(LB).plan
    world.write([plan])
    (removal,) = [one for one in plan.effects if one.kind == "delete_hm_port"]
    with world.memory.subnet(SUBNET):
        worker = Thread(target=world.ports.perform, args=(deleting(), [removal]))
        worker.start()
        worker.join(0.2)
        assert worker.is_alive()
        world.memory.ask("lb-2", [SUBNET], ["10.0.0.3"])
    worker.join(10)
    assert changed(world) == []


# Legacy owners


def legacy() -> dict:
    return hm_port(device_owner="network:distributed", device_id="")


def test_legacy_owner_is_repaired_B091(server):
    world = small_cloud(server, legacy())
    settle(world, monitored())
    (call,) = world.calls()
    assert (call.method, call.path) == ("PUT", "ports/hm-port")
    assert call.body == {"device_owner": "ovn-lb-hm:distributed", "device_id": HM_NAME}
    assert settle(world, monitored()) == {LB: Result.NOOP}


def test_repair_is_rolled_back_when_the_lsp_is_no_localport_B091(server):
    world = small_cloud(server, legacy())
    world.localports = ("network:distributed",)
    settle(world, monitored())
    after = server.dump()["ports"][-1]
    assert (after["device_owner"], after["device_id"]) == ("network:distributed", "")
    assert [call.method for call in world.calls()] == ["PUT", "PUT"]
    settle(world, monitored())
    assert len(world.calls()) == 2
    codes = [warning.code for warning in world.walk(LB).plan.warnings]
    assert "repair_hm_port_refused" in codes
    assert sources(world) == {"10.0.0.3"}


@pytest.mark.parametrize("owner", ["network:distributed", "ovn-lb-hm:distributed"])
def test_other_ports_of_these_owners_are_not_repaired_B091(server, owner):
    world = small_cloud(server, port("metadata", "10.0.0.4", device_owner=owner, device_id="ovnmeta-1"))
    settle(world, monitored())
    assert [method for method, _ in changed(world)] == ["POST"]


# VIP ports


def test_vip_port_goes_after_the_rows_and_before_the_report(server):
    world = small_cloud(server)
    settle(world, balancer())
    seen = []
    world.server.fail(
        "DELETE", "ports", times=2, status=500, when=lambda _: bool(seen.append(dict(world.states)))
    )
    world.balancers = (deleting(),)
    done = world.play()[LB]
    assert changed(world) == [("DELETE", VIP_PORT)]
    assert seen[0][LB].rows == ()
    assert [(record.kind, record.provisioning) for record in done.update.records][-1] == (
        "loadbalancers",
        "DELETED",
    )


def test_additional_vip_ports_go_too(server):
    name = f"ovn-lb-vip-additional-1-{LB}"
    extra = port("extra", "10.0.0.12", name=name, device_owner="ovn-lb:vip", device_id=f"lb-{LB}")
    world = small_cloud(server, extra)
    lb = balancer(additional_vips=(Vip("10.0.0.12", "extra", SUBNET, NETWORK),))
    settle(world, lb)
    settle(world, deleting(lb))
    assert changed(world) == [("DELETE", VIP_PORT), ("DELETE", "extra")]


@pytest.mark.parametrize(
    "users",
    [
        {"name": "my-port"},
        {"name": "", "device_owner": "", "device_id": ""},
        {"name": "ovn-lb-vip-lb-7"},
        {"device_id": "vm-1", "device_owner": "compute:nova"},
        {"device_id": "lb-7"},
    ],
)
def test_port_of_somebody_else_is_never_deleted_nor_changed(server, users):
    world = small_cloud(server, vip=vip_port(**users))
    settle(world, balancer())
    settle(world, deleting())
    assert changed(world) == []
    assert VIP_PORT in {one["id"] for one in server.dump()["ports"]}


@pytest.mark.parametrize("status", [400, 403, 409, 429, 500, 503])
def test_load_balancer_is_not_gone_while_its_port_is_there(server, status):
    world = small_cloud(server)
    settle(world, balancer())
    server.fail("DELETE", "ports", status=status, times=99)
    world.balancers = (deleting(),)
    done = world.play()[LB]
    assert (done.result, done.update) == (Result.TRANSIENT, None)
    assert world.states[LB].rows == ()
    server.faults.clear()
    assert world.play()[LB].update is not None
    assert VIP_PORT not in {one["id"] for one in server.dump()["ports"]}


def test_port_that_has_gone_already_is_done(server):
    world = small_cloud(server)
    settle(world, balancer())
    del server.store["ports"][VIP_PORT]
    assert settle(world, deleting()) == {LB: Result.CHANGED}


@pytest.mark.parametrize(
    "before", [{"device_id": ""}, {"device_owner": ""}, {"device_owner": "", "device_id": ""}]
)
def test_vip_port_is_marked_B078(server, before):
    world = small_cloud(server, vip=vip_port(**before))
    settle(world, balancer())
    (call,) = world.calls()
    assert call.body == {"device_owner": "ovn-lb:vip", "device_id": f"lb-{LB}"}
    assert settle(world, balancer()) == {LB: Result.NOOP}


def test_misused_vip_port_is_reported_B078(server):
    misused = vip_port(device_id="vm-7", device_owner="compute:nova")
    world = small_cloud(
        server, vip=misused, nats=(nat(FIP, VIP_PORT, "10.0.0.10", "fa:16:3e:01:01:01"),), vip_fip=FIP
    )
    world.balancers = (balancer(),)
    plan = world.walk(LB).plan
    codes = [warning.code for warning in plan.warnings]
    assert {"vip_port_misused", "vip_nat_distributed"} <= set(codes)
    assert plan.effects == ()


def test_forbidden_mark_is_left_alone_for_a_while(server):
    world = small_cloud(server, vip=vip_port(device_id=""))
    server.fail("PUT", "ports", status=403, times=9)
    settle(world, balancer())
    settle(world, balancer())
    assert len(world.calls()) == 1
    assert "mark_vip_port_refused" in {one.code for one in world.walk(LB).plan.warnings}
    world.clock += 4000
    server.faults.clear()
    settle(world, balancer())
    assert server.store["ports"][VIP_PORT]["device_id"] == f"lb-{LB}"


def test_mark_does_not_hold_up_the_report(server):
    world = small_cloud(server, vip=vip_port(device_id=""))
    server.fail("PUT", "ports", status=500, times=9)
    settle(world, balancer())


@pytest.mark.parametrize(
    ("fact", "expected"),
    [({}, True), ({"fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.0.99"}]}, False)],
)
def test_whether_the_vip_port_exists(server, fact, expected):
    world = small_cloud(server, vip=vip_port(**fact))
    assert world.ports.vip_port_exists(balancer()) is expected
    del server.store["ports"][VIP_PORT]
    assert not world.ports.vip_port_exists(balancer())


# Floating IPs of members


def distributed(server, mac: str | None = "fa:16:3e:02:02:02"):
    """A VIP with a floating IP, and a backend with its own."""
    nats = (nat(FIP, VIP_PORT, "10.0.0.10"), nat(MEMBER_FIP, "port-1", "10.0.0.21", mac))
    return small_cloud(server, nats=nats, vip_fip=FIP)


def plain(**more) -> LoadBalancer:
    return balancer(pools=[pool([member(1), member(2)])], **more)


def member_nat(world) -> tuple[list[str], list[str]]:
    row = world.nats[f"nat-{MEMBER_FIP}"]
    return row["external_mac"], row["logical_port"]


def test_members_fip_is_centralised_with_the_rows_B073(server):
    world = distributed(server)
    world.balancers = (plain(),)
    plan = world.walk(LB).plan
    assert [(one.table, one.column, one.before, one.after) for one in plan.changes if one.table == "NAT"] == [
        ("NAT", "external_mac", "fa:16:3e:02:02:02", None),
        ("NAT", "logical_port", "port-1", None),
    ]
    settle(world, plain())
    assert member_nat(world) == ([], [])
    assert settle(world, plain()) == {LB: Result.NOOP}
    assert world.calls() == []


def test_neutron_that_writes_it_back_is_corrected_again_B134(server):
    world = distributed(server)
    settle(world, plain())
    world.nats[f"nat-{MEMBER_FIP}"].update(external_mac=["fa:16:3e:02:02:02"], logical_port=["port-1"])
    world.writes += 1
    world.balancers = (plain(),)
    reasons = {one.reason for one in world.walk(LB).plan.changes}
    assert reasons == {"drifted"}
    settle(world, plain())
    assert member_nat(world) == ([], [])


def test_central_cloud_has_nothing_to_clear_nor_to_refresh(server):
    world = distributed(server, mac=None)
    settle(world, plain())
    assert member_nat(world) == ([], ["port-1"])
    assert world.calls() == []


def test_without_a_floating_ip_of_its_own_nothing_is_touched(server):
    nats = (nat(MEMBER_FIP, "port-1", "10.0.0.21", "fa:16:3e:02:02:02"),)
    world = small_cloud(server, nats=nats)
    settle(world, plain())
    settle(world, deleting(plain()))
    assert member_nat(world) == (["fa:16:3e:02:02:02"], ["port-1"])
    assert changed(world) == [("DELETE", VIP_PORT)]


def test_same_address_of_another_port_is_not_the_member(server):
    nats = (nat(FIP, VIP_PORT, "10.0.0.10"), nat(MEMBER_FIP, "elsewhere", "10.0.0.21", "fa:16:3e:02:02:02"))
    world = small_cloud(server, nats=nats, vip_fip=FIP)
    settle(world, plain())
    assert member_nat(world) == (["fa:16:3e:02:02:02"], ["elsewhere"])


def going(what: str) -> LoadBalancer:
    """The load balancer while its member, the pool or all of it goes."""
    leaving = "PENDING_DELETE"
    if what == "member":
        return balancer(pools=[pool([member(1, provisioning_status=leaving), member(2)])])
    if what == "pool":
        return balancer(pools=[pool([member(1), member(2)], provisioning_status=leaving)])
    return plain(provisioning_status=leaving)


@pytest.mark.parametrize("what", ["member", "pool", "lb"])
def test_fip_is_refreshed_when_its_last_use_ends_B074(server, what):
    world = distributed(server)
    settle(world, plain())
    settle(world, going(what))
    refreshed = [call for call in world.calls() if call.path.startswith("floatingips")]
    assert [(call.path, call.body) for call in refreshed] == [
        (f"floatingips/fip-{MEMBER_FIP}", {"description": "mine"})
    ]
    assert changed(world)[0] == ("PUT", f"fip-{MEMBER_FIP}")


@pytest.mark.parametrize("what", ["member", "pool"])
def test_refresh_is_repeated_while_the_object_is_going(server, what):
    world = distributed(server)
    settle(world, plain())
    settle(world, going(what))
    settle(world, going(what))
    assert changed(world) == [("PUT", f"fip-{MEMBER_FIP}")] * 2


def test_fip_that_another_load_balancer_needs_central_is_not_refreshed_B074_B077(server):
    world = distributed(server)
    other = replace(
        plain(),
        id="lb-2",
        listeners=(listener(id="l-2", port=81, default_pool_id="p-2"),),
        pools=(pool([member(1, id="m-2", pool_id="p-2")], id="p-2"),),
    )
    settle(world, plain(), other)
    settle(world, deleting(plain()), other)
    assert [name for method, name in changed(world) if method == "PUT"] == []
    assert member_nat(world) == ([], [])


def test_both_load_balancers_are_handled_B077(server):
    nats = (
        nat(FIP, VIP_PORT, "10.0.0.10"),
        nat(MEMBER_FIP, "port-1", "10.0.0.21", "fa:16:3e:02:02:02"),
        nat("172.24.4.51", "port-2", "10.0.0.22", "fa:16:3e:02:02:03"),
    )
    world = small_cloud(server, nats=nats, vip_fip=FIP)
    first = balancer(pools=[pool([member(1)])])
    other = replace(
        balancer(),
        id="lb-2",
        listeners=(listener(id="l-2", port=81, default_pool_id="p-2"),),
        pools=(pool([member(2, pool_id="p-2")], id="p-2"),),
    )
    settle(world, first, other)
    assert [row["external_mac"] for row in world.nats.values()] == [[], [], []]


def test_refresh_when_the_load_balancer_loses_its_fip(server):
    world = distributed(server)
    settle(world, plain())
    lsp = world._tables["Logical_Switch_Port"][0]
    del lsp["external_ids"]["neutron:port_fip"]
    world.writes += 1
    settle(world, plain())
    assert changed(world) == [("PUT", f"fip-{MEMBER_FIP}")]
    settle(world, plain())
    assert len(world.calls()) == 1


def test_vip_port_stays_until_the_fips_are_refreshed(server):
    world = distributed(server)
    settle(world, plain())
    server.fail("PUT", "floatingips", status=503, times=9)
    world.balancers = (deleting(plain()),)
    done = world.play()[LB]
    assert (done.result, done.update) == (Result.TRANSIENT, None)
    assert changed(world) == []
    server.faults.clear()
    settle(world, deleting(plain()))
    assert changed(world) == [("PUT", f"fip-{MEMBER_FIP}"), ("DELETE", VIP_PORT)]


@pytest.mark.parametrize("status", [400, 403])
def test_refused_refresh_does_not_hold_the_load_balancer(server, status):
    world = distributed(server)
    settle(world, plain())
    server.fail("PUT", "floatingips", status=status, times=9)
    settle(world, deleting(plain()))
    assert changed(world) == [("DELETE", VIP_PORT)]


def test_fip_that_has_gone_is_done(server):
    world = distributed(server)
    settle(world, plain())
    del server.store["floatingips"][f"fip-{MEMBER_FIP}"]
    settle(world, going("member"))


def test_fip_of_the_vip_without_a_nat_row_is_reported_and_served_B076(server):
    world = small_cloud(server, vip_fip=FIP)
    world.balancers = (plain(),)
    plan = world.walk(LB).plan
    assert "fip_without_nat" in {one.code for one in plan.warnings}
    assert f"{FIP}:80" in plan.want.rows[0].vips


def test_stale_mac_on_the_vips_nat_row_is_reported_B078(server):
    nats = (nat(FIP, VIP_PORT, "10.0.0.10", "fa:16:3e:09:09:09"),)
    world = small_cloud(server, nats=nats, vip_fip=FIP)
    world.balancers = (plain(),)
    plan = world.walk(LB).plan
    assert [one.code for one in plan.warnings if one.code.startswith("vip_nat")] == ["vip_nat_distributed"]
    assert not [one for one in plan.changes if one.table == "NAT"]


def test_every_fip_of_a_monitored_pool_is_checked_B081(server):
    world = small_cloud(server, hm_port(), vip_fip=FIP)
    settle(world, monitored())
    checks = {check.vip for check in world.states[LB].rows[0].health_checks}
    assert checks == {"10.0.0.10:80", f"{FIP}:80"}


def test_source_that_somebody_else_holds_is_refused_B096(server):
    world = small_cloud(
        server, hm_port(), port("router", "10.0.0.3", device_owner="network:router_interface")
    )
    world.balancers = (monitored(),)
    assert any("10.0.0.3" in text and "router" in text for text in world.walk(LB).plan.refused)
    assert world.play()[LB].result is Result.TERMINAL
