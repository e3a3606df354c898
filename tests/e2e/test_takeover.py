"""From the original provider to ovnlb and back, on one stack, with load balancers that were made by the
original.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from stack.cloud import Cloud, Networks
from stack.expected import endpoint, expected_vips, found_vips

PROTOCOLS = ("TCP", "UDP", "SCTP")
COUNT = 30

# What the first plan may say, with the number in architecture.md section 10: (table, column, key) -> number
EXCEPTIONS: tuple[tuple[int, str, str, str], ...] = (
    (
        1,
        "Load_Balancer",
        "external_ids",
        r"ls_refs|lr_ref|neutron:member_status|neutron:additional_vip\w*",
    ),
    (2, "Load_Balancer", "external_ids", r"enabled"),
    (3, "Load_Balancer", "external_ids", r"listener_.*|pool_None"),
    (4, "Load_Balancer", "health_check|ip_port_mappings", r".*"),
    (4, "Load_Balancer", "external_ids", r"octavia:healthmonitors"),
    (4, "Load_Balancer_Health_Check", r".*", r".*"),
    (5, "Load_Balancer", "selection_fields|options", r".*"),
    (13, "Load_Balancer", "vips", r".*"),  # see _only_disabled_members_leave
    (16, "Load_Balancer", "selection_fields", r".*"),
    (6, "Logical_Switch|Logical_Router", "load_balancer", r".*"),
)


@pytest.fixture
def original(cloud: Cloud, networks: Networks) -> Iterator[Cloud]:
    """The stack with the original provider; ovnlb again afterwards."""
    cloud.stack.octavia.switch("original")
    yield cloud
    if cloud.stack.octavia.provider != "ovnlb":
        cloud.stack.octavia.switch("ovnlb")
    left = [lb.id for lb in cloud.octavia.load_balancers()]
    for lb_id in left:
        cloud.octavia.delete_load_balancer(lb_id, cascade=True)
    for lb_id in left:
        cloud.gone(lb_id)


def _options(number: int, net: Networks) -> dict[str, Any]:
    """The n-th of 30 varied load balancers, as one request."""
    protocol = PROTOCOLS[number % 3]
    family6 = number % 5 == 4
    subnet = net.private_v6 if family6 else net.private_v4
    form = "fd20::1:{}" if family6 else "10.20.0.{}"
    pool: dict[str, Any] = {
        "name": "p",
        "protocol": protocol,
        "lb_algorithm": "SOURCE_IP" if number % 7 == 3 else "SOURCE_IP_PORT",
        "members": [
            {
                "address": form.format(last),
                "protocol_port": 8000 + number,
                "subnet_id": subnet,
                "admin_state_up": not (number % 6 == 5 and last == 102),
            }
            for last in (101, 102, 103)[: 1 + number % 3]
        ],
    }
    if number % 4 == 1 and protocol != "SCTP":
        kind = {"TCP": "TCP", "UDP": "UDP-CONNECT"}[protocol]
        pool["healthmonitor"] = {"type": kind, "delay": 30, "timeout": 10, "max_retries": 3}
    listeners: list[dict[str, Any]] = [
        {
            "protocol": protocol,
            "protocol_port": 80,
            "default_pool": pool,
            "admin_state_up": number % 11 != 9,
        }
    ]
    if number % 8 == 2:
        listeners.append({"protocol": PROTOCOLS[(number + 1) % 3], "protocol_port": 81})
    options: dict[str, Any] = {
        "name": f"take{number}",
        "provider": "ovn",
        "vip_subnet_id": subnet,
        "listeners": listeners,
    }
    if number % 10 == 0:
        options["additional_vips"] = [{"subnet_id": net.private_v4 if family6 else net.private_v6}]
    if number % 13 == 12:
        options["admin_state_up"] = False
    return options


def _build(cloud: Cloud, net: Networks) -> list[str]:
    """Thirty load balancers of the original's, every sixth with a floating IP on its IPv4 VIP."""
    built: list[str] = []
    for number in range(COUNT):
        created = cloud.octavia.create_load_balancer(**_options(number, net))
        cloud.active(created.id)
        built.append(created.id)
        if number % 6 == 0 and "." in created.vip_address:
            cloud.network.create_ip(floating_network_id=net.public, port_id=created.vip_port_id)
    return built


