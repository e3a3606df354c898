"""What is told of a pass: the report document, and the messages that Octavia would get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.desired.verdicts import Outcome, messages, status_update
from ovnlb.diff.conflicts import conflicts
from ovnlb.diff.report import document
from ovnlb.reconciler.walk import Pass


def pass_document(done: Pass, with_desired: bool) -> dict[str, Any]:
    """The report of a pass."""
    return document(
        [walked.plan for walked in done.walked],
        errors={failure.lb_id: failure.reason for failure in done.failed},
        conflicts=conflicts(_rows(done)),
        with_desired=with_desired,
    )


def status_messages(done: Pass) -> list[dict[str, Any]]:
    """The messages for Octavia once these plans are applied, in sending order."""
    updates = [
        status_update(walked.lb, walked.desired.members, Outcome())
        for walked in done.walked
        if not walked.plan.refused
    ]
    return list(messages(updates))


def _rows(done: Pass) -> Iterator[tuple[str, LoadBalancerRow]]:
    for walked in done.walked:
        yield from ((walked.lb.id, row) for row in walked.plan.want.rows)
