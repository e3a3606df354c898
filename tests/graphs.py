"""Octavia graphs written in a few words, for tests that are about something else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ovnlb.desired.model import HealthMonitor, Listener, LoadBalancer, Member, Pool, Vip

LB, LISTENER, POOL, MONITOR = "lb-1", "listener-1", "pool-1", "hm-1"
NETWORK, SUBNET, VIP_PORT = "net-1", "sub-1", "vip-port"


def member(number: int, address: str | None = None, **more: Any) -> Member:
    """Member `m<number>` of pool-1 at 10.0.0.<20 + number>:80 on sub-1, ACTIVE."""
    values: dict[str, Any] = {
        "id": f"m{number}",
        "pool_id": POOL,
        "address": address or f"10.0.0.{20 + number}",
        "port": 80,
        "subnet_id": SUBNET,
        "weight": 1,
        "backup": False,
        "enabled": True,
        "provisioning_status": "ACTIVE",
        "operating_status": "NO_MONITOR",
    }
    return Member(**(values | more))


def monitor(**more: Any) -> HealthMonitor:
    """An enabled TCP monitor of pool-1."""
    values: dict[str, Any] = {
        "id": MONITOR,
        "pool_id": POOL,
        "type": "TCP",
        "delay": 5,
        "timeout": 3,
        "rise": 2,
        "fall": 3,
        "enabled": True,
        "provisioning_status": "ACTIVE",
        "operating_status": "ONLINE",
    }
    return HealthMonitor(**(values | more))


def pool(members: Iterable[Member] = (), hm: HealthMonitor | None = None, **more: Any) -> Pool:
    """Pool pool-1, TCP, ACTIVE and ONLINE."""
    values: dict[str, Any] = {
        "id": POOL,
        "protocol": "TCP",
        "algorithm": "SOURCE_IP_PORT",
        "enabled": True,
        "provisioning_status": "ACTIVE",
        "operating_status": "ONLINE",
        "created_at": None,
        "persistence": None,
        "members": tuple(members),
        "health_monitor": hm,
    }
    return Pool(**(values | more))


def listener(**more: Any) -> Listener:
    """Listener listener-1 on TCP 80 with pool-1, ACTIVE and ONLINE."""
    values: dict[str, Any] = {
        "id": LISTENER,
        "protocol": "TCP",
        "port": 80,
        "default_pool_id": POOL,
        "enabled": True,
        "provisioning_status": "ACTIVE",
        "operating_status": "ONLINE",
        "created_at": None,
    }
    return Listener(**(values | more))


def balancer(
    listeners: Iterable[Listener] | None = None, pools: Iterable[Pool] | None = None, **more: Any
) -> LoadBalancer:
    """Load balancer lb-1 with VIP 10.0.0.10; one listener and an empty pool when none are given."""
    values: dict[str, Any] = {
        "id": LB,
        "project_id": "project-1",
        "name": "lb",
        "provider": "ovn",
        "enabled": True,
        "provisioning_status": "ACTIVE",
        "operating_status": "ONLINE",
        "created_at": None,
        "updated_at": None,
        "vip": Vip("10.0.0.10", VIP_PORT, SUBNET, NETWORK),
        "additional_vips": (),
        "listeners": tuple([listener()] if listeners is None else listeners),
        "pools": tuple([pool()] if pools is None else pools),
    }
    return LoadBalancer(**(values | more))
