"""The graph of a load balancer as a report and a drawing have it."""

from __future__ import annotations

from typing import Any

from ovnlb.desired.statuses import operating_statuses
from ovnlb.reconciler.walk import Walked


def graph(walked: Walked) -> dict[str, Any]:
    """The graph as Octavia has it, with the operating status that we find beside the stored one."""
    lb, now = walked.lb, operating_statuses(walked.lb, walked.desired.members)
    return {
        "id": lb.id,
        "name": lb.name,
        "project_id": lb.project_id,
        **_status(lb, now),
        "vips": [
            {
                "address": vip.address,
                "port_id": vip.port_id,
                "subnet_id": vip.subnet_id,
                "fip": walked.topology.fips.get(vip.port_id or ""),
            }
            for vip in lb.vips
        ],
        "listeners": [
            {
                "id": listener.id,
                "name": listener.name,
                "listens": f"{listener.protocol}:{listener.port}",
                "pool": listener.default_pool_id,
                **_status(listener, now),
            }
            for listener in lb.listeners
        ],
        "pools": [_pool(pool, now) for pool in lb.pools],
    }


def _pool(pool: Any, now: dict[str, str]) -> dict[str, Any]:
    monitor = pool.health_monitor
    return {
        "id": pool.id,
        "name": pool.name,
        "protocol": pool.protocol,
        "algorithm": pool.algorithm,
        **_status(pool, now),
        "members": [
            {
                "id": member.id,
                "name": member.name,
                "backend": f"{member.address} {member.port}",
                "weight": member.weight,
                **_status(member, now),
            }
            for member in pool.members
        ],
        "health_monitor": None
        if monitor is None
        else {
            "id": monitor.id,
            "type": monitor.type,
            "delay": monitor.delay,
            "timeout": monitor.timeout,
            **_status(monitor, now),
        },
    }


def _status(item: Any, now: dict[str, str]) -> dict[str, Any]:
    return {
        "enabled": item.enabled,
        "provisioning_status": item.provisioning_status,
        "operating_status": item.operating_status,
        "operating_now": now.get(item.id),
    }
