"""What one load balancer depends on, found by lookups; catalogue faults as far as topology decides."""

import pytest

from ovnlb.desired.facts import Subnet, Switch, switch_name
from ovnlb.desired.model import LoadBalancer, Member, Pool, Vip
from ovnlb.desired.subnets import member_subnet
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.observed.topology import FipDisagreement, fip_disagreements, northbound_fips, subnet_ids, topology
from scenario_files import all_steps


class Cloud:
    """Networks, routers and ports in the forms of a bundle, one call each."""

    def __init__(self) -> None:
        self.nb = {
            name: []
            for name in ("Logical_Switch", "Logical_Router", "Logical_Router_Port", "Logical_Switch_Port")
        }
        self.neutron = {"subnets": [], "floatingips": []}

    def network(self, name, *subnets, physical=None, localnet=False):
        """Subnets as (id, cidr)."""
        external_ids = {"neutron:provnet-physical-network": physical} if physical else {}
        switch = {"_uuid": f"ls-{name}", "name": switch_name(name), "ports": [], "external_ids": external_ids}
        self.nb["Logical_Switch"].append(switch)
        for subnet, cidr in subnets:
            self.neutron["subnets"].append({"id": subnet, "network_id": name, "cidr": cidr})
        if localnet:
            self.port(f"provnet-{name}", name, type="localnet", addresses=["unknown"])
        return self

    def port(self, name, network, addresses=(), **columns):
        row = {"_uuid": f"lsp-{name}", "name": name, "type": "", "addresses": list(addresses)} | columns
        self.nb["Logical_Switch_Port"].append(row)
        for switch in self.nb["Logical_Switch"]:
            if switch["name"] == switch_name(network):
                switch["ports"].append(row["_uuid"])
        return self

    def router(self, name, *interfaces):
        """Interfaces as (network, subnet ids, networks) or with a dict of further columns."""
        ports = []
        for index, (network, subnets, networks, *more) in enumerate(interfaces):
            columns = dict(more[0]) if more else {}
            external_ids = {"neutron:network_name": switch_name(network), "neutron:subnet_ids": subnets}
            external_ids |= columns.pop("external_ids", {})
            port = {"_uuid": f"{name}-{index}", "name": f"lrp-{name}-{index}", "networks": networks}
            self.nb["Logical_Router_Port"].append(port | {"external_ids": external_ids} | columns)
            ports.append(port["_uuid"])
        self.nb["Logical_Router"].append({"_uuid": f"lr-{name}", "name": name, "ports": ports})
        return self

    def topology(self, lb, **more):
        return topology(BundleNorthbound(self.nb), BundleNeutron(self.neutron), lb, **more)


def vip(address="10.0.1.10", subnet="s1", network="n1", port="vip-port"):
    return Vip(address, port, subnet, network)


def member(address, subnet=None, name="m1"):
    return Member(name, "p1", address, 80, subnet, 1, False, True, "ACTIVE", "ONLINE")


def lb(*members, main=None, additional=()):
    pool = Pool("p1", "TCP", "SOURCE_IP_PORT", True, "ACTIVE", "ONLINE", None, None, tuple(members), None)
    return LoadBalancer(
        id="lb1",
        project_id=None,
        name=None,
        provider="ovn",
        enabled=True,
        provisioning_status="ACTIVE",
        operating_status="ONLINE",
        created_at=None,
        updated_at=None,
        vip=main or vip(),
        additional_vips=tuple(additional),
        listeners=(),
        pools=(pool,),
    )


def tenant():
    """n1 (s1, 10.0.1.0/24), n2 (s2, 10.0.2.0/24) and n3 (s3, 10.0.3.0/24), no router yet."""
    cloud = Cloud()
    for number in (1, 2, 3):
        cloud.network(f"n{number}", (f"s{number}", f"10.0.{number}.0/24"))
    return cloud


def inside(number, address=1):
    return (f"n{number}", f"s{number}", [f"10.0.{number}.{address}/24"])


