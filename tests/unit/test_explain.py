"""Why a member fails, why an object is pending, what the network lacks, what this OVN cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import openstack
import pytest
from keystoneauth1 import noauth, session

import report_world
from graphs import NETWORK, SUBNET, balancer, listener, member, monitor, pool
from ovnlb.desired.explain_network import Architecture, NetworkExplained, explain_network
from ovnlb.desired.facts import Health, Subnet, Switch, Topology
from ovnlb.desired.findings import Circumstances, PortSecurity, SecurityRule, SubnetSpace
from ovnlb.desired.model import LoadBalancer, SessionPersistence, Vip
from ovnlb.desired.ovn_limits import ovn_limits, version_of
from ovnlb.desired.security import admits, limits, matching, rule_protocol
from ovnlb.diff.pending import unsettled, why
from ovnlb.diff.plan import Plan
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.reconciler.commands.show_text import explain_lines
from ovnlb.reconciler.explained import explanation
from ovnlb.reconciler.walk import Walked, World
from report_world import FIP, HEALTH, ONLINE, ROUTED
from servers.neutron import FakeNeutron

GROUP, TRUSTED, ADDRESSES = "sg-1", "sg-2", "ag-1"
Explained = dict[str, Any]


def explained(
    neutron: SdkNeutron | None = None, around: World | None = None, walked: Walked | None = None, **more: Any
) -> Explained:
    """The explanation of the load balancer that has everything."""
    around = around or report_world.world()
    return explanation(walked or report_world.walked(around=around), around, neutron, more.get("daemon"))


def codes(found: Explained, member_id: str) -> list[str]:
    """The codes of the findings about one member; causes carry a mark."""
    told = {one["id"]: one["findings"] for one in found["members"]}
    return [f"{one['code']}{'!' if one['cause'] else ''}" for one in told.get(member_id, [])]


# Members


@pytest.mark.parametrize(
    ("member_id", "expected"),
    [
        ("m1", []),
        ("m2", ["monitor_offline!", "service_silent", "affinity_outlives_member"]),
        ("m3", ["port_missing!"]),
        ("m4", ["port_disabled!", "monitor_offline!", "affinity_outlives_member"]),
        ("m5", ["no_route!", "hm_port_missing!", "monitor_absent"]),
        ("m6", ["member_unplaced!"]),
        ("m7", ["draining"]),
        ("m8", ["disabled"]),
    ],
    ids=[
        "healthy",
        "offline-B131",
        "no-lsp",
        "lsp-off",
        "no-router",
        "no-subnet-B058",
        "weight-0",
        "disabled",
    ],
)
def test_member(member_id: str, expected: list[str]) -> None:
    """Each cause by itself, from the Northbound and Southbound databases alone."""
    assert codes(explained(), member_id) == expected


def test_monitor_that_is_absent_or_in_error() -> None:
    """Absent for too long is a cause, an unreadable Southbound database is none."""
    overdue = report_world.world(health=replace(HEALTH, monitors={}, overdue=frozenset({ONLINE})))
    assert codes(explained(around=overdue), "m1") == ["monitor_absent!"]
    error = report_world.world(health=replace(HEALTH, monitors={ONLINE: "error"}))
    assert "monitor_error!" in codes(explained(around=error), "m1")
    away = explained(around=report_world.world(health=Health()))
    assert codes(away, "m2") == []
    assert "Southbound" in away["southbound"]


@pytest.fixture
def neutron(fake_neutron: FakeNeutron) -> SdkNeutron:
    """Neutron over HTTP with the world's ports, all of whose members are in one security group."""
    rows = report_world.neutron_rows()
    for row in rows["ports"]:
        row["security_groups"] = [GROUP] if row["device_owner"] == "compute:nova" else []
    fake_neutron.load(rows)
    sess = session.Session(auth=noauth.NoAuth(endpoint=fake_neutron.url), timeout=5)
    return SdkNeutron(
        openstack.connection.Connection(session=sess, network_endpoint_override=fake_neutron.url)
    )


