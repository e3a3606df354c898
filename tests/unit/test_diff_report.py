"""The JSON document of a pass, its fingerprints, and the renderings made from it.

The expected texts are files in tests/cases/report. After a deliberate change write them anew with
`python tests/unit/test_diff_report.py`, and read the difference.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diff_rows import HM, L2, LB, RIGHT, ROW, VIP, compared, edited
from ovnlb.desired.rows import NbState
from ovnlb.diff import columns, render, report
from ovnlb.diff.conflicts import Conflict
from ovnlb.diff.fingerprint import fills_placeholder, fingerprint, moved
from ovnlb.diff.markdown import markdown
from ovnlb.diff.plan import Effect, Phase, Plan, PlanWarning, Reason
from ovnlb.diff.policy import Policy

CASES = Path(__file__).parents[1] / "cases" / "report"
DAMAGED = edited(
    RIGHT,
    {"enabled": None, f"listener_{L2}": "81:", "lr_ref": "x|`y`\x1b[31m"},
    vips={"fd00::1:80": ""},
    switches=frozenset({"neutron-old"}),
)


def plans() -> list[Plan]:
    """A cloud with one of everything."""
    effect = Effect("create_hm_port", "sub", Phase.BEFORE, Reason.MONITOR_CHANGED, {"network_id": "net"})
    return [
        replace(
            compared(edited(RIGHT, {f"listener_{L2}": None}), DAMAGED, {L2: "PENDING_DELETE"}),
            effects=(effect,),
            warnings=(PlanWarning("pools_disagree", "pools a and b disagree"),),
        ),
        replace(
            compared((RIGHT,), (), {LB: "PENDING_CREATE"}), lb_id="2", waiting=("Logical_Switch neutron-net",)
        ),
        replace(compared((), (RIGHT,), policy=Policy.OBSERVE_ONLY), lb_id="3"),
        replace(compared(RIGHT, RIGHT), lb_id="4"),
    ]


def everything() -> dict[str, Any]:
    """The document of that cloud."""
    return report.document(
        reversed(plans()),
        errors={"6": "the graph has no VIP", "5": "row _x_ cannot be read"},
        conflicts=(Conflict("10.0.0.1:80", "tcp", ("1", "2"), ("switch s",)),),
        orphans=({"id": "7", "rows": 1},),
        foreign_rows=2,
    )


def quiet() -> dict[str, Any]:
    """The document of a cloud that is right."""
    return report.document([compared(RIGHT, RIGHT)])


RENDERINGS = {
    "everything.json": lambda: report.dumps(everything()),
    "everything.txt": lambda: render.text(everything()),
    "everything-verbose.txt": lambda: render.text(everything(), verbose=True),
    "everything-colour.txt": lambda: render.text(everything(), colour=True),
    "everything.md": lambda: markdown(everything()),
    "quiet.json": lambda: report.dumps(quiet()),
    "quiet.txt": lambda: render.text(quiet()),
    "quiet-verbose.txt": lambda: render.text(quiet(), verbose=True),
    "quiet.md": lambda: markdown(quiet()),
}


@pytest.mark.parametrize("name", RENDERINGS)
def test_rendering(name: str) -> None:
    """Byte for byte what was reviewed."""
    assert RENDERINGS[name]() == (CASES / name).read_text()


@pytest.mark.parametrize("make", [render.text, markdown])
def test_renderings_need_only_the_json(make: Any) -> None:
    """A document that went through a file gives the same text."""
    assert make(json.loads(report.dumps(everything()))) == make(everything())


def test_document_names_every_change() -> None:
    """The keys that other programs read."""
    document = everything()
    assert document["format_version"] == "1.0"
    assert [part["id"] for part in document["load_balancers"]] == [LB, "2", "3", "4"]
    changes = [change for part in document["load_balancers"] for change in part["changes"]]
    wanted = {"op", "table", "row", "column", "key", "before", "after", "reason"}
    assert all(wanted <= change.keys() for change in changes)
    assert len(changes) == document["summary"]["changes"] == sum(document["summary"]["by_reason"].values())
    assert document["summary"]["drift"] == sum(change["drift"] for change in changes) > 0


def test_desired_rows_have_the_form_of_a_bundle() -> None:
    """Maps as objects, sets as sorted lists, checks by their vip, attachments beside the columns."""
    (row,) = report.state(NbState((RIGHT,)))["Load_Balancer"]
    assert row == {
        "name": LB,
        "protocol": "tcp",
        "external_ids": dict(RIGHT.external_ids),
        "vips": dict(RIGHT.vips),
        "selection_fields": ["ip_dst", "ip_src"],
        "options": {},
        "ip_port_mappings": dict(RIGHT.ip_port_mappings),
        "health_check": [VIP],
        "attached_switches": ["neutron-net"],
        "attached_routers": ["neutron-router"],
    }
    assert report.state(NbState((replace(RIGHT, protocol=None),)))["Load_Balancer"][0]["protocol"] is None
    state = report.state(NbState((RIGHT,)))
    assert [
        check["external_ids"]["octavia:healthmonitor"] for check in state["Load_Balancer_Health_Check"]
    ] == [HM]
    assert (state["attached_switches"], state["attached_routers"]) == (["neutron-net"], ["neutron-router"])


def test_long_values_are_cut_unless_verbose() -> None:
    """A pool of hundreds of members stays one readable line."""
    assert len(render.value("x" * 1000, verbose=False)) == 160
    assert render.value("x" * 1000) == "x" * 1000
    assert render.value("") == '""'
    assert render.value("a\x1bb\n") == "a\\x1bb\\n"


def test_fingerprint_follows_all_that_is_written() -> None:
    """Rows, changes and effects move it; order and warnings do not."""
    one = compared(RIGHT, DAMAGED)
    effect = Effect("refresh_fip", "f", Phase.BEFORE, Reason.DRIFTED)
    turned = replace(DAMAGED, external_ids=dict(reversed(DAMAGED.external_ids.items())))
    assert fingerprint(one) == fingerprint(compared(RIGHT, turned))
    assert fingerprint(one) == fingerprint(replace(one, warnings=(PlanWarning("a", "b"),)))
    others = {
        fingerprint(one),
        fingerprint(replace(one, lb_id="x")),
        fingerprint(replace(one, effects=(effect,))),
        fingerprint(compared(RIGHT, edited(DAMAGED, {"foreign": "1"}))),
        fingerprint(compared(edited(RIGHT, {"lr_ref": "other"}), DAMAGED)),
        fingerprint(compared(RIGHT, replace(DAMAGED, uuid=f"{ROW[:-1]}7"))),
    }
    assert len(others) == 6


def test_moved_names_the_load_balancers() -> None:
    """Changed, new and gone ones."""
    now = plans()
    saved = {plan.lb_id: fingerprint(plan) for plan in now}
    assert moved(saved, now) == ()
    assert moved({**saved, "3": "0", "9": "0"}, now[1:]) == (LB, "3", "9")
    document = report.document(now, with_fingerprints=True, with_desired=False)
    assert {part["id"]: part["fingerprint"] for part in document["load_balancers"]} == saved
    assert all("desired" not in part for part in document["load_balancers"])


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("p:(address of the new HM port on s)", "p:10.0.0.2", True),
        ("p:(address of the new HM port on s)", "p:[fd00::2]", True),
        ("p:(address of the new HM port on s)", "q:10.0.0.2", False),
        ("p:(address of the new HM port on s)", "p:", False),
        ("p:10.0.0.2", "p:10.0.0.2", False),
    ],
)
def test_placeholder(before: str, after: str, same: bool) -> None:
    """The one difference that a saved plan allows."""
    assert fills_placeholder(before, after) is same


def test_columns_of_a_check_are_its_own() -> None:
    """No uuid: it is told by the change."""
    assert columns.check(RIGHT.health_checks[0]).keys() == {"vip", "options", "external_ids"}


if __name__ == "__main__":
    CASES.mkdir(parents=True, exist_ok=True)
    for name, make in RENDERINGS.items():
        (CASES / name).write_text(make())
