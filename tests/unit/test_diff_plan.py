"""Which row becomes which, under which uuid, and what a policy makes of a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diff_rows import CHECK, HM, LB, RIGHT, ROW, VIP, check, compared, edited, told
from fakes.memory_nb import BadChange, apply_in_memory
from ovnlb.desired.rows import LoadBalancerRow, NbState, health_check_row_uuid, load_balancer_row_uuid
from ovnlb.diff.compare import in_sync, plan
from ovnlb.diff.plan import Change, Effect, Op, Phase, Plan, PlanWarning, Reason
from ovnlb.diff.policy import Policy, PruneLimits, prune_refusal

BARE = LoadBalancerRow(LB, None, {"enabled": "True"})
TCP, UDP = replace(BARE, protocol="tcp"), replace(BARE, protocol="udp")


def uuids(made: Plan, op: Op, table: str = "Load_Balancer") -> list[str]:
    """The rows on which a plan does this."""
    return [change.row for change in made.changes if change.op is op and change.table == table]


def numbered(row: LoadBalancerRow, number: int, references: int = 0) -> LoadBalancerRow:
    """The row under a uuid of this number, attached to so many switches."""
    return replace(row, uuid=f"{ROW[:-1]}{number}", switches=frozenset(f"s{n}" for n in range(references)))


def test_of_duplicates_the_most_referenced_stays() -> None:
    """It gets what is missing, the others go in the same plan."""
    found = (numbered(TCP, 1), numbered(TCP, 2, references=2), numbered(TCP, 3, references=1))
    made = compared(replace(TCP, switches=frozenset({"s0", "s1"})), found)
    assert told(made) == {"delete LB": "duplicate"}
    assert uuids(made, Op.DELETE) == [f"{ROW[:-1]}1", f"{ROW[:-1]}3"]


def test_of_equal_duplicates_the_lowest_uuid_stays() -> None:
    """Whatever the order they are found in."""
    found = (numbered(TCP, 3), numbered(TCP, 1), numbered(TCP, 2))
    assert uuids(compared(TCP, found), Op.DELETE) == [f"{ROW[:-1]}2", f"{ROW[:-1]}3"]


def test_an_empty_protocol_is_taken_over_first() -> None:
    """The first listener of another protocol uses the row that has none."""
    made = compared((TCP, UDP), (numbered(BARE, 1), numbered(replace(BARE, protocol="sctp"), 2)))
    changed = {change.row: change.after for change in made.changes if change.column == "protocol"}
    assert changed == {f"{ROW[:-1]}1": "tcp", f"{ROW[:-1]}2": "udp"}
    assert len(made.changes) == 2


def test_the_last_row_gives_up_its_protocol() -> None:
    """Of several the most referenced; the others go."""
    made = compared(
        replace(BARE, switches=frozenset({"s0"})),
        (numbered(TCP, 1), numbered(UDP, 2, references=1)),
        {},
    )
    assert [(change.op, change.row, change.column) for change in made.changes] == [
        (Op.SET, f"{ROW[:-1]}2", "protocol"),
        (Op.DELETE, f"{ROW[:-1]}1", None),
    ]


def test_rows_are_inserted_under_the_uuid_that_every_process_computes() -> None:
    """So that a second writer is refused by the server."""
    made = compared((RIGHT,), ())
    assert uuids(made, Op.INSERT) == [str(load_balancer_row_uuid(LB, "tcp"))]
    assert uuids(made, Op.INSERT, "Load_Balancer_Health_Check") == [str(health_check_row_uuid(HM, VIP))]
    assert made.changes[1].owner == made.changes[0].row


def test_a_uuid_that_another_row_holds_is_not_used_again() -> None:
    """The row inserted as tcp became udp: a new tcp row gets the next uuid of the series."""
    moved = replace(UDP, uuid=str(load_balancer_row_uuid(LB, "tcp")))
    made = compared((TCP, UDP), (moved,))
    assert uuids(made, Op.INSERT) == [str(load_balancer_row_uuid(LB, "tcp/1"))]
    assert in_sync(NbState((TCP, UDP)), apply_in_memory(NbState((moved,)), made))


def test_a_uuid_of_a_foreign_row_is_not_used() -> None:
    """A row of ours that somebody renamed, or a check that hangs on another LB."""
    held = {str(load_balancer_row_uuid(LB, "tcp")), str(health_check_row_uuid(HM, VIP))}
    made = compared((RIGHT,), (), in_use=held.__contains__)
    assert uuids(made, Op.INSERT) == [str(load_balancer_row_uuid(LB, "tcp/1"))]
    assert uuids(made, Op.INSERT, "Load_Balancer_Health_Check") == [
        str(health_check_row_uuid(HM, f"{VIP}/1"))
    ]


def test_a_uuid_of_a_suspect_row_is_not_used() -> None:
    """And the suspect itself is reported, never touched."""
    suspect = replace(TCP, uuid=str(load_balancer_row_uuid(LB, "tcp")))
    made = plan(NbState((TCP,)), NbState((), (suspect,)), lb_id=LB)
    assert uuids(made, Op.INSERT) == [str(load_balancer_row_uuid(LB, "tcp/1"))]
    assert [item.code for item in made.warnings] == ["suspect_row"]
    assert suspect.uuid in made.warnings[0].text


def test_a_deleted_load_balancer_loses_all_rows() -> None:
    """L07: and none is created when there was none."""
    made = compared((), (numbered(TCP, 1), numbered(TCP, 2), numbered(UDP, 3)))
    assert told(made) == {"delete LB": "intent_deleted"}
    assert uuids(made, Op.DELETE) == [f"{ROW[:-1]}2", f"{ROW[:-1]}1", f"{ROW[:-1]}3"]
    assert compared((), ()).empty


def test_orphans_have_their_own_reason() -> None:
    """The rows of a load balancer that Octavia does not know."""
    assert told(compared((), (TCP,), gone=Reason.ORPHAN)) == {"delete LB": "orphan"}


def test_wiped_row_is_repaired_in_place() -> None:
    """Its uuid stays, only what is ours is written."""
    wiped = replace(RIGHT, external_ids={"other": "x"}, vips={}, uuid=ROW)
    made = compared(RIGHT, wiped, {})
    assert {change.row for change in made.changes} == {ROW}
    assert {change.reason for change in made.changes} == {Reason.MISSING}
    assert {change.op for change in made.changes} == {Op.SET}


def test_additional_vips_keep_the_order_of_the_row() -> None:
    """And their ports follow it when they have to be written."""
    ids = {"neutron:additional_vips": "fd00::1,fd00::2", "neutron:additional_vip_port_ids": "p1,p2"}
    want = edited(RIGHT, ids)
    turned = {"neutron:additional_vips": "fd00::2,fd00::1", "neutron:additional_vip_port_ids": "p2,p1"}
    assert compared(want, edited(RIGHT, turned)).empty
    (change,) = compared(want, edited(RIGHT, {**turned, "neutron:additional_vip_port_ids": "p2,old"})).changes
    assert change.after == "p2,p1"
    broken = {**ids, "neutron:additional_vip_port_ids": "p1"}
    (change,) = compared(edited(RIGHT, broken), edited(RIGHT, turned)).changes
    assert change.after == "p1"


def test_pairs_legacy_checks_in_place() -> None:
    """The check keeps its uuid; one of another address does not take its place."""
    legacy = replace(RIGHT, health_checks=(replace(check(), vip="10.0.0.10", uuid=CHECK),))
    made = compared(RIGHT, legacy, {})
    assert [(item.op, item.row, item.owner) for item in made.changes] == [(Op.SET, CHECK, ROW)]
    other = replace(RIGHT, health_checks=(check("10.0.0.11:80"),))
    assert told(compared(RIGHT, other, {})) == {"insert LBHC": "missing", "delete LBHC": "drifted"}


def test_protocol_of_nothing_is_no_protocol() -> None:
    """An empty text and none are the same."""
    assert compared(BARE, replace(BARE, protocol="")).empty


EFFECT = Effect("create_hm_port", "subnet", Phase.BEFORE, Reason.MONITOR_CHANGED)
ORPHANED = Effect("delete_vip_port", "port", Phase.AFTER, Reason.ORPHAN)


@pytest.mark.parametrize(
    ("policy", "want", "effects", "words"),
    [
        (Policy.SYNC, (), (ORPHANED,), None),
        (Policy.NO_PRUNE, (TCP,), (), None),
        (Policy.NO_PRUNE, (TCP,), (ORPHANED,), "1 orphaned objects are kept"),
        (Policy.OBSERVE_ONLY, (UDP,), (), "policy observe-only"),
        (Policy.OBSERVE_ONLY, (TCP,), (EFFECT,), "policy observe-only"),
        (Policy.OBSERVE_ONLY, (TCP,), (), None),
    ],
)
def test_policies(
    policy: Policy, want: tuple[LoadBalancerRow, ...], effects: tuple[Effect, ...], words: str | None
) -> None:
    """A forbidden plan still says what it would do, and which option forbids it."""
    have = NbState((replace(TCP, uuid=ROW),))
    made = plan(NbState(want), have, policy, lb_id=LB, effects=effects)
    assert (made.changes, made.effects) == (plan(NbState(want), have, lb_id=LB).changes, effects)
    if words is None:
        assert made.refused == ()
    else:
        (text,) = made.refused
        assert words in text
        assert "[ovnlb] policy = sync" in text


def test_carries_what_other_stages_say() -> None:
    """Warnings, waiting and effects are part of the plan, in their order."""
    warning = PlanWarning("code", "text")
    made = plan(
        NbState((TCP,)),
        NbState((TCP,)),
        lb_id=LB,
        effects=(EFFECT,),
        warnings=(warning,),
        waiting=("Logical_Switch x",),
    )
    assert (made.warnings, made.waiting, made.effects) == ((warning,), ("Logical_Switch x",), (EFFECT,))
    assert not made.empty
    assert made.changes == ()


@pytest.mark.parametrize(
    ("orphans", "ours", "words"),
    [
        (0, 0, None),
        (1, 10, None),
        (5, 50, None),
        (6, 1000, "--prune-max-count 6"),
        (2, 19, "--prune-max-percent 11"),
        (1, 1, "--prune-max-percent 100"),
    ],
)
def test_prune_limits(orphans: int, ours: int, words: str | None) -> None:
    """Both limits at both edges; a refusal names the option and the flag that lifts it."""
    text = prune_refusal(orphans, ours, PruneLimits())
    if words is None:
        assert text is None
    else:
        assert text
        assert words in text
        assert "prune_max_" in text
        count, percent = (orphans, 10) if "count" in words else (5, int(words.rpartition(" ")[2]))
        assert prune_refusal(orphans, ours, PruneLimits(count, percent)) is None


BAD = {
    "duplicate uuid": Change(Op.INSERT, "Load_Balancer", ROW, None, None, None, {"name": LB}, Reason.MISSING),
    "other value": Change(Op.SET, "Load_Balancer", ROW, "external_ids", "enabled", "x", "y", Reason.DRIFTED),
    "no change": Change(
        Op.SET, "Load_Balancer", ROW, "external_ids", "enabled", "True", "True", Reason.DRIFTED
    ),
    "attached": Change(Op.DETACH, "Logical_Switch", "s", "load_balancer", ROW, ROW, None, Reason.DRIFTED),
    "other's check": Change(
        Op.SET, "Load_Balancer_Health_Check", CHECK, "vip", None, "", VIP, Reason.DRIFTED, owner=ROW
    ),
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_the_interpreter_refuses_what_a_server_would(change: Change) -> None:
    """Otherwise the properties that rest on it prove nothing."""
    with pytest.raises(BadChange):
        apply_in_memory(NbState((replace(TCP, uuid=ROW),)), Plan(LB, changes=(change,)))
