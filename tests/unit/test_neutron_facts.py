"""Subnets, floating IPs and ports through openstacksdk, from a Neutron that answers over HTTP."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import keystoneauth1.session
import openstack.connection
import pytest
from keystoneauth1.noauth import NoAuth

from ovnlb.desired.facts import Subnet
from ovnlb.observed.bundle import BundleNeutron
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.neutron_errors import NeutronRefused, NeutronUnavailable
from servers.neutron import serving

SEED = {
    "networks": [{"id": f"n{n}"} for n in range(120)],
    "subnets": [{"id": f"s{n}", "network_id": f"n{n}", "cidr": f"10.0.{n}.0/24"} for n in range(120)],
    "ports": [
        {
            "id": f"p{n}",
            "name": "ovn-lb-hm-s1" if n == 1 else f"vm{n}",
            "network_id": "n1" if n < 3 else "n2",
            "device_owner": "compute:nova",
            "device_id": f"vm-{n}",
            "mac_address": f"fa:16:3e:00:00:{n:02x}",
            "fixed_ips": [
                {"subnet_id": "s1", "ip_address": f"10.0.1.{n}"},
                {"subnet_id": "s6", "ip_address": f"FD00:0::{n}"},
            ],
            "project_id": "project",
            "created_at": "2026-01-01T00:00:00Z",
            "binding:host_id": "node" if n == 2 else "",
        }
        for n in range(1, 5)
    ],
    "floatingips": [
        {"id": "f1", "port_id": "p1", "floating_ip_address": "172.24.4.10"},
        {"id": "f2", "port_id": "p2", "floating_ip_address": "172.24.4.11"},
        {"id": "f3", "port_id": "p2", "floating_ip_address": "172.24.4.9"},
        {"id": "f4", "port_id": None, "floating_ip_address": "172.24.4.12"},
    ],
}


@pytest.fixture
def server():
    with serving(SEED) as neutron:
        yield neutron


@pytest.fixture
def neutron(server):
    return SdkNeutron(connect(server.url))


def connect(url):
    auth = NoAuth(endpoint=url)
    session = keystoneauth1.session.Session(auth=auth, timeout=2)
    return openstack.connection.Connection(session=session, network_endpoint_override=f"{url}/v2.0")


def listings(server, kind):
    return [call.query for call in server.calls if call.method == "GET" and call.path == kind]


def test_subnets_in_one_filtered_listing_and_kept(server, neutron):
    assert neutron.subnets(["s1", "s2"]) == {
        "s1": Subnet("s1", "n1", "10.0.1.0/24"),
        "s2": Subnet("s2", "n2", "10.0.2.0/24"),
    }
    neutron.refresh()
    assert set(neutron.subnets(["s2", "s1"])) == {"s1", "s2"}
    (query,) = listings(server, "subnets")
    assert query["id"] == "s1,s2"


def test_many_unknown_subnets_in_one_listing(server, neutron):
    wanted = [f"s{n}" for n in range(100)]
    assert list(neutron.subnets(wanted)) == wanted
    (query,) = listings(server, "subnets")
    assert "id" not in query


def test_absent_subnet_is_asked_for_once_a_pass(server, neutron):
    assert neutron.subnets(["gone"]) == {}
    assert neutron.subnets(["gone"]) == {}
    assert len(listings(server, "subnets")) == 1
    server.load({**SEED, "subnets": [{"id": "gone", "network_id": "n1", "cidr": "10.1.0.0/24"}]})
    neutron.refresh()
    assert neutron.subnets(["gone"]) == {"gone": Subnet("gone", "n1", "10.1.0.0/24")}


def test_deleted_subnet_is_noticed_when_asked_to(server, neutron):
    neutron.subnets(["s1"])
    server.load({**SEED, "subnets": []})
    neutron.refresh()
    assert set(neutron.subnets(["s1"])) == {"s1"}
    neutron.recheck_subnets()
    assert neutron.subnets(["s1"]) == {}


def test_subnets_that_are_still_there_are_kept(server, neutron):
    neutron.subnets(["s1", "s2"])
    server.load({**SEED, "subnets": [row for row in SEED["subnets"] if row["id"] == "s2"]})
    neutron.recheck_subnets()
    calls = len(listings(server, "subnets"))
    assert set(neutron.subnets(["s2"])) == {"s2"}
    assert len(listings(server, "subnets")) == calls
    assert neutron.subnets(["s1"]) == {}


def test_no_question_no_call(server, neutron):
    assert neutron.subnets([]) == {}
    neutron.refresh(fip_ports=[])
    assert neutron.floating_ips([]) == {}
    assert server.calls == []


def test_floating_ips_in_one_listing_a_pass(server, neutron):
    assert neutron.floating_ips(["p1"]) == {"p1": "172.24.4.10"}
    assert neutron.floating_ips(["p2", "p3"]) == {"p2": "172.24.4.9"}
    assert len(listings(server, "floatingips")) == 1
    server.load({**SEED, "floatingips": []})
    assert neutron.floating_ips(["p1"]) == {"p1": "172.24.4.10"}
    neutron.refresh()
    assert neutron.floating_ips(["p1"]) == {}


def test_floating_ips_of_a_few_ports_only(server, neutron):
    neutron.refresh(fip_ports=["p1"])
    assert neutron.floating_ips(["p1"]) == {"p1": "172.24.4.10"}
    assert neutron.floating_ips(["p2"]) == {"p2": "172.24.4.9"}
    assert neutron.floating_ips(["p1", "p2"]) == {"p1": "172.24.4.10", "p2": "172.24.4.9"}
    assert [query["port_id"] for query in listings(server, "floatingips")] == ["p1", "p1,p2"]


def test_more_ports_than_a_query_takes_are_listed_whole(server, neutron):
    neutron.refresh(fip_ports=[f"p{n}" for n in range(60)])
    assert neutron.floating_ips(["p1", "p999"]) == {"p1": "172.24.4.10"}
    (query,) = listings(server, "floatingips")
    assert "port_id" not in query


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_pages_are_followed_to_the_end(server, neutron, size):
    server.page_size = size
    assert [one.id for one in neutron.ports(device_owner="compute:nova")] == ["p1", "p2", "p3", "p4"]
    assert set(neutron.subnets(["s1", "s2", "s3"])) == {"s1", "s2", "s3"}
    assert neutron.floating_ips(["p1", "p2"]) == {"p1": "172.24.4.10", "p2": "172.24.4.9"}


def test_a_lost_page_is_no_answer(server, neutron):
    server.page_size = 2
    server.fail("GET", "floatingips", status=503, skip=1, times=20)
    with pytest.raises(NeutronUnavailable):
        neutron.floating_ips(["p1"])


def test_ports(neutron):
    port = neutron.port("p2")
    assert (port.name, port.network_id, port.device_id, port.host_bound) == ("vm2", "n1", "vm-2", True)
    assert port.addresses == (("s1", "10.0.1.2"), ("s6", "fd00::2"))
    assert (port.project_id, port.created_at) == ("project", "2026-01-01T00:00:00Z")
    assert neutron.port("gone") is None
    assert [one.id for one in neutron.ports(network_id="n1")] == ["p1", "p2"]
    assert [one.id for one in neutron.ports(network_id="n1", name="ovn-lb-hm-s1")] == ["p1"]
    assert [one.id for one in neutron.ports(device_owner="compute:nova")] == ["p1", "p2", "p3", "p4"]


def test_a_bundle_answers_like_the_api(neutron):
    bundle = BundleNeutron(SEED)
    ids = ["s1", "s7", "gone"]
    assert neutron.subnets(ids) == bundle.subnets(ids)
    assert neutron.floating_ips(["p1", "p2", "p3"]) == bundle.floating_ips(["p1", "p2", "p3"])
    assert neutron.ports(network_id="n1") == bundle.ports(network_id="n1")
    assert neutron.port("p3") == bundle.port("p3")


QUESTIONS = {
    "subnets": lambda neutron: neutron.subnets(["s1"]),
    "floatingips": lambda neutron: neutron.floating_ips(["p1"]),
    "ports": lambda neutron: neutron.ports(network_id="n1"),
    "ports/p1": lambda neutron: neutron.port("p1"),
}


@pytest.mark.parametrize("path", QUESTIONS)
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param({"status": 500}, NeutronUnavailable, id="500"),
        pytest.param({"status": 503}, NeutronUnavailable, id="503"),
        pytest.param({"status": 429}, NeutronUnavailable, id="429"),
        pytest.param({"status": 400}, NeutronRefused, id="400"),
        pytest.param({"status": 403}, NeutronRefused, id="403"),
        pytest.param({"lost": True}, NeutronUnavailable, id="answer-lost"),
        pytest.param({"hang": 3.0}, NeutronUnavailable, id="timeout"),
    ],
)
def test_failures_are_of_two_kinds_and_leave_nothing_cached(server, neutron, path, fault, error):
    server.fail("GET", path, times=20, **fault)
    with pytest.raises(error):
        QUESTIONS[path](neutron)
    server.faults.clear()
    assert QUESTIONS[path](neutron)


def test_failed_wider_listing_is_not_taken_for_an_answer(server, neutron):
    neutron.refresh(fip_ports=["p1"])
    neutron.floating_ips(["p1"])
    server.fail("GET", "floatingips", status=503, times=20)
    with pytest.raises(NeutronUnavailable):
        neutron.floating_ips(["p2"])
    server.faults.clear()
    assert neutron.floating_ips(["p2"]) == {"p2": "172.24.4.9"}


def test_unreachable_neutron_says_what_was_asked(server):
    neutron = SdkNeutron(connect("http://127.0.0.1:1"))
    with pytest.raises(NeutronUnavailable, match="list subnets by id"):
        neutron.subnets(["s1"])


@pytest.mark.parametrize("body", [b"[]", b'{"versions": []}', b"<html>maintenance</html>"])
def test_answer_of_something_else_is_no_answer(body):
    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, args=(0.05,), daemon=True).start()
        neutron = SdkNeutron(connect(f"http://127.0.0.1:{page.server_address[1]}"))
        with pytest.raises(NeutronUnavailable):
            neutron.subnets(["s1"])
        page.shutdown()


def test_workers_share_one_listing(server, neutron):
    found = []
    threads = [threading.Thread(target=lambda: found.append(neutron.floating_ips(["p1"]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{"p1": "172.24.4.10"}] * 8
    assert len(listings(server, "floatingips")) == 1
