"""Every object type created, updated and deleted over HTTP: codes, PENDING, nudges, ends, quotas."""

from __future__ import annotations

from typing import Any

import pytest

from octavia_api.api import PROJECT, Octavia
from octavia_api.conftest import CLOUD, NETWORK, OTHER, SUBNET, SUBNET6

QUOTAS = ("in_use_load_balancer", "in_use_listener", "in_use_pool", "in_use_member", "in_use_health_monitor")


class User:
    """A user of the API who waits for what they asked for, and sees who was nudged."""

    def __init__(self, octavia: Octavia) -> None:
        self.octavia = octavia
        self.lb = ""

    def does(self, method: str, path: str, kind: str | None = None, **body: Any) -> Any:
        """One accepted request: 2xx, the load balancer nudged once; settled when this returns."""
        reply = self.octavia.lbaas(method, path, {kind: body} if kind else (body or None))
        assert reply.status in (200, 201, 202, 204), reply.text
        made = reply.body.get(kind or "", {})
        if (method, kind) == ("POST", "loadbalancer"):
            self.lb = str(made["id"])
        assert self.octavia.nudges.received() == [self.lb]
        self.octavia.settle()
        return made

    def sees(self, path: str, kind: str) -> Any:
        """The object, which must be there."""
        reply = self.octavia.lbaas("GET", path)
        assert reply.status == 200, reply.text
        return reply.body[kind]

    def misses(self, path: str) -> None:
        """The object, which must have gone."""
        assert self.octavia.lbaas("GET", path).status == 404

    def load_balancer(self, **more: Any) -> str:
        """A new load balancer's id."""
        body = {"name": "lb", "vip_subnet_id": SUBNET, "provider": "ovn", "project_id": PROJECT, **more}
        return str(self.does("POST", "/loadbalancers", "loadbalancer", **body)["id"])


@pytest.fixture
def user(octavia):
    return User(octavia)


def in_use(octavia):
    """Non-zero quota usage of the project."""
    rows = octavia.rows(f"SELECT {', '.join(QUOTAS)} FROM quotas WHERE project_id = %s", PROJECT)
    return {name: used for name, used in zip(QUOTAS, rows[0] if rows else (), strict=False) if used}


def leftovers(octavia):
    """Everything that a finished test must not leave."""
    tables = ("listener", "pool", "member", "health_monitor", "session_persistence", "l7policy")
    rows = {table: octavia.rows(f"SELECT * FROM {table}") for table in tables}
    alive = octavia.rows("SELECT id FROM load_balancer WHERE provisioning_status <> 'DELETED'")
    return {name: found for name, found in {**rows, "load_balancer": alive}.items() if found}


def is_clean(octavia):
    assert leftovers(octavia) == {}
    assert in_use(octavia) == {}
    assert octavia.ports() == []
    assert octavia.neutron.dump()["subnets"] == CLOUD["subnets"]
    tables = octavia.nb.server.dump("Load_Balancer", "Load_Balancer_Health_Check", "Logical_Switch_Port")
    assert [len(rows) for rows in tables.values()] == [0, 0, len(CLOUD["ports"])]


def test_every_object_type(user, octavia):
    lb = user.load_balancer()
    (port,) = octavia.ports()
    assert (port["name"], port["device_owner"]) == (f"ovn-lb-vip-{lb}", "ovn-lb:vip")
    shown = user.sees(f"/loadbalancers/{lb}", "loadbalancer")
    assert (shown["vip_port_id"], shown["vip_subnet_id"], shown["vip_network_id"]) == (
        port["id"],
        SUBNET,
        NETWORK,
    )
    assert shown["vip_address"] == port["fixed_ips"][0]["ip_address"]
    assert shown["provisioning_status"] == "ACTIVE"
    assert octavia.rows("SELECT octavia_owned FROM vip WHERE load_balancer_id = %s", lb) == [(0,)]

    user.does("PUT", f"/loadbalancers/{lb}", "loadbalancer", admin_state_up=False, name="renamed")
    user.does("PUT", f"/loadbalancers/{lb}", "loadbalancer", admin_state_up=True)

    listener = user.does(
        "POST", "/listeners", "listener", loadbalancer_id=lb, protocol="TCP", protocol_port=80
    )["id"]
    user.does("PUT", f"/listeners/{listener}", "listener", name="l", admin_state_up=False)
    pool = user.does(
        "POST",
        "/pools",
        "pool",
        listener_id=listener,
        protocol="TCP",
        lb_algorithm="SOURCE_IP_PORT",
        session_persistence={"type": "SOURCE_IP"},
    )["id"]
    user.does("PUT", f"/pools/{pool}", "pool", session_persistence=None, lb_algorithm="SOURCE_IP")
    members = f"/pools/{pool}/members"
    first = user.does("POST", members, "member", address="10.0.3.1", protocol_port=80)["id"]
    second = user.does("POST", members, "member", address="10.9.0.1", protocol_port=80, subnet_id=OTHER)["id"]
    user.does("PUT", f"{members}/{first}", "member", admin_state_up=False)
    user.does("PUT", f"{members}/{second}", "member", weight=0)
    monitor = user.does(
        "POST",
        "/healthmonitors",
        "healthmonitor",
        pool_id=pool,
        type="TCP",
        delay=5,
        timeout=3,
        max_retries=2,
    )["id"]
    user.does("PUT", f"/healthmonitors/{monitor}", "healthmonitor", delay=7, admin_state_up=False)

    user.does("DELETE", f"/healthmonitors/{monitor}")
    user.does("DELETE", f"{members}/{second}")
    user.does("PUT", f"/listeners/{listener}", "listener", default_pool_id=None)
    user.does("DELETE", f"/pools/{pool}")
    user.misses(f"/pools/{pool}")
    user.does("DELETE", f"/listeners/{listener}")
    user.does("DELETE", f"/loadbalancers/{lb}")
    assert octavia.lbaas("GET", f"/loadbalancers/{lb}").status == 404
    is_clean(octavia)


