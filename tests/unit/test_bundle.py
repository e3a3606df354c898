"""The Northbound and Neutron parts of a bundle, as every spelling of them is read."""

import pytest

from ovnlb.desired.facts import NatEntry, Subnet, Switch
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.observed.bundle import BundleError, BundleNeutron, BundleNorthbound
from scenario_files import all_steps, load_scenario, scenario_names

LB = "1b000000-0000-4000-8000-000000000001"
MAC = "fa:16:3e:00:00:01"


def one_port(**columns):
    """A database of one switch `neutron-n1` with one port `p1`."""
    port = {"_uuid": "u1", "name": "p1", "type": "", "addresses": [], "external_ids": {}} | columns
    switch = {"_uuid": "s1", "name": "neutron-n1", "ports": ["u1"]}
    return BundleNorthbound({"Logical_Switch": [switch], "Logical_Switch_Port": [port]})


@pytest.mark.parametrize("protocol", [["tcp"], "tcp", "TCP", ["Tcp"]])
def test_load_balancer_row(protocol):
    nb = BundleNorthbound(
        {
            "Load_Balancer": [
                {
                    "_uuid": "r1",
                    "name": LB,
                    "protocol": protocol,
                    "external_ids": {"enabled": "True"},
                    "vips": {"10.0.0.10:80": "10.0.0.21:8080"},
                    "selection_fields": ["ip_dst", "ip_src"],
                    "options": {"affinity_timeout": "360"},
                    "ip_port_mappings": {"10.0.0.21": "vm1:10.0.0.2"},
                    "health_check": ["h2", "h1", "no such row"],
                }
            ],
            "Load_Balancer_Health_Check": [
                {"_uuid": "h1", "vip": "b:80", "options": {"interval": "5"}, "external_ids": {}},
                {"_uuid": "h2", "vip": "a:80", "options": {}, "external_ids": {"octavia:vip": "a"}},
            ],
            "Logical_Switch": [
                {"_uuid": "s1", "name": "neutron-n1", "load_balancer": ["r1"]},
                {"_uuid": "s2", "name": "neutron-n2", "load_balancer": "r1"},
                {"_uuid": "s3", "name": "neutron-n3", "load_balancer": []},
            ],
            "Logical_Router": [{"_uuid": "l1", "name": "neutron-r1", "load_balancer": ["r1", "r2"]}],
        }
    )
    assert nb.load_balancers(LB) == (
        LoadBalancerRow(
            name=LB,
            protocol="tcp",
            external_ids={"enabled": "True"},
            vips={"10.0.0.10:80": "10.0.0.21:8080"},
            selection_fields=frozenset({"ip_dst", "ip_src"}),
            options={"affinity_timeout": "360"},
            ip_port_mappings={"10.0.0.21": "vm1:10.0.0.2"},
            health_checks=(
                HealthCheckRow("a:80", {}, {"octavia:vip": "a"}, "h2"),
                HealthCheckRow("b:80", {"interval": "5"}, {}, "h1"),
            ),
            switches=frozenset({"neutron-n1", "neutron-n2"}),
            routers=frozenset({"neutron-r1"}),
            uuid="r1",
        ),
    )


@pytest.mark.parametrize("protocol", [[], None, ""])
def test_row_without_protocol_and_with_columns_left_out_B045(protocol):
    nb = BundleNorthbound({"Load_Balancer": [{"_uuid": "r1", "name": LB, "protocol": protocol}]})
    assert nb.load_balancers(LB) == (LoadBalancerRow(LB, None, {}, uuid="r1"),)


def test_attachments_in_the_form_of_recorded_states():
    nb = BundleNorthbound(
        {
            "Load_Balancer": [{"_uuid": "r1", "name": LB}, {"_uuid": "r2", "name": LB}],
            "attached_switches": {"neutron-n1": ["r1", "r2"], "neutron-n2": ["r2"]},
            "attached_routers": {"neutron-r1": ["r1"]},
        }
    )
    assert [(row.uuid, row.switches, row.routers) for row in nb.load_balancers(LB)] == [
        ("r1", {"neutron-n1"}, {"neutron-r1"}),
        ("r2", {"neutron-n1", "neutron-n2"}, set()),
    ]


def test_duplicates_come_by_uuid_and_each_name_once():
    rows = [{"_uuid": uuid, "name": name} for uuid, name in [("b", LB), ("a", LB), ("c", "other")]]
    nb = BundleNorthbound({"Load_Balancer": rows})
    assert [row.uuid for row in nb.load_balancers(LB)] == ["a", "b"]
    assert sorted(nb.load_balancer_names()) == [LB, "other"]
    assert nb.load_balancers("nobody") == ()


