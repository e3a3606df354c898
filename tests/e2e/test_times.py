"""The time of each operation until the load balancer is ACTIVE again: the same plain walk on either provider.

The times that count are those of one quiet machine; ``OVNLB_E2E_TIMES`` names the file that keeps them.
"""

from __future__ import annotations

import os

from e2e.steps import Steps

ROUNDS = int(os.environ.get("OVNLB_E2E_ROUNDS", "1"))


def test_walk_with_times(steps: Steps) -> None:
    """Each operation ``OVNLB_E2E_ROUNDS`` times, on members whose ports exist."""
    for _ in range(ROUNDS):
        _walk(steps)
    assert {timing.operation for timing in steps.cloud.timings} >= {
        "load balancer create",
        "health monitor delete",
    }


def _walk(steps: Steps) -> None:
    subnet = steps.networks.private_v4
    lb = steps.balancer()
    steps.update_balancer(lb, name="renamed")
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    pool = steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    members = [
        steps.create("member", lb, pool, address=f"10.20.0.{last}", protocol_port=8080, subnet_id=subnet)
        for last in (101, 102)
    ]
    steps.update("member", lb, members[0], pool, weight=5)
    steps.update("listener", lb, listener, connection_limit=100)
    steps.update("pool", lb, pool, name="renamed")
    fip = steps.floating_ip(steps.octavia.get_load_balancer(lb).vip_port_id)
    monitor = steps.create(
        "health monitor",
        lb,
        pool_id=pool,
        type="TCP",
        delay=5,
        timeout=3,
        max_retries=2,
        max_retries_down=2,
    )
    steps.update("health monitor", lb, monitor, delay=7)
    steps.delete("health monitor", lb, monitor)
    steps.drop_floating_ip(fip)
    steps.delete("member", lb, members[1], pool)
    steps.delete("pool", lb, pool)
    steps.delete("listener", lb, listener)
    steps.delete_balancer(lb)
    whole = steps.balancer(
        name="whole",
        listeners=[
            {
                "protocol": "TCP",
                "protocol_port": 80,
                "default_pool": {
                    "name": "p",
                    "protocol": "TCP",
                    "lb_algorithm": "SOURCE_IP_PORT",
                    "members": [
                        {"address": f"10.20.0.{last}", "protocol_port": 8080, "subnet_id": subnet}
                        for last in (101, 102)
                    ],
                    "healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},
                },
            }
        ],
    )
    steps.delete_balancer(whole, cascade=True)