def rule(**more: Any) -> dict[str, Any]:
    """An ingress rule of the group for TCP port 80 from everywhere."""
    values = {
        "security_group_id": GROUP,
        "direction": "ingress",
        "ethertype": "IPv4",
        "protocol": "tcp",
        "port_range_min": 80,
        "port_range_max": 80,
        "remote_ip_prefix": None,
        "remote_group_id": None,
    }
    return values | more


@pytest.mark.parametrize(
    ("rules", "blocked", "limited"),
    [
        ([rule()], [], ""),
        ([rule(protocol="6", port_range_min=1, port_range_max=65535)], [], ""),
        ([rule(protocol=None, port_range_min=None, port_range_max=None)], [], ""),
        ([], ["security_blocks_clients!", "security_blocks_monitor!"], ""),
        ([rule(direction="egress")], ["security_blocks_clients!", "security_blocks_monitor!"], ""),
        ([rule(ethertype="IPv6")], ["security_blocks_clients!", "security_blocks_monitor!"], ""),
        (
            [rule(port_range_max=80, port_range_min=79, protocol="udp")],
            ["security_blocks_clients!", "security_blocks_monitor!"],
            "",
        ),
        ([rule(remote_ip_prefix="10.0.0.0/24")], [], "10.0.0.0/24"),
        ([rule(remote_ip_prefix="192.0.2.0/24")], ["security_blocks_monitor!"], "192.0.2.0/24"),
        ([rule(remote_group_id=TRUSTED)], ["security_blocks_monitor!"], "security group sg-2"),
        ([rule(remote_address_group_id=ADDRESSES)], [], "10.0.0.3/32"),
    ],
    ids=["open", "number", "any", "none", "egress", "v6", "udp", "subnet", "elsewhere", "group", "addresses"],
)
def test_security_groups(
    neutron: SdkNeutron, fake_neutron: FakeNeutron, rules: list[Any], blocked: list[str], limited: str
) -> None:
    """Probes come from the health-monitor port, clients keep their own address."""
    fake_neutron.listings = {
        "security-group-rules": rules,
        "address-groups": [{"id": ADDRESSES, "addresses": ["10.0.0.3/32"]}],
    }
    found = explained(neutron)
    assert found["neutron"] == ""
    assert [code for code in codes(found, "m2") if code.startswith("security_blocks")] == blocked
    text = " ".join(one["text"] for one in found["members"][1]["findings"])
    assert (limited in text) if limited else ("let only" not in text)
    silent = "service_silent" in codes(found, "m2")
    assert silent is ("security_blocks_monitor!" not in blocked)


def test_port_without_security_is_open(neutron: SdkNeutron, fake_neutron: FakeNeutron) -> None:
    """Groups of a port without port security filter nothing."""
    fake_neutron.listings = {"security-group-rules": []}
    fake_neutron.store["ports"]["port-2"]["port_security_enabled"] = False
    assert "security_blocks_clients!" not in codes(explained(neutron), "m2")


def test_stopped_instance_and_port_switched_off(neutron: SdkNeutron, fake_neutron: FakeNeutron) -> None:
    """What Neutron says of the port itself."""
    fake_neutron.listings = {"security-group-rules": [rule()]}
    fake_neutron.store["ports"]["port-2"]["status"] = "DOWN"
    fake_neutron.store["ports"]["port-1"]["admin_state_up"] = False
    found = explained(neutron)
    assert "port_down!" in codes(found, "m2")
    assert "service_silent" not in codes(found, "m2")
    assert codes(found, "m1") == ["port_admin_down!"]


def test_neutron_that_does_not_answer_is_said(neutron: SdkNeutron, fake_neutron: FakeNeutron) -> None:
    """The rest of the explanation stands."""
    fake_neutron.fail("GET", "ports", status=503, times=9)
    found = explained(neutron)
    assert "503" in found["neutron"]
    assert codes(found, "m3") == ["port_missing!"]


