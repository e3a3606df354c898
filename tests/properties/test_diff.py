"""What every plan promises, whatever the graph, the world and the damage."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies as world
from damage import DAMAGE, HARMLESS, as_observed, damaged
from fakes.memory_nb import apply_in_memory
from ovnlb.desired.rows import MANAGED_OPTIONS, LoadBalancerRow, NbState, is_managed_key
from ovnlb.diff.canon import protocol
from ovnlb.diff.compare import in_sync, plan
from ovnlb.diff.fingerprint import fingerprint
from ovnlb.diff.guard import refusals
from ovnlb.diff.plan import Op, Plan, Reason


def planned(case: world.Case, have: NbState) -> Plan:
    """The plan of a case with everything that the reconciler would give."""
    return plan(case.want, have, lb_id=case.lb.id, pending=case.pending)


@given(world.cases())
def test_desired_rows_need_nothing(case: world.Case) -> None:
    """A database that is right is never written."""
    assert in_sync(case.want, case.want)
    assert planned(case, as_observed(case.want)).changes == ()


@given(world.cases(), st.data())
def test_one_pass_repairs_all(case: world.Case, data: st.DataObject) -> None:
    """Applying a plan leaves nothing to do, and nobody's uuid is handed out twice."""
    have = data.draw(world.damaged_states(case.want))
    after = apply_in_memory(have, planned(case, have))
    assert in_sync(case.want, after)
    assert planned(case, after).changes == ()
    assert {protocol(row.protocol) for row in after.rows} == {row.protocol for row in case.want.rows}


@given(world.cases(), world.cases(), st.data())
def test_any_state_leads_to_any_other(old: world.Case, new: world.Case, data: st.DataObject) -> None:
    """Also from the rows of another graph: children come, go and change protocol."""
    have = data.draw(world.damaged_states(old.want))
    first = apply_in_memory(have, planned(new, have))
    assert planned(new, first).changes == ()
    back = apply_in_memory(first, planned(old, first))
    assert planned(old, back).changes == ()


@given(world.cases(), st.data())
def test_order_does_not_matter(case: world.Case, data: st.DataObject) -> None:
    """The order of rows, keys and checks never reaches the plan."""
    have = data.draw(world.damaged_states(case.want))
    turned = NbState(tuple(_turned(row) for row in reversed(have.rows)))
    turned_want = NbState(tuple(_turned(row) for row in reversed(case.want.rows)))
    one = planned(case, have)
    other = plan(turned_want, turned, lb_id=case.lb.id, pending=case.pending)
    assert one.changes == other.changes
    assert fingerprint(one) == fingerprint(other)


def _turned(row: LoadBalancerRow) -> LoadBalancerRow:
    return LoadBalancerRow(
        name=row.name,
        protocol=row.protocol,
        external_ids=dict(reversed(row.external_ids.items())),
        vips=dict(reversed(row.vips.items())),
        selection_fields=row.selection_fields,
        options=dict(reversed(row.options.items())),
        ip_port_mappings=dict(reversed(row.ip_port_mappings.items())),
        health_checks=row.health_checks[::-1],
        switches=row.switches,
        routers=row.routers,
        uuid=row.uuid,
    )


@given(world.cases(), st.data())
def test_what_is_not_ours_survives(case: world.Case, data: st.DataObject) -> None:
    """Unknown external_ids and options of a living row are as they were."""
    have = data.draw(world.damaged_states(case.want))
    after = {row.uuid: row for row in apply_in_memory(have, planned(case, have)).rows}
    for row in have.rows:
        if row.uuid in after:
            assert _not_ours(row) == _not_ours(after[row.uuid])


def _not_ours(row: LoadBalancerRow) -> tuple[dict[str, str], dict[str, str]]:
    ids = {key: value for key, value in row.external_ids.items() if not is_managed_key(key)}
    return ids, {key: value for key, value in row.options.items() if key not in MANAGED_OPTIONS}


@given(world.cases(), st.data())
def test_living_rows_keep_their_uuid(case: world.Case, data: st.DataObject) -> None:
    """Of each wanted protocol that has rows one stays; nothing is inserted while a row is deleted for it."""
    have = data.draw(world.damaged_states(case.want))
    made = planned(case, have)
    deleted = {
        change.row for change in made.changes if change.op is Op.DELETE and change.table == "Load_Balancer"
    }
    for wanted in case.want.rows:
        found = {row.uuid for row in have.rows if protocol(row.protocol) == wanted.protocol}
        assert not found or len(found - deleted) == 1
    after = apply_in_memory(have, made)
    survivors = {row.uuid for row in have.rows} & {row.uuid for row in after.rows}
    assert len(survivors) >= min(1, len(have.rows))


@given(world.cases(), st.data())
def test_deleted_load_balancer_leaves_nothing(case: world.Case, data: st.DataObject) -> None:
    """No rows wanted: every row goes, and only rows are deleted."""
    have = data.draw(world.damaged_states(case.want))
    made = plan(NbState(), have, lb_id=case.lb.id)
    assert apply_in_memory(have, made).rows == ()
    assert {change.reason for change in made.changes} <= {Reason.INTENT_DELETED}
    assert len(made.changes) == len(have.rows)


@given(world.cases(), st.sampled_from(sorted(HARMLESS)), st.randoms(use_true_random=False))
def test_harmless_differences_are_none(case: world.Case, kind: str, random: Random) -> None:
    """Another order, and other people's keys, are no difference."""
    assert planned(case, damaged(case.want, [kind], random)).changes == ()


@given(world.cases())
def test_desired_rows_pass_the_guard(case: world.Case) -> None:
    """What is computed never has to be refused."""
    assert list(refusals(case.want)) == []


@pytest.mark.parametrize("kind", sorted(set(DAMAGE) - set(HARMLESS)))
def test_damage_is_seen(kind: str) -> None:
    """Each kind of damage makes a plan in some of the cases: none of them is a no-op."""
    seen = 0

    @settings(max_examples=60, deadline=None, database=None, derandomize=True)
    @given(world.cases(), st.integers(0, 1000))
    def count(case: world.Case, seed: int) -> None:
        nonlocal seen
        have = damaged(case.want, [kind], Random(seed))
        seen += bool(planned(case, have).changes)

    count()
    assert seen >= 3


_TEXT = st.text(max_size=30) | st.sampled_from(
    ("", "{", "[", "80:", "member_a_b:c_d", "member_a_1.1.1.1:" + "9" * 5000 + "_s", "9" * 5000, "[" * 9000)
)
_MAP = st.dictionaries(
    _TEXT | st.sampled_from(("ls_refs", "pool_x", "listener_x", "listener_x:D", "lr_ref")), _TEXT
)


@given(world.cases(), _MAP, _MAP, _MAP, _TEXT)
def test_nonsense_never_raises(
    case: world.Case, ids: dict[str, str], vips: dict[str, str], options: dict[str, str], text: str
) -> None:
    """A row full of nonsense is a row to repair."""
    have = NbState(
        tuple(
            LoadBalancerRow(
                row.name,
                text,
                ids,
                vips,
                frozenset({text}),
                options,
                vips,
                row.health_checks,
                uuid=f"u{number}",
            )
            for number, row in enumerate(as_observed(case.want).rows)
        )
    )
    after = apply_in_memory(have, planned(case, have))
    assert planned(case, after).changes == ()