def _wait_until_quiet(cloud: Cloud, seconds: float = 5) -> None:
    """Until NB's load balancers have not changed for a while: the original says ACTIVE before it is done."""
    nb, since = cloud.stack.ovn, time.monotonic()
    rows = nb.rows("nb", "Load_Balancer")
    while time.monotonic() - since < seconds:
        time.sleep(0.5)
        if (now := nb.rows("nb", "Load_Balancer")) != rows:
            rows, since = now, time.monotonic()


def exception_of(change: Mapping[str, Any]) -> int | None:
    """The numbered exception that explains a planned change."""
    for number, table, column, key in EXCEPTIONS:
        fits = zip(
            (table, column, key),
            (change["table"], change["column"] or "", change["key"] or ""),
            strict=True,
        )
        if all(re.fullmatch(pattern, text) for pattern, text in fits):
            return number
    return None


def test_take_over_and_back(original: Cloud, networks: Networks) -> None:
    """The first plan has only numbered exceptions, traffic's rows stay, every status stays, and the
    original resumes.
    """
    cloud, octavia = original, original.stack.octavia
    lbs = _build(cloud, networks)
    _wait_until_quiet(cloud)
    vips = {lb: found_vips(cloud, lb) for lb in lbs}
    disabled = _disabled_endpoints(cloud)
    octavia.stop()

    planned = octavia.ovnlb("plan", "--format", "json")
    assert planned.returncode in (0, 2), planned.stderr
    report = json.loads(planned.stdout)
    changes = [change for each in report["load_balancers"] for change in each["changes"]]
    counted = Counter(exception_of(change) for change in changes)
    print(f"first plan: {len(changes)} changes by exception {dict(counted)}")
    assert [json.dumps(change) for change in changes if exception_of(change) is None] == []
    moved = _only_disabled_members_leave(disabled, changes)

    octavia.begin("ovnlb")
    octavia.wait()
    done = octavia.ovnlb("wait", "--timeout", "60", *(word for lb in lbs for word in ("--lb", lb)))
    assert done.returncode == 0, done.stdout + done.stderr
    after = octavia.ovnlb("plan")
    for _ in range(20):
        if after.returncode == 0:
            break
        after = octavia.ovnlb("plan")
    assert after.returncode == 0, after.stdout
    assert {lb: found_vips(cloud, lb) for lb in lbs} == {lb: expected_vips(cloud, lb) for lb in lbs}
    assert sum(found_vips(cloud, lb) != vips[lb] for lb in lbs) == moved
    assert {cloud.octavia.get_load_balancer(lb).provisioning_status for lb in lbs} == {"ACTIVE"}

    _original_works_with_our_rows(cloud, networks, lbs)


def _disabled_endpoints(cloud: Cloud) -> set[str]:
    """``address:port`` of every disabled member."""
    return {
        endpoint(member.address, member.protocol_port)
        for pool in cloud.octavia.pools()
        for member in cloud.octavia.members(pool.id)
        if not member.is_admin_state_up
    }


def _only_disabled_members_leave(disabled: set[str], changes: list[dict[str, Any]]) -> int:
    """How many ``vips`` change: the original serves a member that was disabled in the request that made its
    load balancer; nothing else of ``vips`` may differ.
    """
    of_vips = [change for change in changes if change["column"] == "vips"]
    for change in of_vips:
        before, after = (set((change[when] or "").split(",")) for when in ("before", "after"))
        assert after <= before
        assert before - after <= disabled
    return len(of_vips)


def _original_works_with_our_rows(cloud: Cloud, net: Networks, lbs: list[str]) -> None:
    """Made by ovnlb, changed and deleted by the original."""
    ours = cloud.octavia.create_load_balancer(**{**_options(1, net), "name": "ours"})
    cloud.active(ours.id)
    cloud.stack.octavia.switch("original")
    for lb in (ours.id, lbs[0], lbs[2]):
        tree = cloud.octavia.get_load_balancer(lb)
        listener = cloud.octavia.get_listener(tree.listeners[0]["id"])
        subnet = net.private_v6 if ":" in tree.vip_address else net.private_v4
        member = cloud.octavia.create_member(
            listener.default_pool_id,
            address="fd20::1:104" if ":" in tree.vip_address else "10.20.0.104",
            protocol_port=8080,
            subnet_id=subnet,
        )
        cloud.active(lb)
        assert ("104" in str(found_vips(cloud, lb))) or not tree.is_admin_state_up
        cloud.octavia.delete_member(member.id, listener.default_pool_id)
        cloud.active(lb)
    cloud.delete(ours.id, cascade=True)
    cloud.delete(lbs[3], cascade=True)