def test_room_in_subnets(neutron: SdkNeutron, fake_neutron: FakeNeutron) -> None:
    """The gateway of the VIP's subnet, and an address for each health-monitor port that is missing."""
    room = {SUBNET: 250, ROUTED: 0}
    fake_neutron.listings = {
        "security-group-rules": [rule()],
        "network-ip-availabilities": [
            {
                "network_id": "net-2" if subnet == ROUTED else NETWORK,
                "subnet_ip_availability": [{"subnet_id": subnet, "total_ips": 253, "used_ips": 253 - free}],
            }
            for subnet, free in room.items()
        ],
    }
    needs = {one["text"]: one["met"] for one in explained(neutron)["network"]["needs"]}
    assert needs["subnet sub-1 has gateway_ip 10.0.0.1"] is True
    assert needs["subnet sub-1 has 250 free addresses, 0 needed now"] is True
    (full,) = [text for text in needs if text.startswith("subnet sub-2")]
    assert (needs[full], "0 free addresses, 1 needed now" in full, "5 are advised" in full) == (
        False,
        True,
        True,
    )


# Security rules as values


def test_rules_as_values() -> None:
    """Protocol names and numbers, address families, and where rules let in from."""
    assert [rule_protocol(text) for text in (None, "any", "-1", "6", "17", "132", "TCP")] == [
        None,
        None,
        None,
        "tcp",
        "udp",
        "sctp",
        "tcp",
    ]
    v6 = SecurityRule("g", "IPv6", "tcp", (80, 80), "fd00::/64")
    port = PortSecurity("p", True, True, True, ("g",), (v6,))
    assert list(matching(port, "fd00::5", "tcp", 80)) == [v6]
    assert list(matching(port, "10.0.0.5", "tcp", 80)) == []
    assert admits([v6], "fd00::9")
    assert not admits([v6], "fd01::9")
    group = replace(v6, prefix=None, remote_group="h")
    assert admits([group], "fd01::9", ("h",))
    assert limits([v6, group]) == ("fd00::/64", "security group h")
    assert limits([v6, replace(v6, prefix="::/0")]) == ()


# Network


def network(lb: LoadBalancer, topo: Topology, facts: Circumstances | None = None) -> NetworkExplained:
    """The architecture of a load balancer in a topology."""
    desired = report_world.walked(lb).desired
    return explain_network(lb, topo, desired, facts or Circumstances())


def lacking(found: NetworkExplained) -> list[str]:
    """What is needed and not there."""
    return [need.what for need in found.needs if need.met is False]


@pytest.mark.parametrize(
    ("fip", "member_fip", "kind"),
    [
        (False, False, Architecture.PRIVATE_TO_PRIVATE),
        (False, True, Architecture.PRIVATE_TO_PUBLIC),
        (True, False, Architecture.PUBLIC_TO_PRIVATE),
        (True, True, Architecture.PUBLIC_TO_PUBLIC),
    ],
)
def test_architecture(fip: bool, member_fip: bool, kind: Architecture) -> None:
    """By the floating IPs of the VIP and of the members."""
    lb = balancer([listener()], [pool([member(1)])])
    topo = replace(report_world.walked(lb).topology, fips={"vip-port": FIP} if fip else {})
    facts = Circumstances(member_fips={"10.0.0.21": ("203.0.113.99",)} if member_fip else {})
    found = network(lb, topo, facts)
    assert (found.architecture, lacking(found)) == (kind, [])
    assert any(need.what == "gateway" for need in found.needs) is fip


def test_floating_ip_without_a_way_in() -> None:
    """No router, a router without a gateway, a subnet without gateway_ip."""
    lb = balancer([listener()], [pool([member(1)])])
    topo = report_world.walked(lb).topology
    assert lacking(network(lb, replace(topo, routers=()))) == ["gateway"]
    inner = replace(
        topo.routers[0], interfaces=tuple(one for one in topo.routers[0].interfaces if not one.gateway)
    )
    closed = network(
        lb, replace(topo, routers=(inner,)), Circumstances(spaces={SUBNET: SubnetSpace(None, None)})
    )
    assert lacking(closed) == ["gateway", "gateway_ip"]