def names(topo):
    """(router names, switch names without the prefix)."""
    prefix = switch_name("")
    return [router.name for router in topo.routers], sorted(one.removeprefix(prefix) for one in topo.switches)


def test_switches_behind_the_router_whatever_came_first_B021():
    assert names(tenant().router("r1", inside(1), inside(2)).topology(lb())) == (["r1"], ["n1", "n2"])


def test_without_router_only_the_networks_of_vip_and_members():
    assert names(tenant().topology(lb(member("10.0.2.5", "s2")))) == ([], ["n1", "n2"])


@pytest.mark.parametrize("order", [(1, 254), (254, 1)], ids=["B061-gateway-first", "B061-gateway-last"])
def test_both_routers_of_a_network(order):
    cloud = tenant().router("r1", inside(1, order[0])).router("r2", inside(1, order[1]))
    assert names(cloud.topology(lb())) == (["r1", "r2"], ["n1"])


def test_routers_of_a_shared_subnet_with_all_they_reach_B063():
    cloud = tenant().router("r1", inside(1), inside(2)).router("r2", inside(1, 254), inside(3))
    assert names(cloud.topology(lb())) == (["r1", "r2"], ["n1", "n2", "n3"])


def test_detached_router_takes_its_switches_along_B063():
    cloud = tenant().router("r1", inside(1), inside(2)).router("r2", inside(3))
    assert names(cloud.topology(lb())) == (["r1"], ["n1", "n2"])


def test_switch_detached_from_the_router_B064():
    assert names(tenant().router("r1", inside(1)).topology(lb())) == (["r1"], ["n1"])


def test_interface_with_several_addresses_keeps_both_families_B062():
    cloud = Cloud().network("n1", ("s1", "10.0.1.0/24"), ("s6", "fd00::/64"))
    cloud.router("r1", ("n1", "s1 s6", ["10.0.1.1/24", "fd00::1/64"]))
    (router,) = cloud.topology(lb()).routers
    (interface,) = router.interfaces
    assert interface.subnet_ids == {"s1", "s6"}
    assert interface.networks == ("10.0.1.1/24", "fd00::1/64")


def test_ipv6_interface_removed_from_a_dual_stack_network_B065():
    cloud = Cloud().network("n1", ("s1", "10.0.1.0/24"), ("s6", "fd00::/64"))
    topo = cloud.router("r1", ("n1", "s1", ["10.0.1.1/24"])).topology(lb())
    assert names(topo) == (["r1"], ["n1"])
    assert topo.routers[0].interfaces[0].subnet_ids == {"s1"}


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"gateway_chassis": ["gc"]}, id="B066"),
        pytest.param({"external_ids": {"neutron:is_ext_gw": "true"}, "gateway_chassis": []}, id="B067"),
        pytest.param({"ha_chassis_group": ["g"], "gateway_chassis": []}, id="B068"),
    ],
)
def test_gateway_port_is_marked_and_its_switch_is_a_providers(columns):
    cloud = tenant().network("ext", ("sx", "172.24.4.0/24"), physical="public")
    topo = cloud.router("r1", inside(1), ("ext", "sx", ["172.24.4.2/24"], columns)).topology(lb())
    assert {one.switch: one.gateway for one in topo.routers[0].interfaces} == {
        switch_name("n1"): False,
        switch_name("ext"): True,
    }
    assert topo.switches[switch_name("ext")] == Switch(switch_name("ext"), provider=True)


@pytest.mark.parametrize("cleared", [False, True], ids=["B066-gateway-set", "B066-gateway-cleared"])
def test_router_with_a_gateway_on_the_vips_provider_network(cleared):
    cloud = tenant().network("ext", ("sx", "172.24.4.0/24"), localnet=True)
    gateway = [("ext", "sx", ["172.24.4.2/24"], {"external_ids": {"neutron:is_ext_gw": "True"}})]
    cloud.router("r1", inside(1), inside(2), *([] if cleared else gateway))
    topo = cloud.topology(lb(main=vip("172.24.4.10", "sx", "ext")))
    assert names(topo) == (([], ["ext"]) if cleared else (["r1"], ["ext", "n1", "n2"]))
    assert topo.switches[switch_name("ext")].provider


