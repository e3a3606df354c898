"""What is told of a pass: the report document, and the messages that Octavia would get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.desired.verdicts import Outcome, messages, status_update
from ovnlb.diff.conflicts import conflicts
from ovnlb.diff.html import worst_first
from ovnlb.diff.orphans import Judged, as_json
from ovnlb.diff.report import document, state
from ovnlb.reconciler.graph_document import graph
from ovnlb.reconciler.walk import Pass


@dataclass(frozen=True, slots=True)
class Orphans:
    """What a search for orphans found, and how many rows are somebody else's."""

    judged: tuple[Judged, ...] = ()
    foreign: int = 0


def pass_document(
    done: Pass, with_desired: bool, orphans: Orphans | None = None, *, pictured: bool = False
) -> dict[str, Any]:
    """The report of a pass; with what a search for orphans found where one was made.

    pictured: with the graph and the found rows of those load balancers that a page draws.
    """
    judged = orphans.judged if orphans else ()
    gone = [(one.orphan.lb_id or "", one.orphan.row) for one in judged if one.orphan.row]
    report = document(
        [walked.plan for walked in done.walked],
        errors={failure.lb_id: failure.reason for failure in done.failed},
        conflicts=conflicts(chain(desired_rows(done), gone)),
        orphans=[as_json(one) for one in judged],
        foreign_rows=orphans.foreign if orphans else 0,
        with_desired=with_desired,
    )
    if pictured:
        _add_pictures(report, done)
    return report


def _add_pictures(report: dict[str, Any], done: Pass) -> None:
    chosen = set(worst_first(report["load_balancers"]))
    walks = {walked.lb.id: walked for walked in done.walked}
    for part in report["load_balancers"]:
        if part["id"] in chosen:
            walked = walks[part["id"]]
            part["graph"], part["found"] = graph(walked), state(walked.plan.have)


def status_messages(done: Pass) -> list[dict[str, Any]]:
    """The messages for Octavia once these plans are applied, in sending order."""
    updates = [
        status_update(walked.lb, walked.desired.members, Outcome(vip_port=not walked.vip_port_missing))
        for walked in done.walked
        if not walked.plan.refused
    ]
    return list(messages(updates))


def desired_rows(done: Pass) -> Iterator[tuple[str, LoadBalancerRow]]:
    for walked in done.walked:
        yield from ((walked.lb.id, row) for row in walked.plan.want.rows)
