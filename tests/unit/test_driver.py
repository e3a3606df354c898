"""The driver: octavia-lib's signatures, every refusal, what is left alone, order of effects, imports."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from octavia_lib.api.drivers import data_models as dm
from octavia_lib.api.drivers import exceptions, provider_base

from driver_world import arguments, client_of, model, nudge_socket
from ovnlb.reconciler.driver import OvnlbProviderDriver
from ovnlb.reconciler.driver_world import DriverWorld
from ovnlb.reconciler.validate import IPVersionsMixingNotSupportedError, VipFacts
from servers.neutron import serving

LB, POOL, NET, SUB4, SUB6 = "lb-1", "pool-1", "net-1", "sub-4", "sub-6"
UNSUPPORTED, NOT_IMPLEMENTED = exceptions.UnsupportedOptionError, exceptions.NotImplementedError
SEED = {
    "networks": [{"id": NET}],
    "subnets": [
        {"id": SUB4, "network_id": NET, "cidr": "10.0.0.0/24"},
        {"id": SUB6, "network_id": NET, "cidr": "fd00::/64"},
    ],
}


class Lookup:
    """Stands for the Octavia database: one pool, or no answer."""

    def __init__(self, facts: VipFacts | None) -> None:
        self.facts, self.asked = facts, 0

    def of_pool(self, pool_id: str, with_members: bool = False) -> VipFacts | None:
        self.asked += 1
        return self.facts


V4 = VipFacts(LB, (("10.0.0.10", SUB4),), frozenset({"member-old"}))
DUAL = VipFacts(LB, (("10.0.0.10", SUB4), ("fd00::10", SUB6)))
V6_UNKNOWN_SUBNET = VipFacts(LB, (("fd00::10", None),))


class Bench:
    """A driver with everything around it visible."""

    def __init__(self, neutron, facts) -> None:
        self.neutron, self.lookup, self.events = neutron, Lookup(facts), []
        self.driver = OvnlbProviderDriver(
            DriverWorld(self.lookup, client_of(neutron), lambda lb_id: self.events.append(lb_id))
        )


@pytest.fixture
def neutron():
    with serving(SEED) as server:
        yield server


@pytest.fixture
def bench(neutron):
    return Bench(neutron, V4)


def listener(**values):
    return model("listener", {"listener_id": "l", "loadbalancer_id": LB, "protocol": "TCP", **values})


def pool(**values):
    base = {"pool_id": POOL, "loadbalancer_id": LB, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"}
    return model("pool", {**base, **values})


def member(**values):
    base = {"member_id": "m", "pool_id": POOL, "address": "10.0.0.21", "protocol_port": 80, "subnet_id": SUB4}
    return model("member", {**base, **values})


def monitor(**values):
    return model("healthmonitor", {"healthmonitor_id": "h", "pool_id": POOL, "type": "TCP", **values})


def load_balancer(**values):
    base = {
        "loadbalancer_id": LB,
        "vip_address": "10.0.0.10",
        "vip_subnet_id": SUB4,
        "vip_network_id": NET,
        "flavor": {},
        "availability_zone": {},
    }
    return model("loadbalancer", {**base, **values})


# Signatures

METHODS = [name for name, _ in inspect.getmembers(provider_base.ProviderDriver, inspect.isfunction)]


@pytest.mark.parametrize("name", METHODS)
def test_signature_is_octavia_libs(name):
    ours = inspect.signature(getattr(OvnlbProviderDriver, name)).parameters.values()
    theirs = inspect.signature(getattr(provider_base.ProviderDriver, name)).parameters.values()
    assert [(p.name, p.default, p.kind) for p in ours] == [(p.name, p.default, p.kind) for p in theirs]


def test_the_methods_that_octavia_calls_are_known():
    """A new method of a newer octavia-lib shows here first."""
    assert len(METHODS) == 29
    left_to_the_base = {name for name in METHODS if name not in vars(OvnlbProviderDriver)}
    assert left_to_the_base == {
        f"{kind}_{verb}" for kind in ("l7policy", "l7rule") for verb in ("create", "delete", "update")
    } | {
        "get_supported_flavor_metadata",
        "validate_flavor",
        "get_supported_availability_zone_metadata",
        "validate_availability_zone",
    }


# Refusals: (method, arguments, class, the original's sentence, what our text names besides)

PROTOCOLS = "TCP, UDP, SCTP"
MONITOR = "OVN Load Balancer does not support different member monitor address or port."
BATCH_MONITOR = "OVN provider does not support monitor options"
MIXING = "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer."
SUBNET = (
    "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member {} with OVN "
    "Provider Driver if it is not the same as LB VIP subnet"
)
CIDRS = "OVN provider does not support allowed_cidrs option"
FAILOVER = "OVN provider does not support loadbalancer failover"
PERSISTENCE = "OVN provider does not support {} session persistence. Only SOURCE_IP type is supported."

REFUSALS = [
    *(
        pytest.param(
            "listener_create",
            [listener(protocol=p)],
            UNSUPPORTED,
            f"OVN provider does not support {p} protocol",
            PROTOCOLS,
            id=f"listener-{p}",
        )
        for p in ("HTTP", "HTTPS", "TERMINATED_HTTPS", "PROMETHEUS")
    ),
    *(
        pytest.param(
            "pool_create",
            [pool(protocol=p)],
            UNSUPPORTED,
            f"OVN provider does not support {p} protocol",
            PROTOCOLS,
            id=f"pool-{p}",
        )
        for p in ("HTTP", "HTTPS", "PROXY", "PROXYV2")
    ),
    pytest.param(
        "pool_update",
        [pool(), dm.Pool(pool_id=POOL, protocol="HTTP")],
        UNSUPPORTED,
        "OVN provider does not support HTTP protocol",
        PROTOCOLS,
        id="pool-update-protocol",
    ),
    *(
        pytest.param(
            "pool_create",
            [pool(lb_algorithm=a)],
            UNSUPPORTED,
            f"OVN provider does not support {a} algorithm",
            "SOURCE_IP_PORT, SOURCE_IP",
            id=f"B150-{a}",
        )
        for a in ("ROUND_ROBIN", "LEAST_CONNECTIONS")
    ),
    pytest.param(
        "pool_update",
        [pool(), dm.Pool(pool_id=POOL, lb_algorithm="ROUND_ROBIN")],
        UNSUPPORTED,
        "OVN provider does not support ROUND_ROBIN algorithm",
        "SOURCE_IP_PORT",
        id="pool-update-algorithm",
    ),
    *(
        pytest.param(
            "pool_create",
            [pool(session_persistence={"type": t, "cookie_name": None})],
            UNSUPPORTED,
            PERSISTENCE.format(t),
            "SOURCE_IP",
            id=f"persistence-{t}",
        )
        for t in ("HTTP_COOKIE", "APP_COOKIE")
    ),
    pytest.param(
        "pool_update",
        [pool(), dm.Pool(pool_id=POOL, session_persistence={"type": "APP_COOKIE"})],
        UNSUPPORTED,
        PERSISTENCE.format("APP_COOKIE"),
        "SOURCE_IP",
        id="pool-update-persistence",
    ),
    pytest.param(
        "listener_create",
        [listener(allowed_cidrs=["10.0.0.0/8"])],
        UNSUPPORTED,
        CIDRS,
        "security groups of the members",
        id="B149-create",
    ),
    pytest.param(
        "listener_update",
        [listener(), dm.Listener(listener_id="l", allowed_cidrs=["10.0.0.0/8"])],
        UNSUPPORTED,
        CIDRS,
        "security groups of the members",
        id="B149-update",
    ),
    pytest.param(
        "member_create",
        [member(monitor_address="10.0.0.9")],
        UNSUPPORTED,
        MONITOR,
        "monitor_port unset",
        id="member-monitor-address",
    ),
    pytest.param(
        "member_create", [member(monitor_port=99)], UNSUPPORTED, MONITOR, "", id="member-monitor-port"
    ),
    pytest.param(
        "member_update",
        [member(), dm.Member(member_id="m", monitor_port=99)],
        UNSUPPORTED,
        MONITOR,
        "",
        id="member-update-monitor",
    ),
    pytest.param(
        "member_batch_update",
        [POOL, [member(), member(monitor_port=99)]],
        UNSUPPORTED,
        BATCH_MONITOR,
        "",
        id="B049-monitor",
    ),
    pytest.param(
        "member_create",
        [member(address="fd00::21", subnet_id=SUB6)],
        IPVersionsMixingNotSupportedError,
        MIXING,
        "IPv6 VIP",
        id="member-mixing",
    ),
    pytest.param(
        "member_update",
        [member(), dm.Member(member_id="m", address="fd00::21")],
        IPVersionsMixingNotSupportedError,
        MIXING,
        "IPv6 VIP",
        id="member-update-mixing",
    ),
    pytest.param(
        "member_batch_update",
        [POOL, [member(), member(address="fd00::21", subnet_id=SUB6)]],
        IPVersionsMixingNotSupportedError,
        MIXING,
        "IPv6 VIP",
        id="B049-mixing",
    ),
    pytest.param(
        "member_create",
        [member(address="10.9.0.1", subnet_id=None)],
        UNSUPPORTED,
        SUBNET.format("creation"),
        "10.0.0.0/24",
        id="member-subnet-none",
    ),
    pytest.param(
        "member_create",
        [member(address="10.9.0.1", subnet_id=dm.Unset)],
        UNSUPPORTED,
        SUBNET.format("creation"),
        "10.0.0.0/24",
        id="member-subnet-unset",
    ),
    pytest.param(
        "member_batch_update",
        [POOL, [member(), member(address="10.9.0.1", subnet_id=None)]],
        UNSUPPORTED,
        SUBNET.format("batch update"),
        "10.0.0.0/24",
        id="B049-subnet",
    ),
    pytest.param(
        "health_monitor_create",
        [monitor(type=dm.Unset)],
        UNSUPPORTED,
        "OVN provider health monitor type not specified.",
        "UDP-CONNECT, TCP",
        id="monitor-without-type",
    ),
    *(
        pytest.param(
            "health_monitor_create",
            [monitor(type=t)],
            UNSUPPORTED,
            f"OVN provider does not support {t} health monitor type. Supported types: UDP-CONNECT, TCP",
            "",
            id=f"B098-{t}",
        )
        for t in ("HTTP", "HTTPS", "PING", "TLS-HELLO", "SCTP")
    ),
    pytest.param("loadbalancer_failover", [LB], UNSUPPORTED, FAILOVER, "chassis", id="B055-failover"),
    pytest.param(
        "loadbalancer_failover_with_flavor", [LB, "f"], UNSUPPORTED, FAILOVER, "", id="failover-flavor"
    ),
    *(
        pytest.param(
            f"{kind}_{verb}",
            [{}] * (2 if verb == "update" else 1),
            NOT_IMPLEMENTED,
            f"This provider does not support {verb.removesuffix('e')}ing {plural}.",
            "",
            id=f"{kind}-{verb}",
        )
        for kind, plural in (("l7policy", "l7policies"), ("l7rule", "l7rules"))
        for verb in ("create", "delete", "update")
    ),
    pytest.param(
        "get_supported_flavor_metadata",
        [],
        NOT_IMPLEMENTED,
        "This provider does not support getting the supported flavor metadata.",
        "",
        id="flavor-metadata",
    ),
    pytest.param(
        "validate_flavor",
        [{"a": "b"}],
        NOT_IMPLEMENTED,
        "This provider does not support validating flavors.",
        "",
        id="flavor",
    ),
    pytest.param(
        "get_supported_availability_zone_metadata",
        [],
        NOT_IMPLEMENTED,
        "This provider does not support getting the supported availability zone metadata.",
        "",
        id="zone-metadata",
    ),
    pytest.param(
        "validate_availability_zone",
        [{"a": "b"}],
        NOT_IMPLEMENTED,
        "This provider does not support validating availability zones.",
        "",
        id="zone",
    ),
]


@pytest.mark.parametrize(("method", "args", "kind", "sentence", "names"), REFUSALS)
def test_refusal(bench, method, args, kind, sentence, names):
    with pytest.raises(kind) as caught:
        getattr(bench.driver, method)(*args)
    assert type(caught.value) is kind
    assert caught.value.user_fault_string.startswith(sentence)
    assert names in caught.value.user_fault_string
    assert caught.value.operator_fault_string
    assert bench.events == []
    assert bench.neutron.changes() == []


# Single-call creates

CHILDREN = [
    pytest.param({"listeners": [listener(), listener(protocol="HTTP")]}, "HTTP protocol", id="listener"),
    pytest.param({"listeners": [listener(allowed_cidrs=["::/0"])]}, "allowed_cidrs", id="cidrs"),
    pytest.param(
        {"listeners": [listener(l7policies=[{"action": "REJECT"}])]}, "creating l7policies", id="l7"
    ),
    pytest.param({"pools": [pool(), pool(lb_algorithm="ROUND_ROBIN")]}, "ROUND_ROBIN algorithm", id="pool"),
    pytest.param(
        {"listeners": [listener(default_pool=pool(protocol="PROXY"))]}, "PROXY protocol", id="default"
    ),
    pytest.param({"pools": [pool(members=[member(), member(monitor_port=1)])]}, "monitor", id="member"),
    pytest.param(
        {"pools": [pool(members=[member(address="fd00::1", subnet_id=SUB6)])]}, "mixing", id="mixing"
    ),
    pytest.param(
        {"pools": [pool(members=[member(address="10.9.0.1", subnet_id=None)])]}, "Subnet", id="subnet"
    ),
    pytest.param({"pools": [pool(healthmonitor=monitor(type="PING"))]}, "PING health monitor", id="monitor"),
]


@pytest.mark.parametrize(("children", "names"), CHILDREN)
def test_single_call_is_refused_whole_and_its_vip_port_goes(bench, children, names):
    vip, _ = bench.driver.create_vip_port(
        LB, "tenant", {"vip_network_id": NET, "vip_subnet_id": SUB4, "vip_address": "10.0.0.10"}, []
    )
    assert [p["name"] for p in bench.neutron.dump()["ports"]] == [f"ovn-lb-vip-{LB}"]
    with pytest.raises((UNSUPPORTED, NOT_IMPLEMENTED), match=names):
        bench.driver.loadbalancer_create(load_balancer(vip_port_id=vip["vip_port_id"], **children))
    assert bench.neutron.dump()["ports"] == []
    assert bench.events == []


def test_refused_single_call_leaves_the_users_own_port(bench):
    bench.neutron.load(
        {**SEED, "ports": [{"id": "mine", "name": "mine", "network_id": NET, "device_id": ""}]}
    )
    with pytest.raises(UNSUPPORTED):
        bench.driver.loadbalancer_create(
            load_balancer(vip_port_id="mine", listeners=[listener(protocol="HTTP")])
        )
    assert [p["id"] for p in bench.neutron.dump()["ports"]] == ["mine"]


def test_refused_single_call_is_refused_even_when_neutron_is_away(bench, caplog):
    bench.neutron.fail("GET", "ports", status=503, times=9)
    with pytest.raises(UNSUPPORTED, match="HTTP protocol"):
        bench.driver.loadbalancer_create(
            load_balancer(vip_port_id="p", listeners=[listener(protocol="HTTP")])
        )
    assert "may be left over" in caplog.text


def test_single_call_with_everything_is_accepted(bench):
    bench.driver.loadbalancer_create(
        load_balancer(
            additional_vips=[
                {"ip_address": "fd00::10", "subnet_id": SUB6, "network_id": NET, "port_id": "x"}
            ],
            listeners=[listener(protocol=p) for p in ("TCP", "UDP", "SCTP")],
            pools=[
                pool(
                    members=[member(subnet_id=None), member(address="FD00::21", subnet_id=None)],
                    healthmonitor=monitor(),
                    session_persistence={"type": "SOURCE_IP"},
                ),
                pool(members=[], healthmonitor=None, lb_algorithm="SOURCE_IP"),
            ],
        )
    )
    assert bench.events == [LB]


# What is accepted

ACCEPTED = [
    pytest.param(
        "loadbalancer_update", [load_balancer(), dm.LoadBalancer(admin_state_up=False)], LB, id="lb"
    ),
    pytest.param("loadbalancer_delete", [load_balancer(), True], LB, id="lb-cascade"),
    pytest.param("loadbalancer_delete", [load_balancer()], LB, id="lb-delete"),
    pytest.param("listener_create", [listener(allowed_cidrs=[])], LB, id="listener"),
    pytest.param(
        "listener_update", [listener(), dm.Listener(default_pool_id=None)], LB, id="listener-detach"
    ),
    pytest.param("listener_delete", [listener(protocol="HTTP")], LB, id="listener-delete"),
    pytest.param("pool_create", [pool(session_persistence=None)], LB, id="pool"),
    pytest.param("pool_create", [pool(session_persistence={"type": "SOURCE_IP"})], LB, id="pool-persistence"),
    pytest.param("pool_update", [pool(), dm.Pool(session_persistence=None)], LB, id="pool-no-persistence"),
    pytest.param(
        "pool_update",
        [pool(), dm.Pool(session_persistence={"persistence_timeout": 60})],
        LB,
        id="pool-timeout",
    ),
    pytest.param("pool_update", [pool(protocol="HTTP"), dm.Pool(name="x")], LB, id="pool-rename"),
    pytest.param("pool_delete", [pool(lb_algorithm="ROUND_ROBIN")], LB, id="pool-delete"),
    pytest.param("member_create", [member()], LB, id="member"),
    pytest.param("member_create", [member(address="10.0.0.99", subnet_id=None)], LB, id="member-vip-subnet"),
    pytest.param("member_create", [member(weight=0, backup=True)], LB, id="L37"),
    pytest.param("member_update", [member(), dm.Member(admin_state_up=False)], LB, id="B048"),
    pytest.param(
        "member_update", [member(), dm.Member(monitor_port=None, monitor_address=None)], LB, id="unset"
    ),
    pytest.param("member_delete", [member(address="10.9.9.9", subnet_id=None)], LB, id="member-delete"),
    pytest.param("member_batch_update", [POOL, []], LB, id="B050"),
    pytest.param(
        "member_batch_update",
        [POOL, [member(member_id="member-old", address="10.9.9.9", subnet_id=dm.Unset), member()]],
        LB,
        id="batch-keeps-the-subnet-of-a-known-member",
    ),
    pytest.param("health_monitor_create", [monitor(type="UDP-CONNECT")], LB, id="monitor"),
    pytest.param("health_monitor_update", [monitor(), dm.HealthMonitor(delay=3)], LB, id="monitor-update"),
    pytest.param("health_monitor_delete", [monitor(type="HTTP")], LB, id="monitor-delete"),
]


@pytest.mark.parametrize(("method", "args", "nudged"), ACCEPTED)
def test_accepted_with_one_nudge_and_nothing_else(bench, method, args, nudged):
    assert getattr(bench.driver, method)(*args) is None
    assert bench.events == [nudged]
    assert bench.neutron.changes() == []
    assert bench.lookup.asked <= 1


def test_member_of_either_family_on_a_dual_stack_load_balancer(neutron):
    bench = Bench(neutron, DUAL)
    bench.driver.member_create(member(address="fd00::21", subnet_id=None))
    bench.driver.member_create(member(address="10.0.0.21", subnet_id=None))
    assert bench.events == [LB, LB]


def test_member_without_subnet_where_the_vip_has_none(neutron):
    bench = Bench(neutron, V6_UNKNOWN_SUBNET)
    with pytest.raises(UNSUPPORTED, match="VIP subnets are unknown"):
        bench.driver.member_create(member(address="fd00::21", subnet_id=None))


def test_neutron_is_asked_only_for_a_member_without_subnet(bench):
    bench.driver.member_create(member())
    assert bench.neutron.calls == []


# Servers that are away


def test_without_the_database_what_needs_it_is_left_and_the_nudge_is_empty(neutron):
    bench = Bench(neutron, None)
    bench.driver.member_create(member(address="fd00::1", subnet_id=None))
    assert bench.events == [None]
    with pytest.raises(UNSUPPORTED, match="monitor"):
        bench.driver.member_create(member(monitor_port=1))


def test_without_neutron_a_member_without_subnet_is_left_to_the_reconciler(bench, caplog):
    bench.neutron.fail("GET", "subnets", status=503, times=9)
    bench.driver.member_create(member(address="10.9.0.1", subnet_id=None))
    assert bench.events == [LB]
    assert "is not checked" in caplog.text


# Compatibility tables

TABLES = json.loads((Path(__file__).parent.parent / "data" / "compatibility.json").read_text())


def cells(table):
    return [
        pytest.param(row, column, answer, id=f"{row}-{column}")
        for row, columns in TABLES[table].items()
        for column, answer in columns.items()
        if answer != "octavia"
    ]


@pytest.mark.parametrize(("pool_protocol", "listener_protocol", "answer"), cells("listener_pool"))
def test_listener_and_pool_pairs(bench, pool_protocol, listener_protocol, answer):
    held = pool(protocol=pool_protocol)
    made = load_balancer(listeners=[listener(protocol=listener_protocol, default_pool=held)], pools=[held])
    judge(bench, made, answer)


@pytest.mark.parametrize(("pool_protocol", "monitor_type", "answer"), cells("pool_health_monitor"))
def test_pool_and_monitor_pairs(bench, pool_protocol, monitor_type, answer):
    held = pool(protocol=pool_protocol, healthmonitor=monitor(type=monitor_type))
    judge(bench, load_balancer(pools=[held]), answer)


def judge(bench, made, answer):
    if answer == "accepted":
        bench.driver.loadbalancer_create(made)
        assert bench.events == [LB]
    else:
        with pytest.raises(UNSUPPORTED, match=f"^OVN provider does not support {answer}"):
            bench.driver.loadbalancer_create(made)
        assert bench.events == []


# VIP ports


def vip(**values):
    return {"vip_network_id": NET, "vip_subnet_id": SUB4, **values}


def test_vip_port_with_security_groups_and_two_additional_vips(bench):
    more = [
        {"network_id": NET, "port_id": None, "subnet_id": SUB6, "ip_address": "fd00::10"},
        {"network_id": NET, "port_id": None, "subnet_id": SUB4},
    ]
    given = vip(vip_sg_ids=["sg-1", "sg-2"], vip_qos_policy_id="qos-1")
    found, additional = bench.driver.create_vip_port(LB, "tenant", given, more)
    assert found is given
    assert "octavia_owned" not in found
    assert found["vip_address"] == "10.0.0.2"
    assert [set(one) for one in additional] == [{"ip_address", "network_id", "port_id", "subnet_id"}] * 2
    assert [one["ip_address"] for one in additional] == ["fd00::10", "10.0.0.3"]
    bodies = [call.body for call in bench.neutron.changes()]
    assert [b["name"] for b in bodies] == [
        f"ovn-lb-vip-{LB}",
        f"ovn-lb-vip-additional-1-{LB}",
        f"ovn-lb-vip-additional-2-{LB}",
    ]
    common = {
        "network_id": NET,
        "admin_state_up": True,
        "project_id": "tenant",
        "device_owner": "ovn-lb:vip",
        "device_id": f"lb-{LB}",
        "security_groups": ["sg-1", "sg-2"],
    }
    assert all(common.items() <= b.items() and "qos_policy_id" not in b for b in bodies)
    assert bench.events == []


def users_port(bench, **values):
    port = {
        "id": "mine",
        "name": "ovn-lb-vip-fake",
        "network_id": NET,
        "device_id": "",
        "device_owner": "",
        "fixed_ips": [
            {"subnet_id": SUB6, "ip_address": "fd00::9"},
            {"subnet_id": SUB4, "ip_address": "10.0.0.9"},
            {"subnet_id": SUB4, "ip_address": "10.0.0.8"},
        ],
    }
    bench.neutron.load({**SEED, "ports": [{**port, **values}]})


@pytest.mark.parametrize(
    ("given", "address", "subnet"),
    [
        ({"vip_address": "10.0.0.8", "vip_subnet_id": SUB4}, "10.0.0.8", SUB4),
        ({"vip_address": "10.0.0.8"}, "10.0.0.8", SUB4),
        ({"vip_subnet_id": SUB4}, "10.0.0.9", SUB4),
        ({}, "fd00::9", SUB6),
    ],
)
def test_users_port_is_used_as_it_is_B106(bench, given, address, subnet):
    users_port(bench)
    before = bench.neutron.dump()
    found, more = bench.driver.create_vip_port(
        LB, "tenant", {"vip_port_id": "mine", "vip_network_id": NET, **given}, []
    )
    assert (found["vip_address"], found["vip_subnet_id"], found["vip_port_id"]) == (address, subnet, "mine")
    assert more == []
    assert bench.neutron.dump() == before


def test_users_port_that_has_gone(bench):
    with pytest.raises(exceptions.DriverError, match="Port mine could not be found"):
        bench.driver.create_vip_port(LB, "tenant", {"vip_port_id": "mine", "vip_network_id": NET}, [])


def test_users_port_serves_an_additional_vip_that_it_holds(bench):
    users_port(bench)
    given = vip(vip_port_id="mine", vip_address="10.0.0.9")
    more = [{"network_id": NET, "port_id": "mine", "subnet_id": SUB6}]
    _, additional = bench.driver.create_vip_port(LB, "tenant", given, more)
    assert additional == [{"ip_address": "fd00::9", "network_id": NET, "port_id": "mine", "subnet_id": SUB6}]
    assert bench.neutron.changes() == []


def test_users_port_gets_a_port_beside_it_for_another_subnet(bench):
    users_port(bench, fixed_ips=[{"subnet_id": SUB4, "ip_address": "10.0.0.9"}])
    more = [{"network_id": NET, "port_id": "mine", "subnet_id": SUB6, "ip_address": "fd00::10"}]
    given = vip(vip_port_id="mine", vip_address="10.0.0.9")
    _, additional = bench.driver.create_vip_port(LB, "tenant", given, more)
    (call,) = bench.neutron.changes()
    assert call.body["name"] == f"ovn-lb-vip-additional-1-{LB}"
    assert additional[0]["port_id"] != "mine"


def test_taken_address_is_a_conflict_with_neutrons_words_B012_B013(bench):
    users_port(bench)
    with pytest.raises(exceptions.Conflict) as caught:
        bench.driver.create_vip_port(LB, "tenant", vip(vip_address="10.0.0.9"), [])
    assert caught.value.user_fault_string == f"IP address 10.0.0.9 already allocated in subnet {SUB4}"
    assert bench.events == []


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 403}, {"status": 409}, {"status": 503}])
def test_failure_in_the_middle_leaves_no_port_but_the_users(bench, fault):
    bench.neutron.fail("POST", "ports", skip=2, times=9, **fault)
    more = [{"network_id": NET, "port_id": None, "subnet_id": s} for s in (SUB6, SUB4)]
    with pytest.raises((exceptions.DriverError, exceptions.Conflict), match="injected fault"):
        bench.driver.create_vip_port(LB, "tenant", vip(), more)
    assert bench.neutron.dump()["ports"] == []


def test_clean_up_that_fails_does_not_hide_the_failure(bench, caplog):
    bench.neutron.fail("POST", "ports", skip=1, status=400, message="the real one")
    bench.neutron.fail("DELETE", "ports", status=403, times=9)
    with pytest.raises(exceptions.DriverError, match="the real one"):
        bench.driver.create_vip_port(
            LB, "t", vip(), [{"network_id": NET, "port_id": None, "subnet_id": SUB6}]
        )
    assert "is left over" in caplog.text


def test_lost_answer_is_found_again(bench):
    bench.neutron.fail("POST", "ports", lost=True)
    found, _ = bench.driver.create_vip_port(LB, "tenant", vip(vip_address="10.0.0.50"), [])
    (port,) = bench.neutron.dump()["ports"]
    assert found["vip_port_id"] == port["id"]


def test_no_neutron_client_tells_the_operator():
    def unreachable():
        raise ValueError("no auth_url")

    from ovnlb.reconciler.neutron_client import NeutronClient

    driver = OvnlbProviderDriver(DriverWorld(Lookup(None), NeutronClient(unreachable), lambda lb_id: None))
    with pytest.raises(exceptions.DriverError) as caught:
        driver.create_vip_port(LB, "tenant", vip(), [])
    assert caught.value.operator_fault_string == (
        "Cannot initialize OpenStackSDK. Exception: no auth_url. Please verify Neutron service "
        "configuration in Octavia API configuration."
    )
    assert caught.value.user_fault_string == "An unknown driver error occurred."


# The process that loads the driver


def test_import_and_constructor_bring_in_nothing_heavy_B112():
    program = """
        import sys, threading, time
        from ovnlb.reconciler.driver import OvnlbProviderDriver
        before = set(sys.modules)
        started = time.perf_counter()
        for _ in range(1000):
            OvnlbProviderDriver()
        spent = time.perf_counter() - started
        assert spent < 0.5, spent
        assert set(sys.modules) == before
        assert threading.active_count() == 1
        heavy = {"ovs", "ovsdbapp", "sqlalchemy", "apscheduler", "pymysql", "ovnlb.observed.idl"}
        assert not heavy & before, heavy & before
        assert not any(name.split(".")[0] in heavy for name in before)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_recorded_arguments_keep_unset_apart_from_none():
    (made,) = arguments("member_create", [{"address": "10.0.0.1", "subnet_id": None}])
    assert made.subnet_id is None
    assert isinstance(made.weight, dm.UnsetType)


def test_nudge_arrives_from_the_driver(bench, tmp_path):
    from ovnlb.reconciler import nudge

    with nudge_socket(tmp_path / "n") as received:
        driver = OvnlbProviderDriver(
            DriverWorld(bench.lookup, client_of(bench.neutron), lambda lb: nudge.send(str(received.path), lb))
        )
        driver.listener_create(listener())
        driver.member_create(member())
        assert received.received() == [LB, LB]