@pytest.mark.parametrize(
    ("columns", "mac", "addresses"),
    [
        pytest.param({"addresses": ["fa:16:3e:00:00:01 10.0.0.21"]}, MAC, ("10.0.0.21",), id="v4"),
        pytest.param(
            {"addresses": "FA:16:3E:00:00:01 10.0.0.21 FD00:0::21"},
            MAC,
            ("10.0.0.21", "fd00::21"),
            id="scalar-dual-stack",
        ),
        pytest.param(
            {"addresses": ["unknown", "fa:16:3e:00:00:01 10.0.0.21"]},
            MAC,
            ("10.0.0.21",),
            id="unknown-word",
        ),
        pytest.param({"addresses": ["fa:16:3e:00:00:01 dynamic"]}, MAC, (), id="dynamic-without-cidrs"),
        pytest.param(
            {
                "type": "router",
                "addresses": ["router"],
                "external_ids": {"neutron:cidrs": "10.0.0.1/24 fd00::1/64"},
            },
            None,
            ("10.0.0.1", "fd00::1"),
            id="B062",
        ),
        pytest.param(
            {"addresses": [], "external_ids": {"neutron:cidrs": "10.0.0.10/24"}},
            None,
            ("10.0.0.10",),
            id="B083-vip-port-without-addresses",
        ),
        pytest.param({"addresses": ["garbage 10.0.0.300"]}, None, (), id="garbage"),
    ],
)
def test_port_addresses(columns, mac, addresses):
    port = one_port(**columns).port("p1")
    assert (port.mac, port.addresses) == (mac, addresses)


def test_ports_with_address_are_those_of_that_switch_sorted():
    ports = [
        ("u1", "b", "10.0.0.1"),
        ("u2", "a", "10.0.0.1"),
        ("u3", "c", "10.0.0.10"),
        ("u4", "d", "10.0.0.1"),
    ]
    nb = BundleNorthbound(
        {
            "Logical_Switch": [
                {"_uuid": "s1", "name": "one", "ports": ["u1", "u2", "u3"]},
                {"_uuid": "s2", "name": "two", "ports": "u4"},
            ],
            "Logical_Switch_Port": [
                {"_uuid": uuid, "name": name, "addresses": [f"fa:16:3e:00:00:01 {address}"]}
                for uuid, name, address in ports
            ],
        }
    )
    assert nb.ports_with_address("one", "10.0.0.1") == ("a", "b")
    assert nb.ports_with_address("two", "10.0.0.1") == ("d",)
    assert nb.ports_with_address("two", "10.0.0.10") == ()


def test_port_of_a_snapshot_without_switch_ports_is_found_by_its_network():
    nb = BundleNorthbound(
        {
            "Logical_Switch": [{"_uuid": "s1", "name": "neutron-n1"}],
            "Logical_Switch_Port": [
                {
                    "_uuid": "u1",
                    "name": "p1",
                    "addresses": ["fa:16:3e:00:00:01 10.0.0.21"],
                    "external_ids": {"neutron:network_name": "neutron-n1"},
                }
            ],
        }
    )
    assert nb.ports_with_address("neutron-n1", "10.0.0.21") == ("p1",)


@pytest.mark.parametrize(
    ("enabled", "expected"), [([], True), (None, True), (True, True), ([False], False), (False, False)]
)
def test_port_enabled(enabled, expected):
    assert one_port(enabled=enabled).port("p1").enabled is expected


def test_hm_port_by_its_neutron_name_lowest_of_several():
    ports = [("u2", "z", "ovn-lb-hm-s1"), ("u1", "a", "ovn-lb-hm-s1"), ("u3", "b", "ovn-lb-hm-s2")]
    nb = BundleNorthbound(
        {
            "Logical_Switch_Port": [
                {"_uuid": uuid, "name": name, "external_ids": {"neutron:port_name": port_name}}
                for uuid, name, port_name in ports
            ]
        }
    )
    assert nb.hm_port("s1").name == "a"
    assert nb.hm_port("s2").name == "b"
    assert nb.hm_port("s") is None


@pytest.mark.parametrize(
    ("external_ids", "port_type", "provider"),
    [
        pytest.param({}, "", False, id="tenant"),
        pytest.param({"neutron:provnet-network-type": "geneve"}, "", False, id="network-type-alone"),
        pytest.param({"neutron:provnet-physical-network": "public"}, "", True, id="B070-physical-network"),
        pytest.param({"neutron:provnet-physical-network": ""}, "", False, id="empty-physical-network"),
        pytest.param({}, "localnet", True, id="B071-localnet-port"),
    ],
)
def test_provider_switch(external_ids, port_type, provider):
    nb = BundleNorthbound(
        {
            "Logical_Switch": [{"_uuid": "s1", "name": "one", "ports": ["u1"], "external_ids": external_ids}],
            "Logical_Switch_Port": [{"_uuid": "u1", "name": "p", "type": port_type}],
        }
    )
    assert nb.switch("one") == Switch("one", provider)
    assert nb.switch("two") is None


