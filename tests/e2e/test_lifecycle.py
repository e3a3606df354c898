"""Every kind of object through its whole life, over the public API, on a real stack."""

from __future__ import annotations

import time
from typing import Any

import pytest
from openstack import exceptions

from e2e.steps import Steps

PROTOCOLS = ("TCP", "UDP", "SCTP")
MONITORS = {"TCP": "TCP", "UDP": "UDP-CONNECT"}


def _monitor(kind: str) -> dict[str, Any]:
    return {"type": kind, "delay": 5, "timeout": 3, "max_retries": 2, "max_retries_down": 2}


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_operation_on_every_object(steps: Steps, protocol: str, family: int) -> None:
    """Create, change, disable, enable and delete each object in turn; after each step everything agrees."""
    subnet = steps.networks.private_v4 if family == 4 else steps.networks.private_v6
    address = "10.20.0.{}" if family == 4 else "fd20::1:{}"
    lb = steps.balancer(vip_subnet_id=subnet, name="life")
    steps.update_balancer(lb, name="life2", description="changed")
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol=protocol, protocol_port=80)
    pool = steps.create(
        "pool", lb, listener_id=listener, protocol=protocol, lb_algorithm="SOURCE_IP_PORT"
    )
    member = {"protocol_port": 8080, "subnet_id": subnet}
    first = steps.create("member", lb, pool, address=address.format(101), weight=5, **member)
    second = steps.create("member", lb, pool, address=address.format(102), **member)
    steps.update("member", lb, first, pool, weight=7, name="first")
    steps.update("member", lb, first, pool, is_admin_state_up=False)
    assert steps.status(lb)[first] == "OFFLINE"
    steps.update("member", lb, first, pool, is_admin_state_up=True)
    steps.batch(lb, pool, [{"address": address.format(n), **member} for n in (101, 103)])
    kept = {address.format(101), address.format(103)}
    steps.eventually(
        lambda: {m.address for m in steps.octavia.members(pool)} == kept, 0 if steps.ours else 20
    )
    steps.batch(lb, pool, [{"address": address.format(104), **member}], additive=True)
    assert len(list(steps.octavia.members(pool))) == 3
    assert second not in steps.status(lb)
    if protocol in MONITORS:
        monitor = steps.create("health monitor", lb, pool_id=pool, **_monitor(MONITORS[protocol]))
        steps.update("health monitor", lb, monitor, delay=7)
        steps.update("health monitor", lb, monitor, is_admin_state_up=False)
        steps.update("health monitor", lb, monitor, is_admin_state_up=True)
        steps.delete("health monitor", lb, monitor)
    steps.update("pool", lb, pool, name="renamed", lb_algorithm="SOURCE_IP")
    steps.update("pool", lb, pool, is_admin_state_up=False)
    assert steps.status(lb)[pool] == "OFFLINE"
    steps.update("pool", lb, pool, is_admin_state_up=True)
    steps.update("listener", lb, listener, is_admin_state_up=False)
    assert steps.status(lb)[listener] == "OFFLINE"
    steps.update("listener", lb, listener, is_admin_state_up=True, connection_limit=100)
    steps.update_balancer(lb, is_admin_state_up=False)
    assert steps.status(lb)[lb] == "OFFLINE"
    steps.update_balancer(lb, is_admin_state_up=True)
    assert steps.status(lb)[lb] == "ONLINE"
    if family == 4:
        fip = steps.floating_ip(steps.octavia.get_load_balancer(lb).vip_port_id)
        steps.drop_floating_ip(fip)
    steps.delete("member", lb, first, pool)
    steps.delete("pool", lb, pool)
    steps.delete("listener", lb, listener)
    steps.delete_balancer(lb)


def test_session_persistence(steps: Steps) -> None:
    """Persistence with a timeout, another timeout, none. Octavia allows a timeout for UDP and SCTP only."""
    lb = steps.balancer()
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="UDP", protocol_port=80)
    pool = steps.create(
        "pool",
        lb,
        listener_id=listener,
        protocol="UDP",
        lb_algorithm="SOURCE_IP_PORT",
        session_persistence={"type": "SOURCE_IP", "persistence_timeout": 100},
    )
    assert _affinity(steps, lb) == "100"
    if steps.ours:
        steps.update(
            "pool", lb, pool, session_persistence={"type": "SOURCE_IP", "persistence_timeout": 60}
        )
        assert _affinity(steps, lb) == "60"
        steps.update("pool", lb, pool, session_persistence=None)
        assert _affinity(steps, lb) is None


