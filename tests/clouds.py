"""Clouds of many load balancers on one network, as rows for every server of a test."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

NETWORK = "4e700000-0000-4000-8000-0000000000aa"
SUBNET = "5b4e7000-0000-4000-8000-0000000000aa"
ROUTER = "40073000-0000-4000-8000-0000000000aa"
SWITCH, ROUTER_ROW = f"neutron-{NETWORK}", f"neutron-{ROUTER}"
PROJECT = "b40ec700-0000-4000-8000-0000000000aa"
FIRST_VIP, FIRST_MEMBER = ip_address("10.64.0.10"), ip_address("10.72.0.10")


@dataclass(frozen=True)
class Cloud:
    """`octavia` has every object in `status`; `ids` are the load balancers."""

    octavia: dict[str, list[dict[str, Any]]]
    topology: dict[str, list[dict[str, Any]]]
    neutron: dict[str, list[dict[str, Any]]]
    ids: tuple[str, ...]


def object_id(kind: str, number: int, part: int = 0) -> str:
    """The id of an object: the same in every run."""
    return f"{kind}-{part:04d}-4000-8000-{number:012d}"


def lb_id(number: int) -> str:
    """The id of a load balancer."""
    return object_id("1b000000", number)


def cloud(count: int, status: str = "ACTIVE", pools: int = 2, members: int = 5) -> Cloud:
    """`count` load balancers, each with `pools` TCP listeners and pools of `members` members."""
    names = ("load_balancer", "vip", "listener", "pool", "member")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    state = {"provisioning_status": status, "operating_status": "ONLINE", "project_id": PROJECT}
    for number in range(count):
        _balancer(tables, number, state, pools, members)
    return Cloud(tables, topology(count), neutron(count), tuple(lb_id(number) for number in range(count)))


def _balancer(tables: Any, number: int, state: dict[str, Any], pools: int, members: int) -> None:
    own = {"load_balancer_id": lb_id(number)}
    tables["load_balancer"].append({"id": lb_id(number), "name": f"lb{number}", "provider": "ovn", **state})
    place = {"subnet_id": SUBNET, "network_id": NETWORK}
    vip = {"ip_address": str(FIRST_VIP + number), "port_id": object_id("a0700000", number)}
    tables["vip"].append({**own, **vip, **place})
    for part in range(pools):
        pool = object_id("b0010000", number, part)
        tables["pool"].append({"id": pool, "protocol": "TCP", **own, **state})
        listener = {"id": object_id("11500000", number, part), "protocol": "TCP", "protocol_port": 80 + part}
        tables["listener"].append({**listener, "default_pool_id": pool, **own, **state})
        for member in range(members):
            tables["member"].append(
                {
                    "id": object_id("3e3be000", number, part * 100 + member),
                    "pool_id": pool,
                    "ip_address": str(FIRST_MEMBER + (number * members + member) % 5000),
                    "protocol_port": 8080,
                    "subnet_id": SUBNET,
                    "weight": 1,
                    **state,
                    "operating_status": "NO_MONITOR",
                }
            )


def topology(count: int) -> dict[str, list[dict[str, Any]]]:
    """One switch with the VIP ports, one router on it."""
    ports = [
        {
            "_uuid": f"lsp:{number}",
            "name": object_id("a0700000", number),
            "type": "",
            "addresses": [],
            "external_ids": {
                "neutron:cidrs": f"{FIRST_VIP + number}/8",
                "neutron:network_name": SWITCH,
                "neutron:device_owner": "ovn-lb:vip",
                "neutron:device_id": f"lb-{lb_id(number)}",
                "neutron:port_name": f"ovn-lb-vip-{lb_id(number)}",
            },
        }
        for number in range(count)
    ]
    interface = {
        "_uuid": "lrp:1",
        "name": "lrp-1",
        "mac": "fa:16:3e:00:00:01",
        "networks": ["10.0.0.1/8"],
        "external_ids": {"neutron:network_name": SWITCH, "neutron:subnet_ids": SUBNET},
    }
    return {
        "Logical_Switch": [
            {
                "_uuid": "ls:1",
                "name": SWITCH,
                "external_ids": {"neutron:network_name": "net"},
                "ports": [port["_uuid"] for port in ports],
            }
        ],
        "Logical_Switch_Port": ports,
        "Logical_Router": [{"_uuid": "lr:1", "name": ROUTER_ROW, "ports": ["lrp:1"]}],
        "Logical_Router_Port": [interface],
    }


def neutron(count: int) -> dict[str, list[dict[str, Any]]]:
    """The network, its subnet and the VIP ports; what else Neutron has makes no difference."""
    ports = [
        {
            "id": object_id("a0700000", number),
            "name": f"ovn-lb-vip-{lb_id(number)}",
            "network_id": NETWORK,
            "project_id": PROJECT,
            "device_owner": "ovn-lb:vip",
            "device_id": f"lb-{lb_id(number)}",
            "mac_address": "fa:16:3e:00:00:09",
            "admin_state_up": True,
            "fixed_ips": [{"subnet_id": SUBNET, "ip_address": str(FIRST_VIP + number)}],
        }
        for number in range(count)
    ]
    subnet = {"id": SUBNET, "network_id": NETWORK, "cidr": "10.0.0.0/8", "ip_version": 4, "name": "subnet"}
    return {
        "networks": [{"id": NETWORK, "name": "net", "project_id": PROJECT}],
        "ports": ports,
        "subnets": [{**subnet, "project_id": PROJECT, "gateway_ip": "10.0.0.1"}],
    }