def test_vip_on_a_provider_network() -> None:
    """It is public, and served by the routers of its members."""
    lb = balancer([listener()], [pool([member(1)])], vip=Vip("203.0.113.9", "p", "sub-ext", "net-ext"))
    subnets = {SUBNET: Subnet(SUBNET, NETWORK, "10.0.0.0/24")}
    topo = Topology(subnets=subnets, switches={"neutron-net-ext": Switch("neutron-net-ext", True)})
    found = network(lb, topo)
    assert found.architecture is Architecture.PUBLIC_TO_PRIVATE
    assert "member_router" in lacking(found)


# OVN


@pytest.mark.parametrize(
    ("text", "version"),
    [("25.03.1-20.37.0-78.8", (25, 3)), ("23.9", (23, 9)), ("", None), (None, None), ("main", None)],
)
def test_version(text: str | None, version: tuple[int, int] | None) -> None:
    """As ovn-northd writes it."""
    assert version_of(text) == version


def limit_codes(lb: LoadBalancer, version: str | None, **facts: Any) -> set[str]:
    """The limits of one release for a load balancer."""
    topo = report_world.walked(lb).topology
    return {one.code for one in ovn_limits(lb, topo, Circumstances(ovn=version, **facts))}


def test_limits_concern_the_load_balancer_and_the_release() -> None:
    """Only what it uses, only what its OVN has; of an unknown release only what all have."""
    bound = pool([member(1)], persistence=SessionPersistence("SOURCE_IP", 60))
    affine = balancer([listener(), listener(id="l2", port=81)], [bound])
    assert {"affinity_unsupported", "affinity_shared_backends"} <= limit_codes(affine, "22.09.0")
    assert "affinity_unsupported" not in limit_codes(affine, "23.03.1")
    assert "affinity_shared_backends" not in limit_codes(affine, "24.03.2")
    assert limit_codes(affine, "25.09.0") == {"affinity_first_connection"}
    assert limit_codes(affine, None) == {"affinity_first_connection"}
    plain = balancer([listener()], [pool([member(1)])])
    assert limit_codes(plain, "24.03.0") == {"hairpin_broken"}
    assert "stopped_port_online" in limit_codes(
        balancer([listener()], [pool([member(1)], monitor())]), "22.03.0"
    )


def test_vip_that_is_an_address_of_the_router_B136() -> None:
    """Releases before 22.12 drop its traffic."""
    own = balancer([listener()], [pool()], vip=Vip("10.0.0.1", "vip-port", SUBNET, NETWORK))
    assert "vip_of_router" in limit_codes(own, "22.09.0")
    assert "vip_of_router" not in limit_codes(own, "22.12.0")
    assert "vip_of_router" not in limit_codes(balancer(), "22.09.0")


def test_hairpin_is_a_known_limit_B138() -> None:
    """It cannot be mended from the Northbound database, so it is told."""
    assert "hairpin_broken" in limit_codes(balancer(), "25.03.0")
    assert "hairpin_broken" not in limit_codes(balancer(), "25.09.0")


def test_limits_of_floating_ips_and_sctp() -> None:
    """Floating IPs of members that must be central (B134), monitors that OVN does not run."""
    fips = {"10.0.0.21": ("203.0.113.99",)}
    plain = balancer([listener()], [pool([member(1)])])
    assert "member_fip_central" in limit_codes(plain, "23.03.0", member_fips=fips)
    assert "member_fip_central" not in limit_codes(plain, "23.03.0")
    sctp = balancer([listener(protocol="SCTP")], [pool([member(1)], monitor(), protocol="SCTP")])
    assert "sctp_unmonitored" in limit_codes(sctp, "26.03.0")


def test_stopped_instance_that_still_looks_online_B125(
    neutron: SdkNeutron, fake_neutron: FakeNeutron
) -> None:
    """The monitor says online, the port is not ACTIVE: old releases miss that the instance was stopped."""
    fake_neutron.listings = {"security-group-rules": [rule()]}
    fake_neutron.store["ports"]["port-1"]["status"] = "DOWN"
    found = explained(neutron, around=report_world.world(version="22.03.1"))
    told = {one["id"]: one for one in found["members"]}
    assert (told["m1"]["status"], codes(found, "m1")) == ("ONLINE", ["port_down!"])
    assert "stopped_port_online" in {one["code"] for one in found["ovn"]["limits"]}