def _affinity(steps: Steps, lb: str) -> str | None:
    (row,) = steps.cloud.stack.ovn.rows("nb", "Load_Balancer", name=lb)
    found: str | None = row["options"].get("affinity_timeout")
    return found


def _tree(
    subnet: str, protocol: str, port: int, addresses: list[str], monitor: str | None
) -> dict[str, Any]:
    pool: dict[str, Any] = {
        "name": f"{protocol}-{port}",
        "protocol": protocol,
        "lb_algorithm": "SOURCE_IP_PORT",
        "members": [{"address": a, "protocol_port": 8080, "subnet_id": subnet} for a in addresses],
    }
    if monitor:
        pool["healthmonitor"] = _monitor(monitor)
    return {"protocol": protocol, "protocol_port": port, "default_pool": pool}


def test_one_request_with_all_children_then_cascade(steps: Steps) -> None:
    """TCP, UDP and SCTP in one request: three rows; deleted in one request."""
    subnet = steps.networks.private_v4
    lb = steps.balancer(
        name="whole",
        listeners=[
            _tree(subnet, "TCP", 80, ["10.20.0.111", "10.20.0.112"], "TCP"),
            _tree(subnet, "UDP", 53, ["10.20.0.111"], "UDP-CONNECT"),
            _tree(subnet, "SCTP", 99, ["10.20.0.113"], None),
        ],
    )
    protocols = {row["protocol"] for row in steps.cloud.stack.ovn.rows("nb", "Load_Balancer", name=lb)}
    assert protocols == {"tcp", "udp", "sctp"}
    steps.delete_balancer(lb, cascade=True)


def test_cascade_delete_after_growth(steps: Steps) -> None:
    """A load balancer built step by step, monitored, with a floating IP, goes in one request."""
    lb = steps.balancer()
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    pool = steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    steps.create(
        "member", lb, pool, address="10.20.0.121", protocol_port=80, subnet_id=steps.networks.private_v4
    )
    steps.create("health monitor", lb, pool_id=pool, **_monitor("TCP"))
    steps.floating_ip(steps.octavia.get_load_balancer(lb).vip_port_id)
    steps.delete_balancer(lb, cascade=True)


def test_dual_stack(steps: Steps) -> None:
    """A VIP of each family: members of each family reach their own VIP only."""
    net = steps.networks
    lb = steps.balancer(vip_subnet_id=net.private_v4, additional_vips=[{"subnet_id": net.private_v6}])
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    pool = steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    steps.create("member", lb, pool, address="10.20.0.131", protocol_port=80, subnet_id=net.private_v4)
    steps.create("member", lb, pool, address="fd20::1:31", protocol_port=80, subnet_id=net.private_v6)
    fip = steps.floating_ip(steps.octavia.get_load_balancer(lb).vip_port_id)
    steps.drop_floating_ip(fip)
    steps.delete_balancer(lb, cascade=True)


