"""What each change does to traffic: one case for each statement of `ovnlb.diff.disruption`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diff_rows import LB, RIGHT, VIP, check, compared, edited
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.diff.disruption import disruptions, effect_disruption
from ovnlb.diff.impact import ORDER, WORDS, Disruption, Impact
from ovnlb.diff.plan import Change, Effect, Op, Phase, Plan, Reason

BOTH = "10.0.0.21:8080,10.0.0.22:8080"
ONE = {VIP: "10.0.0.21:8080"}
BOUND = {"affinity_timeout": "360"}


def of(want: Any, have: Any, table: str, column: str | None = None) -> Disruption:
    """The disruption of the one change of that table and column from `have` to `want`."""
    plan = compared(want, have)
    (found,) = [
        caused
        for item, caused in zip(plan.changes, disruptions(plan), strict=True)
        if item.table == table and item.column == column
    ]
    return found


def vips(value: str | None, options: dict[str, str] | None = None) -> LoadBalancerRow:
    """The right row with another value of its vips key, without checks."""
    return edited(
        RIGHT,
        vips={} if value is None else {VIP: value},
        health_checks=(),
        ip_port_mappings={},
        options=options or {},
    )


@pytest.mark.parametrize(
    ("before", "after", "options", "impact", "members", "says"),
    [
        (
            BOTH,
            "10.0.0.21:8080",
            {},
            Impact.NEW_CONNECTIONS_MOVE,
            ("10.0.0.22:8080",),
            "established ones to it go on",
        ),
        ("10.0.0.21:8080", BOTH, {}, Impact.NEW_CONNECTIONS_MOVE, ("10.0.0.22:8080",), "takes a share"),
        (
            BOTH,
            "10.0.0.21:8080",
            BOUND,
            Impact.AFFINITY_RESETS,
            ("10.0.0.22:8080",),
            "one dropped connection",
        ),
        (BOTH, "", {}, Impact.VIP_UNSERVED, tuple(BOTH.split(",")), "established ones go on"),
        (BOTH, None, {}, Impact.VIP_UNSERVED, tuple(BOTH.split(",")), "no longer served"),
        (None, BOTH, {}, Impact.SERVICE_BEGINS, tuple(BOTH.split(",")), "begins"),
        ("", BOTH, {}, Impact.SERVICE_BEGINS, tuple(BOTH.split(",")), "begins"),
        ("", None, {}, Impact.NONE, (), "serves nothing"),
    ],
    ids=["leaves", "comes", "leaves-bound", "last", "key-goes", "key-comes", "first-member", "empty-goes"],
)
def test_vips(
    before: str | None,
    after: str | None,
    options: dict[str, str],
    impact: Impact,
    members: tuple[str, ...],
    says: str,
) -> None:
    """A member that leaves keeps its connections; a key that goes does not."""
    found = of(vips(after, options), vips(before, options), "Load_Balancer", "vips")
    assert (found.impact, found.members) == (impact, members)
    assert says in found.text


def test_external_ids_disturb_nobody() -> None:
    """northd makes no flow of them."""
    found = of(RIGHT, edited(RIGHT, {"lr_ref": "x"}), "Load_Balancer", "external_ids")
    assert found.impact is Impact.NONE


def test_row_that_goes_and_row_that_comes() -> None:
    """Connections stall when the row is deleted; its twin goes on serving."""
    gone = of((), (RIGHT,), "Load_Balancer")
    assert (gone.impact, gone.endpoints, gone.members) == (
        Impact.VIP_UNSERVED,
        (VIP,),
        tuple(BOTH.split(",")),
    )
    assert "stall" in gone.text
    twin = of((RIGHT,), (RIGHT, replace(RIGHT, uuid="ffffffff-0000-4000-8000-000000000009")), "Load_Balancer")
    assert twin.impact is Impact.NEW_CONNECTIONS_MOVE
    plan = compared((RIGHT,), ())
    found = dict(zip((item.table for item in plan.changes), disruptions(plan), strict=True))
    assert found["Load_Balancer"].impact is Impact.SERVICE_BEGINS
    assert found["Load_Balancer_Health_Check"].text == "part of the new row"
    assert {one.impact for one in disruptions(plan)} == {Impact.SERVICE_BEGINS, Impact.NONE}


def test_respelled_endpoint_is_not_unserved() -> None:
    """A key without brackets was never the endpoint that it looked like."""
    right = vips(None)
    want = replace(right, vips={"[fd00::1]:80": "[fd00::9]:80"})
    plan = compared(want, replace(right, vips={"fd00::1:80": "[fd00::9]:80"}))
    found = {item.key: one for item, one in zip(plan.changes, disruptions(plan), strict=True)}
    assert found["fd00::1:80"].impact is Impact.NONE
    assert found["[fd00::1]:80"].impact is Impact.SERVICE_BEGINS


def test_clients_and_members() -> None:
    """What binds a client to a member."""
    other = edited(RIGHT, selection_fields=frozenset({"ip_src"}))
    assert of(RIGHT, other, "Load_Balancer", "selection_fields").impact is Impact.AFFINITY_RESETS
    bound = edited(RIGHT, options=BOUND)
    begins = of(bound, RIGHT, "Load_Balancer", "options")
    assert begins.impact is Impact.AFFINITY_RESETS
    assert "360 s" in begins.text
    assert "no longer bound" in of(RIGHT, bound, "Load_Balancer", "options").text
    idle = replace(vips(None), selection_fields=frozenset({"ip_src"}))
    assert of(vips(None), idle, "Load_Balancer", "selection_fields").impact is Impact.NONE


def test_attachments() -> None:
    """Clients on a switch begin and end to be served with the reference from it."""
    elsewhere = edited(RIGHT, switches=frozenset({"neutron-net", "neutron-b"}))
    begins = of(elsewhere, RIGHT, "Logical_Switch", "load_balancer")
    ends = of(RIGHT, elsewhere, "Logical_Switch", "load_balancer")
    assert (begins.impact, ends.impact) == (Impact.SERVICE_BEGINS, Impact.CONNECTIONS_END)
    assert "neutron-b" in begins.text
    assert "10.0.0.21:8080, 10.0.0.22:8080" in ends.text
    idle = replace(vips(None), switches=frozenset({"neutron-net", "neutron-b"}))
    assert of(vips(None), idle, "Logical_Switch", "load_balancer").impact is Impact.NONE


def test_mappings() -> None:
    """A member of a checked key gets traffic only with a mapping."""
    few = edited(RIGHT, ip_port_mappings={"10.0.0.21": "port1:10.0.0.2"})
    again = of(RIGHT, few, "Load_Balancer", "ip_port_mappings")
    assert (again.impact, again.members) == (Impact.NEW_CONNECTIONS_MOVE, ("10.0.0.22",))
    assert "monitored again" in again.text
    assert "gets no new connections" in of(few, RIGHT, "Load_Balancer", "ip_port_mappings").text
    moved = edited(RIGHT, ip_port_mappings={**RIGHT.ip_port_mappings, "10.0.0.22": "port9:10.0.0.2"})
    assert "has a new monitor" in of(moved, RIGHT, "Load_Balancer", "ip_port_mappings").text
    unchecked = replace(few, health_checks=())
    assert (
        of(replace(RIGHT, health_checks=()), unchecked, "Load_Balancer", "ip_port_mappings").impact
        is Impact.NONE
    )


def test_checks() -> None:
    """Fail-open before the first probe, and again once the check is gone."""
    unchecked = replace(RIGHT, health_checks=())
    begins = of(RIGHT, unchecked, "Load_Balancer_Health_Check")
    assert (begins.impact, begins.endpoints, begins.members) == (Impact.NEW_CONNECTIONS_MOVE, (VIP,), ())
    bare = edited(RIGHT, ip_port_mappings={})
    assert of(bare, replace(bare, health_checks=()), "Load_Balancer_Health_Check").members == tuple(
        BOTH.split(",")
    )
    assert "down get new connections again" in of(unchecked, RIGHT, "Load_Balancer_Health_Check").text
    stray = replace(
        RIGHT, health_checks=(check(), check("10.9.9.9:80", uuid="dddddddd-0000-4000-8000-000000000001"))
    )
    assert of(RIGHT, stray, "Load_Balancer_Health_Check").impact is Impact.NONE


def test_protocol() -> None:
    """An empty protocol is tcp; another protocol is another endpoint."""
    empty = replace(RIGHT, protocol=None)
    plan = compared((RIGHT,), (empty,))
    same = [
        one for item, one in zip(plan.changes, disruptions(plan), strict=True) if item.column == "protocol"
    ]
    assert [one.impact for one in same] == [Impact.NONE]
    item = Change(Op.SET, "Load_Balancer", "u", "protocol", None, "tcp", "udp", Reason.DRIFTED)
    have = replace(RIGHT, uuid="u")
    made = Plan(LB, (item,), have=replace(plan.have, rows=(have,)))
    assert disruptions(made)[0].impact is Impact.VIP_UNSERVED


def test_floating_ips_of_members() -> None:
    """Their traffic takes another path."""
    nat = Change(Op.SET, "NAT", "n", "external_mac", None, "00:00:00:00:00:01", None, Reason.VIP_FIP_CHANGED)
    assert disruptions(Plan(LB, (nat,)))[0].impact is Impact.PATH_MOVES
    back = Effect("refresh_fip", "f", Phase.AFTER, Reason.MEMBER_REMOVED, {"address": "203.0.113.9"})
    assert "203.0.113.9" in effect_disruption(back).text
    assert effect_disruption(replace(back, kind="create_hm_port")).impact is Impact.NONE


def test_words_for_every_impact() -> None:
    """A summary can name each."""
    assert set(ORDER) == WORDS.keys()