# Pending


def pending(plan: Plan, daemon: Any = None, waits: Sequence[Any] | None = None, **more: Any) -> list[str]:
    """The codes of what keeps a PENDING load balancer from its verdict."""
    lb = balancer(provisioning_status="PENDING_UPDATE")
    return [one.code for one in why(unsettled(lb) if waits is None else waits, plan, daemon, **more)]


def test_pending() -> None:
    """Neutron, a refusal, work to do, a report that is missing, or nobody to do it."""
    full = report_world.walked().plan
    assert pending(full, offline=True) == ["not_applied"]
    assert pending(Plan("x"), offline=True) == ["not_reported"]
    assert pending(Plan("x", waiting=("Logical_Switch n",)), offline=True) == ["waiting"]
    assert pending(replace(full, refused=("no",)), offline=True) == ["refused", "not_applied"]
    assert pending(Plan("x")) == ["not_reported", "no_daemon"]
    assert pending(full, waits=()) == []


def test_pending_with_a_daemon() -> None:
    """Its last error, its next try, its role, and whether its report waits."""
    daemon = {
        "role": "follower",
        "last": {"result": "transient", "error": "Neutron is away"},
        "next_retry_in": 12.5,
        "failures": 3,
        "report_waits": True,
        "report_error": "no socket",
    }
    assert pending(Plan("x"), daemon) == ["not_reported", "not_leader", "last_error", "retry", "report_waits"]
    assert pending(Plan("x"), {"role": "leader", "last": {}, "next_retry_in": None}) == ["not_reported"]
    told = {
        one.code: one.text for one in why(unsettled(balancer(provisioning_status="ERROR")), Plan("x"), daemon)
    }
    assert "Neutron is away" in told["last_error"]
    assert "12.5 s" in told["retry"]
    assert "no socket" in told["report_waits"]


def test_every_kind_of_object_can_be_pending() -> None:
    """The load balancer first, children after their parents."""
    children = pool([member(1, provisioning_status="PENDING_CREATE")], monitor(provisioning_status="ERROR"))
    lb = balancer([listener(provisioning_status="PENDING_DELETE")], [children])
    assert [(one.kind, one.status) for one in unsettled(lb)] == [
        ("listener", "PENDING_DELETE"),
        ("member", "PENDING_CREATE"),
        ("healthmonitor", "ERROR"),
    ]


# For people


def test_text_says_all_of_it() -> None:
    """Every finding, need and limit is a line; so is a daemon that does not answer."""
    lb = report_world.everything(provisioning_status="PENDING_UPDATE")
    found = explained(walked=report_world.walked(lb))
    text = "\n".join(explain_lines(found))
    for one in [*found["pending"], *(item for each in found["members"] for item in each["findings"])]:
        assert one["text"] in text
    assert "Architecture: public to private" in text
    assert "[LACKING] member subnet sub-3" in text
    assert "OVN 23.03.1-1, known limits:" in text
    assert "No daemon answers on this host." in text


def test_text_of_a_daemon() -> None:
    """What it thinks, in one line."""
    daemon = {
        "role": "leader",
        "last": {"result": "stale", "error": "moved"},
        "pending_since": 12.2,
        "next_retry_in": 1.5,
        "report_waits": True,
    }
    line = list(explain_lines(explained(daemon=daemon)))[-1]
    for part in (
        "leader",
        "stale",
        "moved",
        "pending for 12 s",
        "next try in 1.5 s",
        "report to Octavia waits",
    ):
        assert part in line


def test_deleted_load_balancer_explains_no_members() -> None:
    """Nothing of it must exist."""
    lb = report_world.everything(provisioning_status="PENDING_DELETE")
    found = explained(walked=report_world.walked(lb))
    assert found["members"] == []
    assert found["unsettled"]