def test_pool_shared_by_two_listeners_and_moved(steps: Steps) -> None:
    """A pool made alone, put under two listeners, taken from one again."""
    lb = steps.balancer()
    pool = steps.create("pool", lb, loadbalancer_id=lb, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    steps.create(
        "member", lb, pool, address="10.20.0.141", protocol_port=80, subnet_id=steps.networks.private_v4
    )
    ports = {
        port: steps.create(
            "listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=port, default_pool_id=pool
        )
        for port in (80, 81)
    }
    steps.update("listener", lb, ports[81], default_pool_id=None)
    steps.update("listener", lb, ports[81], default_pool_id=pool)
    steps.delete("listener", lb, ports[80])
    steps.delete("pool", lb, pool)


def test_objects_created_disabled(steps: Steps) -> None:
    """Disabled from the start, then enabled from the member up."""
    lb = steps.balancer(admin_state_up=False)
    listener = steps.create(
        "listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80, admin_state_up=False
    )
    pool = steps.create(
        "pool",
        lb,
        listener_id=listener,
        protocol="TCP",
        lb_algorithm="SOURCE_IP_PORT",
        admin_state_up=False,
    )
    member = steps.create(
        "member",
        lb,
        pool,
        address="10.20.0.151",
        protocol_port=80,
        subnet_id=steps.networks.private_v4,
        admin_state_up=False,
    )
    assert set(steps.status(lb).values()) == {"OFFLINE"}
    steps.update("member", lb, member, pool, is_admin_state_up=True)
    steps.update("pool", lb, pool, is_admin_state_up=True)
    steps.update("listener", lb, listener, is_admin_state_up=True)
    steps.update_balancer(lb, is_admin_state_up=True)
    assert steps.status(lb)[lb] == "ONLINE"


def test_user_port_as_vip_survives(steps: Steps) -> None:
    """A VIP on a port that the user made: used as it is, never changed, never deleted."""
    network = steps.cloud.network
    port = network.create_port(
        name="mine",
        network_id=steps.networks.private,
        fixed_ips=[{"subnet_id": steps.networks.private_v4}],
    )
    steps.undo.append(lambda: network.delete_port(port.id))
    lb = steps.balancer(vip_port_id=port.id)
    assert steps.octavia.get_load_balancer(lb).vip_address == port.fixed_ips[0]["ip_address"]
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    pool = steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    steps.create(
        "member", lb, pool, address="10.20.0.161", protocol_port=80, subnet_id=steps.networks.private_v4
    )
    steps.floating_ip(port.id)
    steps.delete_balancer(lb, cascade=True)
    after = network.get_port(port.id)
    assert (after.name, after.device_owner, after.device_id) == (
        "mine",
        port.device_owner,
        port.device_id,
    )


def test_refusals_change_nothing(steps: Steps) -> None:
    """Refused requests get a 501 and leave no load balancer."""
    refused = [
        lambda: steps.octavia.create_load_balancer(
            vip_subnet_id=steps.networks.private_v4,
            provider="ovn",
            listeners=[{"protocol": "HTTP", "protocol_port": 80}],
        ),
        lambda: steps.octavia.create_load_balancer(
            vip_subnet_id=steps.networks.private_v4,
            provider="ovn",
            pools=[{"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}],
        ),
    ]
    for call in refused:
        with pytest.raises(exceptions.HttpException) as caught:
            call()
        assert caught.value.status_code == 501
    lb = steps.balancer()
    for call in (
        lambda: steps.octavia.create_listener(load_balancer_id=lb, protocol="HTTP", protocol_port=80),
        lambda: steps.octavia.create_pool(loadbalancer_id=lb, protocol="TCP", lb_algorithm="ROUND_ROBIN"),
        lambda: steps.octavia.failover_load_balancer(lb),
    ):
        with pytest.raises(exceptions.HttpException) as caught:
            call()
        assert caught.value.status_code == 501
        steps.check(lb)
    # Octavia rolled the first requests back after their VIP ports had been made: those are orphans now
    for port, name in steps.cloud.provider_ports().items():
        if not name.endswith(lb):
            steps.cloud.network.delete_port(port)


def test_weight_zero_drains(steps: Steps) -> None:
    """Weight 0 takes a member out of NB (ovnlb) and back."""
    lb = steps.balancer()
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    pool = steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    members = [
        steps.create(
            "member",
            lb,
            pool,
            address=f"10.20.0.{n}",
            protocol_port=80,
            subnet_id=steps.networks.private_v4,
        )
        for n in (171, 172)
    ]
    steps.update("member", lb, members[0], pool, weight=0)
    if steps.ours:
        steps.eventually(lambda: steps.status(lb)[members[0]] == "DRAINING", 20)
    steps.update("member", lb, members[0], pool, weight=1)
    steps.eventually(lambda: steps.status(lb)[members[0]] == "NO_MONITOR", 20)


def test_many_at_once(steps: Steps) -> None:
    """Eight load balancers of one request each, all under way together, all ACTIVE, all gone together."""
    subnet = steps.networks.private_v4
    begin = time.monotonic()
    for number in range(8):
        created = steps.octavia.create_load_balancer(
            vip_subnet_id=subnet,
            provider="ovn",
            name=f"many{number}",
            listeners=[_tree(subnet, "TCP", 80, [f"10.20.0.{180 + number}"], None)],
        )
        steps.lbs.append(created.id)
    for lb in steps.lbs:
        steps.cloud.active(lb)
    print(f"8 load balancers ACTIVE after {time.monotonic() - begin:.1f} s")
    for lb in steps.lbs:
        steps.check(lb)
    for lb in steps.lbs:
        steps.octavia.delete_load_balancer(lb, cascade=True)
    for lb in steps.lbs:
        steps.cloud.gone(lb)
    steps.lbs.clear()
