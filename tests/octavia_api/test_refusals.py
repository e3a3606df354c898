"""Bad requests over HTTP: the code and the text that a user reads, and that nothing is left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from octavia_api.api import PROJECT
from octavia_api.conftest import NETWORK, SUBNET, SUBNET6
from octavia_api.test_lifecycle import User, in_use, is_clean

OVN = "OVN provider does not support"
OPTION = "Provider 'ovn' does not support a requested option: "
ACTION = "Provider 'ovn' does not support a requested action: "
MONITOR = {"delay": 5, "timeout": 3, "max_retries": 2}


@pytest.fixture(scope="class")
def tree(octavia_of_class):
    """A load balancer with a listener, a pool and a member, all ACTIVE."""
    user = User(octavia_of_class)
    lb = user.load_balancer()
    listener = user.does(
        "POST", "/listeners", "listener", loadbalancer_id=lb, protocol="TCP", protocol_port=80
    )
    pool = user.does(
        "POST", "/pools", "pool", listener_id=listener["id"], protocol="TCP", lb_algorithm="SOURCE_IP"
    )
    members = f"/pools/{pool['id']}/members"
    member = user.does("POST", members, "member", address="10.0.3.1", protocol_port=80)
    return {"lb": lb, "listener": listener["id"], "pool": pool["id"], "member": member["id"]}


def listener(**more):
    return (
        "POST",
        "/listeners",
        {"listener": {"loadbalancer_id": "{lb}", "protocol_port": 81, "protocol": "TCP", **more}},
    )


def pool(**more):
    body = {"loadbalancer_id": "{lb}", "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", **more}
    return "POST", "/pools", {"pool": body}


def member(**more):
    return "POST", "/pools/{pool}/members", {"member": {"address": "10.0.3.2", "protocol_port": 80, **more}}


def batch(**more):
    good = {"address": "10.0.3.3", "protocol_port": 80}
    return (
        "PUT",
        "/pools/{pool}/members",
        {"members": [good, {"address": "10.0.3.2", "protocol_port": 80, **more}]},
    )


def monitor(kind, **more):
    return (
        "POST",
        "/healthmonitors",
        {"healthmonitor": {"pool_id": "{pool}", "type": kind, **MONITOR, **more}},
    )


MIXING = "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer."
MONITORING = "OVN Load Balancer does not support different member monitor address or port."
REFUSALS = [
    *(
        pytest.param(*listener(protocol=p), f"{OPTION}{OVN} {p} protocol", id=f"listener-{p}")
        for p in ("HTTP", "HTTPS", "PROMETHEUS")
    ),
    pytest.param(
        *listener(allowed_cidrs=["10.0.0.0/8"]),
        f"{OPTION}{OVN} allowed_cidrs option",
        id="B149-create",
    ),
    pytest.param(
        "PUT",
        "/listeners/{listener}",
        {"listener": {"allowed_cidrs": ["10.0.0.0/8"]}},
        f"{OPTION}{OVN} allowed_cidrs option",
        id="B149-update",
    ),
    *(
        pytest.param(*pool(protocol=p), f"{OPTION}{OVN} {p} protocol", id=f"pool-{p}")
        for p in ("HTTP", "HTTPS", "PROXY", "PROXYV2")
    ),
    *(
        pytest.param(*pool(lb_algorithm=a), f"{OPTION}{OVN} {a} algorithm", id=f"B150-{a}")
        for a in ("ROUND_ROBIN", "LEAST_CONNECTIONS")
    ),
    pytest.param(
        "PUT",
        "/pools/{pool}",
        {"pool": {"lb_algorithm": "ROUND_ROBIN"}},
        f"{OPTION}{OVN} ROUND_ROBIN algorithm",
        id="pool-update-algorithm",
    ),
    pytest.param(
        *pool(session_persistence={"type": "HTTP_COOKIE"}),
        f"{OPTION}{OVN} HTTP_COOKIE session persistence. Only SOURCE_IP type is supported.",
        id="persistence-HTTP_COOKIE",
    ),
    pytest.param(
        "PUT",
        "/pools/{pool}",
        {"pool": {"session_persistence": {"type": "APP_COOKIE", "cookie_name": "c"}}},
        f"{OPTION}{OVN} APP_COOKIE session persistence. Only SOURCE_IP type is supported.",
        id="persistence-update",
    ),
    pytest.param(*member(monitor_address="10.0.3.9"), f"{OPTION}{MONITORING}", id="member-monitor-address"),
    pytest.param(*member(monitor_port=99), f"{OPTION}{MONITORING}", id="member-monitor-port"),
    pytest.param(
        "PUT",
        "/pools/{pool}/members/{member}",
        {"member": {"monitor_port": 99}},
        f"{OPTION}{MONITORING}",
        id="member-update-monitor",
    ),
    pytest.param(*batch(monitor_port=99), f"{OPTION}{OVN} monitor options", id="B049-monitor"),
    pytest.param(*member(address="fd00:1::5", subnet_id=SUBNET6), f"{OPTION}{MIXING}", id="mixing"),
    pytest.param(*batch(address="fd00:1::5", subnet_id=SUBNET6), f"{OPTION}{MIXING}", id="B049-mixing"),
    pytest.param(
        *member(address="10.9.0.1"),
        f"{OPTION}Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member "
        "creation with OVN Provider Driver if it is not the same as LB VIP subnet",
        id="member-subnet",
    ),
    pytest.param(
        *batch(address="10.9.0.1"),
        f"{OPTION}Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member "
        "batch update with OVN Provider Driver if it is not the same as LB VIP subnet",
        id="B049-subnet",
    ),
    *(
        pytest.param(
            *monitor(kind),
            f"{OPTION}{OVN} {kind} health monitor type. Supported types: UDP-CONNECT, TCP",
            id=f"B098-{kind}",
        )
        for kind in ("HTTP", "HTTPS", "PING", "TLS-HELLO")
    ),
    pytest.param(
        "PUT",
        "/loadbalancers/{lb}/failover",
        None,
        f"{OPTION}{OVN} loadbalancer failover",
        id="B055-failover",
    ),
    pytest.param(
        "POST",
        "/l7policies",
        {"l7policy": {"listener_id": "{listener}", "action": "REJECT"}},
        f"{ACTION}This provider does not support creating l7policies.",
        id="l7policy",
    ),
]


def filled(template, ids):
    return json.loads(_fill(json.dumps(template), ids))


def _fill(text, ids):
    for name, value in ids.items():
        text = text.replace("{" + name + "}", value)
    return text


class TestRefusals:
    """On one load balancer, which none of them changes."""

    @pytest.mark.parametrize(("method", "path", "body", "sentence"), REFUSALS)
    def test_refusal_is_501_and_changes_nothing(self, octavia_of_class, tree, method, path, body, sentence):
        octavia = octavia_of_class
        before = octavia.rows("SELECT id, provisioning_status, updated_at FROM load_balancer")
        counts = in_use(octavia)
        octavia.nudges.received()
        reply = octavia.lbaas(method, _fill(path, tree), filled(body, tree))
        assert reply.status == 501, reply.text
        assert reply.text.startswith(sentence)
        assert octavia.nudges.received() == []
        assert octavia.rows("SELECT id, provisioning_status, updated_at FROM load_balancer") == before
        assert in_use(octavia) == counts


def single_call(octavia, **children):
    body = {"vip_subnet_id": SUBNET, "provider": "ovn", "project_id": PROJECT, **children}
    return octavia.lbaas("POST", "/loadbalancers", {"loadbalancer": body})


L4 = {"protocol": "TCP", "protocol_port": 80}
POOL = {"name": "p", "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"}


@pytest.mark.parametrize(
    ("children", "sentence"),
    [
        (
            {"listeners": [{"protocol": "HTTP", "protocol_port": 80}]},
            f"{OPTION}{OVN} HTTP",
        ),
        (
            {"listeners": [{**L4, "default_pool": {**POOL, "lb_algorithm": "ROUND_ROBIN"}}]},
            f"{OPTION}{OVN} ROUND_ROBIN algorithm",
        ),
        (
            {
                "pools": [
                    {**POOL, "members": [{"address": "fd00:1::5", "protocol_port": 80, "subnet_id": SUBNET6}]}
                ]
            },
            f"{OPTION}{MIXING}",
        ),
        (
            {"pools": [{**POOL, "members": [{"address": "10.9.0.1", "protocol_port": 80}]}]},
            f"{OPTION}Subnet is required",
        ),
        (
            {"pools": [{**POOL, "healthmonitor": {"type": "PING", **MONITOR}}]},
            f"{OPTION}{OVN} PING health monitor type",
        ),
    ],
    ids=["protocol", "algorithm", "mixing", "subnet", "monitor"],
)
def test_refused_single_call_leaves_neither_rows_nor_port(octavia, children, sentence):
    reply = single_call(octavia, **children)
    assert reply.status == 501, reply.text
    assert reply.text.startswith(sentence)
    assert [c.method for c in octavia.neutron.changes()] == ["POST", "DELETE"]
    assert octavia.nudges.received() == []
    is_clean(octavia)


def test_l7_policy_in_a_single_call_ends_in_error_and_holds_nothing_up(octavia):
    """octavia-api 19.0.0 shows the driver listeners without their policies, so that none can be refused."""
    policy = {"action": "REDIRECT_TO_URL", "redirect_url": "http://x.example"}
    reply = single_call(octavia, listeners=[{**L4, "protocol": "TCP", "l7policies": [policy]}])
    if reply.status == 501:
        assert reply.text == f"{ACTION}This provider does not support creating l7policies."
        return
    assert reply.status == 201, reply.text
    octavia.settle()
    assert octavia.rows("SELECT provisioning_status FROM l7policy") == [("ERROR",)]
    assert octavia.rows(
        "SELECT provisioning_status FROM load_balancer WHERE id = %s", reply.body["loadbalancer"]["id"]
    ) == [("ACTIVE",)]


def test_port_of_a_creation_that_octavia_itself_rolls_back_bears_the_marks_of_an_orphan(octavia):
    """Octavia has no clean-up and calls nobody: such a port is found later by name and device id."""
    octavia.rows(
        "INSERT INTO quotas (project_id, listener) VALUES (%s, 0) ON DUPLICATE KEY UPDATE listener = 0",
        PROJECT,
    )
    try:
        reply = single_call(octavia, listeners=[L4])
        assert reply.status == 403, reply.text
    finally:
        octavia.rows("UPDATE quotas SET listener = NULL WHERE project_id = %s", PROJECT)
    (port,) = octavia.ports()
    lb_id = port["device_id"].removeprefix("lb-")
    assert port["name"] == f"ovn-lb-vip-{lb_id}"
    assert octavia.rows("SELECT * FROM load_balancer WHERE id = %s", lb_id) == []
    octavia.reset()
    is_clean(octavia)


def test_taken_vip_address_is_409_with_neutrons_words_B012_B013(octavia):
    port = {
        "id": "p",
        "name": "vm",
        "network_id": NETWORK,
        "device_id": "vm",
        "device_owner": "compute:nova",
        "mac_address": "fa:16:3e:00:00:09",
        "fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.0.9"}],
    }
    octavia.reset(port)
    reply = single_call(octavia, vip_address="10.0.0.9")
    assert reply.status == 409
    assert reply.text == (
        f"The VIP IP address is already in use: IP address 10.0.0.9 already allocated in subnet {SUBNET}"
    )
    assert octavia.ports() == [port]
    octavia.reset()
    is_clean(octavia)


def test_neutron_failure_is_500_with_neutrons_words(octavia):
    octavia.neutron.fail(
        "POST", "ports", status=500, message="Request Failed: internal server error", times=3
    )
    reply = single_call(octavia)
    assert reply.status == 500
    assert reply.text == "Provider 'ovn' reports error: Request Failed: internal server error"
    is_clean(octavia)


def test_second_additional_vip_that_fails_leaves_no_port(octavia):
    octavia.neutron.fail("POST", "ports", status=503, message="busy", skip=1, times=3)
    reply = single_call(octavia, additional_vips=[{"subnet_id": SUBNET6}])
    assert (reply.status, reply.text) == (500, "Provider 'ovn' reports error: busy")
    is_clean(octavia)


def test_flavors_and_zones_are_501(octavia):
    flavor = {"flavorprofile": {"name": "f", "provider_name": "ovn", "flavor_data": '{"a": "b"}'}}
    reply = octavia.lbaas("POST", "/flavorprofiles", flavor)
    assert reply.status == 501
    assert reply.text == f"{ACTION}This provider does not support validating flavors."
    zone = {
        "availability_zone_profile": {
            "name": "z",
            "provider_name": "ovn",
            "availability_zone_data": '{"a": "b"}',
        }
    }
    reply = octavia.lbaas("POST", "/availabilityzoneprofiles", zone)
    assert reply.status == 501
    assert reply.text == f"{ACTION}This provider does not support validating availability zones."
    for what in ("flavor", "availability_zone"):
        reply = octavia.lbaas("GET", f"/providers/ovn/{what}_capabilities")
        assert reply.status == 501
        assert reply.text.startswith(f"{ACTION}This provider does not support getting the supported")


# Octavia's own compatibility tables, and ours within them

TABLES = json.loads((Path(__file__).parent.parent / "data" / "compatibility.json").read_text())


def cells(table):
    return [
        pytest.param(row, column, answer, id=f"{row}-{column}")
        for row, columns in TABLES[table].items()
        for column, answer in columns.items()
    ]


def judged(octavia, reply, answer):
    if answer == "accepted":
        assert reply.status == 201, reply.text
        octavia.settle()
        octavia.lbaas("DELETE", f"/loadbalancers/{reply.body['loadbalancer']['id']}?cascade=true")
    elif answer == "octavia":
        assert reply.status == 400, reply.text
        assert "Provider" not in reply.text
    else:
        assert (reply.status, reply.text.startswith(f"{OPTION}{OVN} {answer}")) == (
            501,
            True,
        )


@pytest.mark.parametrize(("pool_protocol", "listener_protocol", "answer"), cells("listener_pool"))
def test_listener_and_pool_pairs(octavia, pool_protocol, listener_protocol, answer):
    if listener_protocol == "TERMINATED_HTTPS":
        answer = "octavia"  # without a certificate Octavia refuses it before the driver is asked
    asked = {
        "protocol": listener_protocol,
        "protocol_port": 80,
        "default_pool": {**POOL, "protocol": pool_protocol},
    }
    judged(octavia, single_call(octavia, listeners=[asked]), answer)


@pytest.mark.parametrize(("pool_protocol", "monitor_type", "answer"), cells("pool_health_monitor"))
def test_pool_and_monitor_pairs(octavia, pool_protocol, monitor_type, answer):
    asked = {**POOL, "protocol": pool_protocol, "healthmonitor": {"type": monitor_type, **MONITOR}}
    judged(octavia, single_call(octavia, pools=[asked]), answer)