@pytest.mark.parametrize(
    ("columns", "gateway"),
    [
        pytest.param({}, False, id="internal"),
        pytest.param({"gateway_chassis": ["gc1"]}, True, id="gateway-chassis"),
        pytest.param({"ha_chassis_group": ["hcg"]}, True, id="B068"),
        pytest.param({"ha_chassis_group": "hcg"}, True, id="B068-scalar"),
        pytest.param({"external_ids": {"neutron:is_ext_gw": "True"}}, True, id="B067"),
        pytest.param({"external_ids": {"neutron:is_ext_gw": "true"}}, True, id="B067-lower-case"),
        pytest.param(
            {"external_ids": {"neutron:is_ext_gw": "False"}, "gateway_chassis": []}, False, id="said-not"
        ),
    ],
)
def test_gateway_interface(columns, gateway):
    port = {"_uuid": "i1", "name": "lrp-1", "networks": "10.0.0.1/24"} | columns
    router = {"_uuid": "r1", "name": "neutron-r1", "ports": ["i1"]}
    nb = BundleNorthbound({"Logical_Router": [router], "Logical_Router_Port": [port]})
    (interface,) = nb.router("neutron-r1").interfaces
    assert (interface.gateway, interface.networks) == (gateway, ("10.0.0.1/24",))


@pytest.mark.parametrize(
    ("external_ids", "peer", "switch"),
    [
        pytest.param({"neutron:network_name": "neutron-n1"}, None, "neutron-n1", id="named"),
        pytest.param({}, "lrp-1", "neutron-n1", id="by-its-other-side"),
        pytest.param({"neutron:network_name": "neutron-gone"}, "lrp-1", "neutron-n1", id="named-one-is-gone"),
        pytest.param({"neutron:network_name": "neutron-gone"}, None, None, id="no-such-switch"),
        pytest.param({}, "lrp-2", None, id="anothers-peer"),
    ],
)
def test_switch_of_an_interface(external_ids, peer, switch):
    nb = BundleNorthbound(
        {
            "Logical_Router": [{"_uuid": "r1", "name": "neutron-r1", "ports": ["i1", "gone"]}],
            "Logical_Router_Port": [{"_uuid": "i1", "name": "lrp-1", "external_ids": external_ids}],
            "Logical_Switch": [{"_uuid": "s1", "name": "neutron-n1", "ports": ["u1"]}],
            "Logical_Switch_Port": [
                {
                    "_uuid": "u1",
                    "name": "p",
                    "type": "router",
                    "options": {"router-port": peer} if peer else {},
                }
            ],
        }
    )
    assert nb.router("neutron-r1").interfaces[0].switch == switch
    assert nb.routers_on("neutron-n1") == (("neutron-r1",) if switch else ())


def test_nat_entries_of_either_side():
    nat = {
        "_uuid": "n1",
        "type": "dnat_and_snat",
        "external_ip": "172.24.4.10",
        "logical_ip": "10.0.0.21",
        "external_mac": ["fa:16:3e:00:00:09"],
        "logical_port": [],
        "external_ids": {"neutron:fip_id": "f1", "neutron:fip_port_id": "p1"},
    }
    central = nat | {"_uuid": "n2", "external_ip": "172.24.4.11", "external_mac": [], "external_ids": {}}
    snat = nat | {"_uuid": "n3", "type": "snat", "logical_ip": "10.0.0.0/24"}
    nb = BundleNorthbound(
        {"NAT": [central, nat, snat], "Logical_Router": [{"_uuid": "r", "name": "neutron-r1", "nat": ["n1"]}]}
    )
    first = NatEntry("n1", "neutron-r1", "172.24.4.10", "10.0.0.21", True, "f1", "p1", "fa:16:3e:00:00:09")
    second = NatEntry("n2", "", "172.24.4.11", "10.0.0.21", False)
    assert nb.nat_entries("172.24.4.10") == (first,)
    assert nb.nat_entries_of("10.0.0.21") == (first, second)
    assert nb.nat_entries_of("10.0.0.0/24") == ()


def test_facts_of_the_database_itself():
    schema = {"selection_fields": ["ip_src", "ipv6_src", "ipv6_dst"]}
    options = {"svc_monitor_mac": "6a:3e:55:00:00:01"}
    nb = BundleNorthbound({"schema": schema, "NB_Global": [{"_uuid": "g", "options": options}]})
    assert (nb.ipv6_hash(), nb.monitor_mac()) == (True, "6a:3e:55:00:00:01")
    empty = BundleNorthbound(None)
    assert (empty.ipv6_hash(), empty.monitor_mac()) == (False, None)


