"""The time of each operation until the load balancer is ACTIVE again: the same walk with both providers.

One run on one stack, so that the two can be compared. ``OVNLB_E2E_ROUNDS`` repeats the walk, and
``OVNLB_E2E_TIMES`` names the Markdown file that gets the table (``docs/operation-times.md``).
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from e2e.steps import Steps
from stack.cloud import Cloud, Networks, Timing

ROUNDS = int(os.environ.get("OVNLB_E2E_ROUNDS", "1"))


@pytest.fixture
def both(cloud: Cloud) -> Iterator[Cloud]:
    """The stack, with ovnlb again and nothing else at the end."""
    yield cloud
    if cloud.stack.octavia.provider != "ovnlb":
        cloud.stack.octavia.switch("ovnlb")
    for lb in list(cloud.octavia.load_balancers()):
        cloud.delete(lb.id, cascade=True)
    for fip in list(cloud.network.ips()):
        cloud.network.delete_ip(fip)


def test_times_of_both_providers(both: Cloud, networks: Networks) -> None:
    """Each provider does every operation; the table says how long."""
    times: dict[str, list[Timing]] = {"original": [], "ovnlb": []}
    for _ in range(ROUNDS):
        for provider, taken in times.items():
            both.stack.octavia.switch(provider)
            both.timings.clear()
            steps = Steps(both, networks, only_times=provider == "original")
            _walk(steps)
            steps.clean()
            taken += both.timings
    assert {each.operation for each in times["original"]} == {each.operation for each in times["ovnlb"]}
    text = table(times["original"], times["ovnlb"])
    print(text)
    if target := os.environ.get("OVNLB_E2E_TIMES"):
        ovn, load = both.stack.ovn.version, os.getloadavg()[1]
        Path(target).write_text(f"{INTRODUCTION.format(rounds=ROUNDS, ovn=ovn, load=load)}\n{text}")


INTRODUCTION = """# How long operations take

Seconds, median of {rounds} rounds with each provider by turns, in one run on one stack: one machine with two
cores that runs MariaDB, Keystone, Neutron, Octavia, {ovn} and the clients, at a load
average of {load:.0f}. *call* is the API request; *settled* is the time from the request until the load
balancer is ACTIVE again, or gone, and for a floating IP until the rows have followed (*never*: not within
60 s). Read them as ratios. The same operations with both providers, measured again and written here:

<!-- needs: root -->
```sh
OVNLB_E2E_ROUNDS=3 OVNLB_E2E_TIMES=docs/operation-times.md tox -e e2e -- tests/e2e/test_times.py
```
"""


HEAD = "| operation | original: call | settled | ovnlb: call | settled |"


def _median(timings: Sequence[Timing], operation: str, column: str) -> float:
    return statistics.median(getattr(each, column) for each in timings if each.operation == operation)


def table(original: Sequence[Timing], ovnlb: Sequence[Timing]) -> str:
    """The Markdown table, a line for each operation in the order of the walk."""
    lines = [HEAD, "|---|---|---|---|---|"]
    for operation in dict.fromkeys(each.operation for each in original):
        values = [
            _median(of, operation, column) for of in (original, ovnlb) for column in ("call", "settled")
        ]
        cells = ("never" if math.isinf(value) else f"{value:.2f}" for value in values)
        lines.append(f"| {operation} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


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
    steps.drop_floating_ip(fip)
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
