"""The Neutron client against a Neutron that speaks HTTP: effects, retries, lost answers, errors."""

from __future__ import annotations

import time

import openstack
import pytest
from keystoneauth1 import noauth, session

from ovnlb.desired.facts import Subnet
from ovnlb.observed.neutron_errors import NeutronNotConfigured, NeutronRefused, NeutronUnavailable
from ovnlb.reconciler.neutron_client import NeutronClient, Retry
from servers.neutron import FakeNeutron, serving

NET, SUBNET, SUBNET6, FIP = "net-1", "sub-4", "sub-6", "fip-1"
SEED = {
    "networks": [{"id": NET, "name": "net"}],
    "subnets": [
        {"id": SUBNET, "network_id": NET, "cidr": "10.0.0.0/24", "ip_version": 4},
        {"id": SUBNET6, "network_id": NET, "cidr": "fd00::/64", "ip_version": 6},
    ],
    "floatingips": [
        {
            "id": FIP,
            "floating_ip_address": "172.24.4.5",
            "port_id": "p1",
            "fixed_ip_address": "10.0.0.9",
            "router_id": "r1",
            "description": "kept",
        }
    ],
}
PORT = {
    "name": "ovn-lb-hm-sub-4",
    "network_id": NET,
    "device_owner": "ovn-lb-hm:distributed",
    "device_id": "ovn-lb-hm-sub-4",
    "fixed_ips": [{"subnet_id": SUBNET}],
    "port_security_enabled": False,
    "admin_state_up": True,
    "project_id": "tenant",
}


@pytest.fixture
def neutron():
    with serving(SEED) as server:
        yield server


def client_of(server: FakeNeutron, timeout: float = 5, **retry) -> NeutronClient:
    auth = noauth.NoAuth(endpoint=server.url)
    sess = session.Session(auth=auth, timeout=timeout)
    connect = openstack.connection.Connection
    return NeutronClient(
        lambda: connect(session=sess, network_endpoint_override=server.url).network,
        Retry(**{"attempts": 3, "pause": 0.01, **retry}),
    )


@pytest.fixture
def client(neutron):
    return client_of(neutron)


def methods(neutron):
    return [(call.method, call.path.partition("/")[0], call.status) for call in neutron.calls]


def test_create_sends_exactly_what_is_given_and_returns_the_port(client, neutron):
    port = client.create_port(PORT)
    (call,) = neutron.changes()
    assert call.body == PORT
    assert (port.name, port.addresses) == ("ovn-lb-hm-sub-4", ((SUBNET, "10.0.0.2"),))
    assert port == client.get_port(port.id) == client.find_port(PORT["name"], NET)


def test_what_is_not_there(client):
    assert client.get_port("no-such") is None
    assert client.get_subnet("no-such") is None
    assert client.find_port("no-such", NET) is None
    assert client.touch_floating_ip("no-such") is False
    client.delete_port("no-such")


def test_listings_and_values(client):
    assert client.get_subnet(SUBNET) == Subnet(SUBNET, NET, "10.0.0.0/24")
    assert {s.id for s in client.list_subnets(network_id=NET)} == {SUBNET, SUBNET6}
    (fip,) = client.list_floating_ips(port_id="p1")
    assert (fip.id, fip.address, fip.fixed_ip, fip.router_id) == (FIP, "172.24.4.5", "10.0.0.9", "r1")
    assert client.list_floating_ips(port_id="p2") == ()


def test_touching_a_floating_ip_is_an_update_that_changes_nothing(client, neutron):
    assert client.touch_floating_ip(FIP) is True
    (call,) = neutron.changes()
    assert (call.method, call.body) == ("PUT", {"description": "kept"})


def test_lost_answer_of_a_create_adopts_the_port(client, neutron):
    neutron.fail("POST", "ports", lost=True)
    port = client.create_port(PORT)
    assert [p["id"] for p in neutron.dump()["ports"]] == [port.id]
    assert len(neutron.changes()) == 1


