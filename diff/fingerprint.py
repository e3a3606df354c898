"""A stable name for what a plan was made from and what it says: the gate of a saved plan.

A saved plan is applied only while every load balancer in it still has the plan that was reviewed.
Source: architecture.md section 7.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff import columns
from ovnlb.diff.plan import Plan

_PLACEHOLDER = re.compile(r"\(address of the new HM port on [^)]*\)")


def content(plan: Plan) -> dict[str, Any]:
    """The plan's load balancer, both states, changes and effects, as JSON values.

    Warnings and waiting are left out: what they say does not change what is written.
    """
    return {
        "lb_id": plan.lb_id,
        "want": _state(plan.want),
        "have": _state(plan.have),
        "changes": [
            [item.op, item.table, item.row, item.column, item.key, item.before, item.after, item.owner]
            for item in plan.changes
        ],
        "effects": [
            [item.kind, item.target, item.phase, dict(sorted(item.details.items()))] for item in plan.effects
        ],
        "refused": plan.refused,
    }


def text_of(parts: Mapping[str, Any]) -> str:
    """A content as one text: the same for the same plan, before and after a file."""
    return json.dumps(parts, sort_keys=True, default=str)


def fingerprint(plan: Plan) -> str:
    """SHA-256, in hex, of the plan's content."""
    return hashlib.sha256(text_of(content(plan)).encode()).hexdigest()


def moved(saved: Mapping[str, str], now: Iterable[Plan]) -> tuple[str, ...]:
    """The ids whose plan is not the saved one any more (fingerprint by id), or that are new or gone."""
    current = {plan.lb_id: fingerprint(plan) for plan in now}
    return tuple(
        sorted(lb_id for lb_id in saved.keys() | current.keys() if saved.get(lb_id) != current.get(lb_id))
    )


def fills_placeholder(before: str, after: str) -> bool:
    """Whether `after` is `before` with the addresses of new HM ports filled in."""
    parts = [re.escape(part) for part in _PLACEHOLDER.split(before)]
    return len(parts) > 1 and re.fullmatch(r"[0-9A-Fa-f:.\[\]]+".join(parts), after) is not None


def _state(state: NbState) -> list[Any]:
    return [_rows(state.rows), _rows(state.suspect)]


def _rows(rows: Iterable[LoadBalancerRow]) -> list[Any]:
    found = [
        [
            row.uuid,
            columns.load_balancer(row),
            sorted(([check.uuid, columns.check(check)] for check in row.health_checks), key=json.dumps),
        ]
        for row in rows
    ]
    return sorted(found, key=json.dumps)
