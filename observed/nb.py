"""The Northbound rows of one load balancer, as they are."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.observed.ownership import Ownership, classify
from ovnlb.observed.source import NorthboundSource


def observe(
    nb: NorthboundSource,
    lb_id: str,
    ours: Container[str] | None = None,
    others: Container[str] = frozenset(),
) -> NbState:
    """The rows named `lb_id`: ours to compare, and the suspect ones; foreign rows are left out.

    `ours` are the LB ids of our providers, None when this LB is known to be one of them; `others` the
    ids of LBs of other providers.
    """
    rows = nb.load_balancers(lb_id)
    if not rows:
        return NbState()
    known = (lb_id,) if ours is None else ours
    owned = [(row, classify(row, known, others)) for row in rows]
    return NbState(
        rows=tuple(row for row, owner in owned if owner is Ownership.OURS),
        suspect=tuple(row for row, owner in owned if owner is Ownership.SUSPECT),
    )


def unclaimed(
    nb: NorthboundSource, ours: Container[str], others: Container[str] = frozenset()
) -> Iterator[tuple[LoadBalancerRow, Ownership]]:
    """Every row whose name is not the id of an LB of ours, with its ownership.

    OURS here means an orphan candidate. The one walk over the whole table, for the orphan report and
    the foreign-rows metric; rows that `ours` names are not even built.
    """
    for name in sorted(nb.load_balancer_names()):
        if name not in ours:
            for row in nb.load_balancers(name):
                yield row, classify(row, ours, others)