@pytest.mark.parametrize("status", [500, 502, 504])
def test_create_is_not_repeated_when_it_may_have_been_done(client, neutron, status):
    neutron.fail("POST", "ports", status=status, message="boom")
    with pytest.raises(NeutronUnavailable, match="boom"):
        client.create_port(PORT)
    assert methods(neutron) == [("POST", "ports", status), ("GET", "ports", 200)]


def test_create_is_repeated_after_429(client, neutron):
    neutron.fail("POST", "ports", status=429, times=2)
    client.create_port(PORT)
    assert [c.status for c in neutron.changes()] == [429, 429, 201]


def test_conflict_adopts_our_port_of_that_name_and_address(client, neutron):
    fixed = {**PORT, "fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.0.7"}]}
    first = client.create_port(fixed)
    assert client.create_port(fixed).id == first.id


@pytest.mark.parametrize(
    "held",
    [
        {"device_id": "somebody else"},
        {"name": "another name"},
        {"fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.0.8"}]},
    ],
    ids=["other-device", "other-name", "other-address"],
)
def test_conflict_with_a_port_that_is_not_ours_stands(client, neutron, held):
    fixed = {**PORT, "fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.0.7"}]}
    client.create_port({**fixed, **held})
    if "fixed_ips" in held:
        client.create_port({**fixed, "name": "taker", "device_id": "taker"})
    with pytest.raises(NeutronRefused) as caught:
        client.create_port(fixed)
    assert caught.value.conflict
    assert caught.value.message == "IP address 10.0.0.7 already allocated in subnet sub-4"


@pytest.mark.parametrize("status", [400, 403, 404, 413])
def test_refusals_are_final(client, neutron, status):
    neutron.fail("POST", "ports", status=status, message="no", times=9)
    with pytest.raises(NeutronRefused, match="no") as caught:
        client.create_port(PORT)
    assert (caught.value.status, len(neutron.calls)) == (status, 1)


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"status": 409}, {"lost": True}])
def test_delete_and_update_get_over_passing_failures(client, neutron, fault):
    port = client.create_port(PORT)
    neutron.fail("PUT", "ports", times=2, **fault)
    assert client.update_port(port.id, {"device_id": "x"}).device_id == "x"
    neutron.fail("DELETE", "ports", times=2, **fault)
    client.delete_port(port.id)
    assert neutron.dump()["ports"] == []


def test_a_lasting_failure_is_unavailable_after_three_tries(client, neutron):
    neutron.fail("DELETE", "ports", status=503, times=99)
    with pytest.raises(NeutronUnavailable) as caught:
        client.delete_port("p")
    assert (caught.value.status, len(neutron.calls)) == (503, 3)


def test_forbidden_update_is_a_warning_B016(client, neutron, caplog):
    port = client.create_port(PORT)
    neutron.fail("PUT", "ports", status=403, message="policy")
    assert client.update_port(port.id, {"device_id": "x"}) is None
    assert "stays without device_id" in caplog.text
    assert "policy" in caplog.text


def test_update_of_a_port_that_has_gone(client):
    assert client.update_port("gone", {"device_id": "x"}) is None


def test_silence_is_unavailable_within_the_timeout(neutron):
    client = client_of(neutron, timeout=0.3, attempts=1)
    client.get_port("warm up")
    neutron.fail("GET", "ports", hang=2)
    started = time.monotonic()
    with pytest.raises(NeutronUnavailable) as caught:
        client.get_port("p")
    assert time.monotonic() - started < 1.5
    assert caught.value.maybe_done


def test_a_server_that_is_not_there_surely_did_nothing(neutron):
    client = client_of(neutron, attempts=2)
    client.get_port("warm up")
    neutron.close()
    with pytest.raises(NeutronUnavailable) as caught:
        client.create_port(PORT)
    assert not caught.value.maybe_done


def test_a_connection_that_cannot_be_made_is_a_matter_of_configuration():
    def fail():
        raise ValueError("[neutron]auth_type is not set")

    with pytest.raises(NeutronNotConfigured, match="auth_type is not set"):
        NeutronClient(fail).get_port("p")