@pytest.mark.parametrize(
    ("how", "marks"),
    [
        pytest.param("vip", {"localnet": True}, id="B070"),
        pytest.param("vip", {"physical": "public"}, id="B070-no-localnet-yet"),
        pytest.param("member", {"localnet": True}, id="B071-member"),
        pytest.param("interface", {"localnet": True}, id="B071-interface"),
        pytest.param("interface", {"localnet": True, "physical": "vlan"}, id="L35"),
    ],
)
def test_provider_switch_is_marked_on_every_path(how, marks):
    cloud = tenant().network("vlan", ("sv", "10.9.0.0/24"), **marks)
    cloud.router("r1", inside(1), *([("vlan", "sv", ["10.9.0.1/24"])] if how == "interface" else []))
    members = [member("10.9.0.5", "sv")] if how == "member" else []
    topo = cloud.topology(lb(*members, main=vip("10.9.0.10", "sv", "vlan") if how == "vip" else None))
    assert topo.switches[switch_name("vlan")].provider
    assert not any(switch.provider for name, switch in topo.switches.items() if name != switch_name("vlan"))


def test_routers_of_additional_vips_count_L36():
    cloud = Cloud().network("n1", ("s1", "10.0.1.0/24"), ("s6", "fd00::/64"))
    cloud.router("r1", ("n1", "s1", ["10.0.1.1/24"])).router("r2", ("n1", "s6", ["fd00::1/64"]))
    topo = cloud.topology(lb(additional=[vip("fd00::10", "s6", port="vip6")]))
    assert [router.name for router in topo.routers] == ["r1", "r2"]
    assert set(topo.subnets) == {"s1", "s6"}


def test_vip_on_a_dual_stack_provider_network_B069():
    cloud = Cloud().network("ext", ("x4", "172.24.4.0/24"), ("x6", "2001:db8::/64"), physical="public")
    topo = cloud.topology(lb(main=vip("172.24.4.10", "x4", "ext")))
    assert set(topo.subnets) == {"x4"}
    assert names(topo) == ([], ["ext"])


def test_vip_without_subnet_has_its_networks_switch_and_routers():
    cloud = tenant().router("r1", inside(1))
    assert names(cloud.topology(lb(main=vip(subnet=None)))) == (["r1"], ["n1"])


def test_what_is_gone_is_absent_B024_B144():
    topo = Cloud().topology(lb(member("10.0.2.5", "s2")))
    assert (topo.subnets, topo.switches, topo.routers, topo.member_ports) == ({}, {}, (), {})


def test_subnet_gone_leaves_the_others_alone_B025():
    cloud = tenant().port("vm", "n2", ["fa:16:3e:00:00:01 10.0.2.5"])
    topo = cloud.topology(lb(member("10.9.0.5", "gone"), member("10.0.2.5", "s2", "m2")))
    assert set(topo.subnets) == {"s1", "s2"}
    assert topo.member_ports == {("s2", "10.0.2.5"): ("vm",)}


def test_member_ports_by_exact_address_on_the_subnets_switch_L28():
    cloud = tenant()
    cloud.port("b", "n2", ["fa:16:3e:00:00:01 10.0.2.1"]).port("a", "n2", ["fa:16:3e:00:00:02 10.0.2.1"])
    cloud.port("c", "n2", ["fa:16:3e:00:00:03 10.0.2.10"]).port("d", "n1", ["fa:16:3e:00:00:04 10.0.2.1"])
    topo = cloud.topology(lb(member("10.0.2.1", "s2"), member("10.0.2.99", "s2", "m2")))
    assert topo.member_ports == {("s2", "10.0.2.1"): ("a", "b")}


