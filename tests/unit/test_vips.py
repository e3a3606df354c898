"""`frame_vips` against the recorded vectors of the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from framed_vips import frame_vips
from ovnlb.desired.extids import read_member_status

DATA = Path(__file__).parents[1] / "data"
VECTORS: list[dict[str, Any]] = json.loads((DATA / "vectors_frame_vips.json").read_text())["vectors"]

# Where the original raises ours leaves the unreadable entry out and frames the rest.
WHERE_IT_RAISES = {
    "malformed: member status empty string": {"10.0.0.10:80": "10.0.0.21:80,10.0.0.22:8080"},
    "malformed: legacy 3-part member key (no subnet)": {"10.0.0.10:80": "10.0.0.21:80"},
    "malformed: member without port": {},
    "malformed: trailing comma in the pool value": {"10.0.0.10:80": "10.0.0.21:80,10.0.0.22:8080"},
    "malformed: vip is a name": {},
    "malformed: additional vips with a space": {
        "10.0.0.10:80": "10.0.0.21:80,10.0.0.22:8080",
        "10.0.0.11:80": "10.0.0.21:80,10.0.0.22:8080",
    },
}


def backend_sets(vips: dict[str, str]) -> dict[str, set[str]]:
    return {key: set(value.split(",")) for key, value in vips.items()}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_recorded_vector(vector: dict[str, Any]) -> None:
    """Every vector of the original, those where it raises with our own value."""
    status = read_member_status(vector["input"]["row_external_ids"])
    excluded = {member for member, value in status.items() if value == "OFFLINE"}
    framed = frame_vips(vector["input"]["lb_external_ids"], excluded)
    expected = WHERE_IT_RAISES[vector["name"]] if "raises" in vector else vector["expected"]
    assert backend_sets(framed) == backend_sets(expected)


def test_every_raise_has_a_value_of_ours() -> None:
    """The list of values above names exactly the vectors where the original raises."""
    assert {v["name"] for v in VECTORS if "raises" in v} == set(WHERE_IT_RAISES)