@pytest.mark.parametrize("provider", ["ovn", "ovnlb"])
def test_single_call_and_cascade_delete(user, octavia, provider):
    member = {"address": "10.0.3.1", "protocol_port": 80}
    pool = {
        "name": "p",
        "protocol": "TCP",
        "lb_algorithm": "SOURCE_IP_PORT",
        "members": [member],
        "healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},
        "session_persistence": {"type": "SOURCE_IP"},
    }
    listeners = [
        {"name": "one", "protocol": "TCP", "protocol_port": 80, "default_pool": pool},
        {"name": "two", "protocol": "UDP", "protocol_port": 53},
    ]
    lb = user.load_balancer(provider=provider, listeners=listeners, additional_vips=[{"subnet_id": SUBNET6}])
    shown = user.sees(f"/loadbalancers/{lb}", "loadbalancer")
    assert [len(shown[kind]) for kind in ("listeners", "pools", "additional_vips")] == [2, 1, 1]
    names = {f"ovn-lb-vip-{lb}", f"ovn-lb-vip-additional-1-{lb}", f"ovn-lb-hm-{SUBNET}"}
    assert {p["name"] for p in octavia.ports()} == names
    checks = {str(row["protocol"]): len(row["health_check"]) for row in octavia.nb.balancers()}
    assert checks == {"['tcp']": 2, "['udp']": 0}, "one for each VIP of the monitored listener"
    tree = octavia.lbaas("GET", f"/loadbalancers/{lb}/status").body["statuses"]["loadbalancer"]
    assert "PENDING" not in str(tree)
    assert set(in_use(octavia)) == set(QUOTAS)
    user.does("DELETE", f"/loadbalancers/{lb}?cascade=true")
    is_clean(octavia)


def test_without_nudges_the_poll_finds_everything(user, octavia):
    octavia.nudges.mute = True
    lb = user.load_balancer(listeners=[{"protocol": "TCP", "protocol_port": 80}])
    assert user.sees(f"/loadbalancers/{lb}", "loadbalancer")["provisioning_status"] == "ACTIVE"
    user.does("DELETE", f"/loadbalancers/{lb}?cascade=true")
    is_clean(octavia)


def test_batch_update_replaces_and_adds(user, octavia):
    lb = user.load_balancer()
    pool = user.does("POST", "/pools", "pool", loadbalancer_id=lb, protocol="UDP", lb_algorithm="SOURCE_IP")[
        "id"
    ]
    path = f"/pools/{pool}/members"

    def addresses():
        return sorted(m["address"] for m in octavia.lbaas("GET", path).body["members"])

    def member(last, **more):
        return {"address": f"10.0.3.{last}", "protocol_port": 53, **more}

    timed = {"type": "SOURCE_IP", "persistence_timeout": 9}
    user.does("PUT", f"/pools/{pool}", "pool", session_persistence=timed)
    user.does("PUT", path, members=[member(1), member(2, subnet_id=SUBNET)])
    user.does("PUT", path, members=[member(2, weight=5), member(3)])
    assert addresses() == ["10.0.3.2", "10.0.3.3"]
    user.does("PUT", f"{path}?additive_only=true", members=[member(4)])
    assert addresses() == ["10.0.3.2", "10.0.3.3", "10.0.3.4"]
    user.does("PUT", path, members=[])
    assert addresses() == []
    no_op = octavia.lbaas("PUT", path, {"members": []})
    assert (no_op.status, octavia.nudges.received()) == (202, [])
    user.does("DELETE", f"/loadbalancers/{lb}?cascade=true")
    is_clean(octavia)


def test_batch_keeps_a_member_whose_subnet_is_known(user, octavia):
    """A listed member comes to the driver without its subnet; it must not be refused for that."""
    lb = user.load_balancer()
    pool = user.does("POST", "/pools", "pool", loadbalancer_id=lb, protocol="TCP", lb_algorithm="SOURCE_IP")[
        "id"
    ]
    path = f"/pools/{pool}/members"
    user.does("PUT", path, members=[{"address": "10.9.0.1", "protocol_port": 80, "subnet_id": OTHER}])
    user.does("PUT", path, members=[{"address": "10.9.0.1", "protocol_port": 80, "weight": 3}])
    user.does("PUT", f"{path}?additive_only=true", members=[{"address": "10.0.3.1", "protocol_port": 80}])
    shown = octavia.lbaas("GET", path).body["members"]
    assert {(m["address"], m["subnet_id"]) for m in shown} == {("10.9.0.1", OTHER), ("10.0.3.1", None)}


def test_users_own_vip_port_survives(user, octavia):
    port = {
        "id": "b0470000-0000-4000-8000-000000000050",
        "name": "mine",
        "network_id": NETWORK,
        "device_id": "",
        "device_owner": "",
        "mac_address": "fa:16:3e:00:00:50",
        "fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.0.50"}],
        "status": "DOWN",
    }
    octavia.reset(port)
    body = {"vip_port_id": port["id"], "project_id": PROJECT, "provider": "ovn"}
    lb = user.does("POST", "/loadbalancers", "loadbalancer", **body)
    assert (lb["vip_address"], lb["vip_port_id"]) == ("10.0.0.50", port["id"])
    user.does("DELETE", f"/loadbalancers/{lb['id']}")
    assert octavia.ports() == [port]