def test_member_address_is_compared_in_canonical_form():
    cloud = Cloud().network("n1", ("s6", "fd00::/64"))
    cloud.port("vm", "n1", ["fa:16:3e:00:00:01 fd00::21"])
    topo = cloud.topology(lb(member("FD00:0::21", "s6"), main=vip("fd00::10", "s6")))
    assert topo.member_ports == {("s6", "fd00::21"): ("vm",)}


def test_unreadable_member_address_hurts_nobody():
    topo = tenant().topology(lb(member("not an address", "s1"), member("10.0.1.5", None, "m2")))
    assert topo.member_ports == {}


def test_hm_ports_of_the_member_subnets_only_B090():
    cloud = tenant()
    for number in (1, 2, 3):
        cloud.port(
            f"hm{number}",
            f"n{number}",
            [f"fa:16:3e:00:00:0{number} 10.0.{number}.2"],
            external_ids={"neutron:port_name": f"ovn-lb-hm-s{number}"},
        )
    topo = cloud.topology(lb(member("10.0.2.5", "s2"), member("10.0.1.5", None, "m2")))
    assert topo.hm_ports == {"s1": "10.0.1.2", "s2": "10.0.2.2"}


@pytest.mark.parametrize(
    ("addresses", "found"),
    [
        ([], {}),
        (["fa:16:3e:00:00:01 10.9.0.2"], {}),
        (["fa:16:3e:00:00:01 fd00::2 10.0.2.2"], {"s2": "10.0.2.2"}),
    ],
    ids=["none", "outside-the-subnet", "one-of-several"],
)
def test_hm_port_address_is_the_one_in_the_subnet(addresses, found):
    cloud = tenant().port("hm", "n2", addresses, external_ids={"neutron:port_name": "ovn-lb-hm-s2"})
    assert cloud.topology(lb(member("10.0.2.5", "s2"))).hm_ports == found


@pytest.mark.parametrize(
    ("noted", "fip"),
    [
        pytest.param("172.24.4.10", "172.24.4.10", id="B027-by-port-id"),
        pytest.param("172.24.4.10 172.24.4.9", "172.24.4.9", id="several-lowest"),
        pytest.param("172.24.4.9,172.24.4.10", "172.24.4.9", id="several-commas"),
        pytest.param("2001:db8::1 172.24.4.10", "172.24.4.10", id="ipv4-only"),
        pytest.param("", None, id="empty"),
        pytest.param("none", None, id="unreadable"),
    ],
)
def test_fip_of_the_vip_port(noted, fip):
    cloud = tenant().port("vip-port", "n1", external_ids={"neutron:port_fip": noted})
    assert cloud.topology(lb()).fips == ({"vip-port": fip} if fip else {})


def test_fips_of_all_vip_ports_B077():
    cloud = tenant()
    for port, fip in (("vip-port", "172.24.4.10"), ("vip-2", "172.24.4.11"), ("vm", "172.24.4.12")):
        cloud.port(port, "n1", external_ids={"neutron:port_fip": fip})
    topo = cloud.topology(lb(additional=[vip("10.0.2.10", "s2", "n2", "vip-2")]))
    assert topo.fips == {"vip-port": "172.24.4.10", "vip-2": "172.24.4.11"}


def test_neutrons_listing_wins_and_the_difference_is_told_B076():
    cloud = tenant().port("vip-port", "n1", external_ids={"neutron:port_fip": "172.24.4.10"})
    cloud.port("vip-2", "n1")
    balancer = lb(additional=[vip("10.0.2.10", "s2", "n2", "vip-2")])
    listed = {"vip-2": "172.24.4.11", "somebody's": "172.24.4.12"}
    nb = BundleNorthbound(cloud.nb)
    assert cloud.topology(balancer, listed_fips=listed).fips == {"vip-2": "172.24.4.11"}
    assert fip_disagreements(nb, balancer, listed) == (
        FipDisagreement("vip-port", "172.24.4.10", None),
        FipDisagreement("vip-2", None, "172.24.4.11"),
    )
    assert fip_disagreements(nb, balancer, northbound_fips(nb, balancer)) == ()


