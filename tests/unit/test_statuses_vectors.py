"""The roll-up of operating statuses against the original's own, as recorded vectors.

Exceptions by number of architecture.md section 10: tests/cases/operating_status_exceptions.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphs import balancer, listener, member, pool
from ovnlb.desired import extids
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.statuses import operating_statuses

TESTS = Path(__file__).parents[1]
VECTORS: list[dict[str, Any]] = json.loads((TESTS / "data" / "vectors_operating_status.json").read_text())[
    "vectors"
]
EXCEPTIONS: list[dict[str, Any]] = json.loads(
    (TESTS / "cases" / "operating_status_exceptions.json").read_text()
)
KINDS = ("loadbalancers", "listeners", "pools", "members")


def graph(vector: dict[str, Any]) -> LoadBalancer:
    """The row and the answers of Octavia as a graph: an object is up when both say so."""
    row, octavia = vector["input"]["row_external_ids"], vector["input"]["octavia"]
    listeners, pools = [], []
    for key, value in row.items():
        kind, up = key.partition("_")[0], not key.endswith(":D")
        known = octavia.get(f"{kind}s", {}).get(extids.object_id(key))
        if known is None:
            continue
        values = {"id": extids.object_id(key), "enabled": up and known["admin_state_up"]}
        if kind == "listener":
            port, pool_key = extids.parse_listener_value(value) or ("0", "")
            listeners.append(listener(port=int(port), default_pool_id=extids.object_id(pool_key), **values))
        elif kind == "pool":
            entries = extids.parse_members(value)
            members = [member(0, entry.address, id=entry.id, pool_id=values["id"]) for entry in entries]
            pools.append(pool(members, **values))
    up = octavia["loadbalancer"]["admin_state_up"]
    return balancer(listeners, pools, id=vector["input"]["row_name"], enabled=up)


def differences(vector: dict[str, Any]) -> list[dict[str, Any]]:
    """Objects of the graph whose status is another than the recorded one."""
    row, recorded = vector["input"]["row_external_ids"], vector["expected_after_suffix_strip"]
    ours = operating_statuses(graph(vector), extids.read_member_status(row))
    theirs = {one["id"]: one["operating_status"] for kind in KINDS for one in recorded[kind]}
    return [
        {"vector": vector["name"], "id": key, "recorded": theirs[key], "ours": ours[key]}
        for key in sorted(theirs.keys() & ours.keys())
        if theirs[key] != ours[key]
    ]


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if not v.get("raises")], ids=lambda vector: vector["name"]
)
def test_recorded_statuses(vector: dict[str, Any]) -> None:
    """Each difference is a listed exception."""
    listed = [item for item in EXCEPTIONS if item["vector"] == vector["name"]]
    without_number = [{k: v for k, v in item.items() if k not in ("number", "why")} for item in listed]
    assert differences(vector) == without_number


@pytest.mark.parametrize("vector", [v for v in VECTORS if v.get("raises")], ids=lambda vector: vector["name"])
def test_what_the_original_cannot_read_stops_nothing(vector: dict[str, Any]) -> None:
    """An unreadable neutron:member_status says nothing; the rest has its statuses."""
    statuses = operating_statuses(
        graph(vector), extids.read_member_status(vector["input"]["row_external_ids"])
    )
    assert set(statuses.values()) == {"ONLINE"}
    assert len(statuses) == 3


def test_exceptions_are_numbered() -> None:
    """All 59 vectors are used, and each exception has its number."""
    assert len(VECTORS) == 59
    assert all(item["number"] in range(1, 17) and item["why"] for item in EXCEPTIONS)
