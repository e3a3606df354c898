"""The vips of desired rows are what their own external_ids say, read as the original reads them."""

from __future__ import annotations

from hypothesis import given

from framed_vips import frame_vips
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health
from strategies import Case, cases


@given(case=cases())
def test_vips_are_those_of_the_external_ids(case: Case) -> None:
    excluded = {
        member.id
        for pool in case.lb.pools
        for member in pool.members
        if not member.enabled or member.weight == 0
    }
    for row in desired_state(case.lb, case.topology, Health()).state.rows:
        assert row.vips == frame_vips(row.external_ids, excluded)