@pytest.mark.parametrize(
    ("address", "subnet", "found"),
    [
        pytest.param("10.0.1.5", None, "s1", id="B057"),
        pytest.param("10.9.0.5", None, None, id="B058"),
        pytest.param("10.9.0.5", "s2", "s2", id="its-own"),
        pytest.param("10.0.1.5", "gone", "gone", id="its-own-though-gone"),
        pytest.param("FD00:0::5", None, "s6", id="additional-vips-subnet"),
        pytest.param("fd01::5", None, None, id="outside-v6"),
        pytest.param("10.0.1.05", None, None, id="leading-zero"),
        pytest.param("host", None, None, id="no-address"),
    ],
)
def test_member_subnet(address, subnet, found):
    subnets = {"s1": Subnet("s1", "n1", "10.0.1.0/24"), "s6": Subnet("s6", "n1", "fd00::/64")}
    vips = (vip(), vip("fd00::10", "s6"))
    assert member_subnet(member(address, subnet), vips, subnets) == found


def test_subnet_ids_are_those_the_graph_names():
    assert subnet_ids(lb(member("10.0.2.5", "s2"), member("10.0.1.5", None, "m2"))) == {"s1", "s2"}


class Counting:
    """Passes calls on and counts them by name."""

    def __init__(self, source) -> None:
        self._source, self.calls = source, []

    def __getattr__(self, name):
        self.calls.append(name)
        return getattr(self._source, name)


def test_lookups_do_not_grow_with_the_cloud_B121():
    def lookups(networks):
        cloud = Cloud()
        for number in range(1, networks + 1):
            cloud.network(f"n{number}", (f"s{number}", f"10.0.{number}.0/24"))
            cloud.router(f"r{number}", inside(number))
        nb = Counting(BundleNorthbound(cloud.nb))
        neutron = Counting(BundleNeutron(cloud.neutron))
        topology(nb, neutron, lb(member("10.0.1.5", "s1")))
        return nb.calls, neutron.calls

    small, large = lookups(3), lookups(200)
    assert small == large
    assert small[1] == ["subnets"]


# Steps after which a recorded attachment lies where nothing of the LB leads (the tool left it there).
LEFT_OVER = {"sync_extra_ls_association-07-driver.do_sync"}


def test_every_recorded_attachment_lies_within_the_topology():
    """What a provider attached is never outside of what the topology of that LB shows."""
    compared, outside = 0, set()
    for step in all_steps():
        nb, neutron = BundleNorthbound(step.nb()), BundleNeutron(step.neutron)
        for raw in (step.octavia or {}).get("load_balancer", []):
            if raw["provisioning_status"] in ("DELETED", "PENDING_DELETE") or step.call == "nb.tamper":
                continue
            topo = topology(nb, neutron, recorded(step.octavia, raw["id"]))
            routers = {router.name for router in topo.routers}
            for row in nb.load_balancers(raw["id"]):
                compared += 1
                if not (row.routers <= routers and row.switches <= set(topo.switches)):
                    outside.add(step.id)
    assert outside == LEFT_OVER
    assert compared > 400


def recorded(octavia, lb_id):
    """The VIPs and members of a recorded graph: all that the topology needs of it."""
    (main,) = [vip_of(row) for row in octavia["vip"] if row["load_balancer_id"] == lb_id]
    more = [vip_of(row) for row in octavia.get("additional_vip", []) if row["load_balancer_id"] == lb_id]
    pools = {row["id"] for row in octavia.get("pool", []) if row["load_balancer_id"] == lb_id}
    members = [
        member(row["ip_address"], row["subnet_id"], row["id"])
        for row in octavia.get("member", [])
        if row["pool_id"] in pools
    ]
    return lb(*members, main=main, additional=more)


def vip_of(row):
    return Vip(row["ip_address"], row["port_id"], row["subnet_id"], row["network_id"])