@pytest.mark.parametrize(
    ("nb", "named"),
    [
        pytest.param([], "'nb' must be an object", id="not-an-object"),
        pytest.param({"Load_Balancer": "x"}, "nb.Load_Balancer must be a list", id="no-list"),
        pytest.param({"NAT": [{"_uuid": "a"}, {"name": "b"}]}, r"nb.NAT\[1\] .*'_uuid'", id="no-uuid"),
        pytest.param({"NAT": [7]}, r"nb.NAT\[0\]", id="no-row"),
    ],
)
def test_malformed_part_is_named(nb, named):
    with pytest.raises(BundleError, match=named):
        BundleNorthbound(nb)


def test_neutron_part():
    neutron = BundleNeutron(
        {
            "subnets": [{"id": "s1", "network_id": "n1", "cidr": "10.0.0.0/24", "gateway_ip": None}],
            "ports": [
                {
                    "id": "p1",
                    "name": "ovn-lb-hm-s1",
                    "network_id": "n1",
                    "device_owner": "ovn-lb-hm:distributed",
                    "fixed_ips": [{"subnet_id": "s1", "ip_address": "10.0.0.2"}],
                },
                {"id": "p2", "name": None, "network_id": "n1", "binding:host_id": "node"},
            ],
            "floatingips": [
                {"id": "f1", "port_id": "p2", "floating_ip_address": "172.24.4.20"},
                {"id": "f2", "port_id": "p2", "floating_ip_address": "172.24.4.3"},
                {"id": "f3", "port_id": None, "floating_ip_address": "172.24.4.4"},
            ],
        }
    )
    assert neutron.subnets(["s1", "s2"]) == {"s1": Subnet("s1", "n1", "10.0.0.0/24")}
    assert neutron.floating_ips(["p1", "p2"]) == {"p2": "172.24.4.3"}
    assert neutron.port("p1").addresses == (("s1", "10.0.0.2"),)
    assert [port.id for port in neutron.ports(network_id="n1")] == ["p1", "p2"]
    assert [port.id for port in neutron.ports(network_id="n1", name="ovn-lb-hm-s1")] == ["p1"]
    assert [port.id for port in neutron.ports() if port.host_bound] == ["p2"]
    assert neutron.port("p3") is None


def test_neutron_part_without_ids_is_named():
    with pytest.raises(BundleError, match=r"neutron.subnets\[0\] .*'id'"):
        BundleNeutron({"subnets": [{"cidr": "10.0.0.0/24"}]})


def test_every_recorded_state_is_read_in_full():
    """Nothing of a recorded Northbound state is lost: rows, checks, attachments, NAT."""
    for step in all_steps():
        nb = BundleNorthbound(step.nb())
        rows = [row for name in nb.load_balancer_names() for row in nb.load_balancers(name)]
        expected = step.expected
        assert {row.uuid for row in rows} == {row["_uuid"] for row in expected["Load_Balancer"]}, step.id
        checks = {check.uuid for row in rows for check in row.health_checks}
        assert checks <= {row["_uuid"] for row in expected["Load_Balancer_Health_Check"]}
        for attached, field in (("attached_switches", "switches"), ("attached_routers", "routers")):
            pairs = {(name, row.uuid) for row in rows for name in getattr(row, field)}
            assert pairs == {(name, uuid) for name, uuids in expected[attached].items() for uuid in uuids}
        nat = {entry.uuid for row in expected["NAT"] for entry in nb.nat_entries(row["external_ip"])}
        assert nat == {row["_uuid"] for row in expected["NAT"]}


def test_recorded_switch_ports_agree_with_neutron():
    """The same addresses and floating IPs, whoever is asked: the two sources are interchangeable."""
    compared = 0
    for step in all_steps():
        nb, neutron = BundleNorthbound(step.topology), BundleNeutron(step.neutron)
        for row in step.topology["Logical_Switch_Port"]:
            port, lsp = neutron.port(row["name"]), nb.port(row["name"])
            assert {address for _, address in port.addresses} == set(lsp.addresses), step.id
            assert lsp.switch == f"neutron-{port.network_id}"
            compared += 1
    assert compared > 1000


def test_steps_carry_what_did_not_change():
    scenario = load_scenario("fip_vip_associate_disassociate")
    first, *rest = scenario.steps
    assert first.octavia is None
    assert all(step.octavia and step.topology and step.neutron for step in rest)
    quiet = [step for step in rest if "octavia" not in step.fresh]
    assert quiet
    assert all(step.octavia == scenario.steps[step.index - 1].octavia for step in quiet)
    assert all(step.nb_before == scenario.steps[step.index - 1].expected for step in rest)


def test_all_scenarios_are_there():
    assert len(scenario_names()) == 110
    assert sum(1 for _ in all_steps()) == 916
