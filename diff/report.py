"""The report of a pass as one JSON document; every rendering is made from it.

`format_version` follows major.minor: a reader of 1.x may meet more keys, never other meanings.
Source: architecture.md section 7; Terraform's jsonplan is the model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ovnlb.desired.rows import NbState
from ovnlb.diff import columns
from ovnlb.diff.conflicts import Conflict
from ovnlb.diff.disruption import disruptions, effect_disruption
from ovnlb.diff.fingerprint import fingerprint
from ovnlb.diff.impact import ORDER, Disruption
from ovnlb.diff.plan import Change, Effect, Plan, is_drift

FORMAT_VERSION = "1.0"
CHECK_TABLE = "Load_Balancer_Health_Check"


def document(
    plans: Iterable[Plan],
    *,
    errors: Mapping[str, str] | None = None,
    conflicts: Sequence[Conflict] = (),
    orphans: Sequence[Mapping[str, Any]] = (),
    foreign_rows: int = 0,
    with_desired: bool = True,
    with_fingerprints: bool = False,
) -> dict[str, Any]:
    """What was found and what would be done, as JSON values, sorted by load balancer id.

    errors: by id, why a load balancer could not be planned. orphans: as they were listed.
    foreign_rows: how many Load_Balancer rows belong to somebody else. with_fingerprints: for a plan
    that is saved.
    """
    ordered = sorted(plans, key=lambda plan: plan.lb_id)
    load_balancers = [load_balancer(plan, with_desired) for plan in ordered]
    if with_fingerprints:
        for part, plan in zip(load_balancers, ordered, strict=True):
            part["fingerprint"] = fingerprint(plan)
    failed = [{"id": lb_id, "reason": reason} for lb_id, reason in sorted((errors or {}).items())]
    found = [_conflict(conflict) for conflict in conflicts]
    return {
        "format_version": FORMAT_VERSION,
        "summary": summary(ordered, len(failed), len(orphans), len(found), foreign_rows),
        "load_balancers": load_balancers,
        "errors": failed,
        "conflicts": found,
        "orphans": [dict(orphan) for orphan in orphans],
    }


def load_balancer(plan: Plan, with_desired: bool = True) -> dict[str, Any]:
    """One load balancer's part of the document."""
    part: dict[str, Any] = {
        "id": plan.lb_id,
        "in_sync": plan.empty and not plan.waiting,
        "changes": [
            change(item, caused) for item, caused in zip(plan.changes, disruptions(plan), strict=True)
        ],
        "effects": [effect(item) for item in plan.effects],
        "warnings": [{"code": item.code, "text": item.text} for item in plan.warnings],
        "waiting": list(plan.waiting),
        "refused": list(plan.refused),
    }
    if with_desired:
        part["desired"] = state(plan.want)
    return part


def change(item: Change, caused: Disruption | None = None) -> dict[str, Any]:
    """One change. `drift`: nothing that is going on explains it. `caused`: what it does to traffic."""
    part: dict[str, Any] = {
        "op": str(item.op),
        "table": item.table,
        "row": item.row,
        "column": item.column,
        "key": item.key,
        "before": item.before,
        "after": item.after,
        "reason": str(item.reason),
        "drift": is_drift(item),
        "owner": item.owner,
    }
    if caused is not None:
        part["disruption"] = caused.as_json()
    return part


def effect(item: Effect) -> dict[str, Any]:
    """One effect in Neutron."""
    return {
        "kind": item.kind,
        "target": item.target,
        "phase": str(item.phase),
        "reason": str(item.reason),
        "details": dict(item.details),
        "disruption": effect_disruption(item).as_json(),
    }


def state(rows: NbState) -> dict[str, Any]:
    """Rows in the column form of a bundle, with what any of them is attached to."""
    found = sorted(rows.rows, key=lambda row: (row.protocol or "", row.uuid or ""))
    checks = [_identified(check.uuid, columns.check(check)) for row in found for check in row.health_checks]
    return {
        "Load_Balancer": [_identified(row.uuid, columns.load_balancer(row)) for row in found],
        CHECK_TABLE: sorted(checks, key=lambda check: (check["vip"], json.dumps(check, sort_keys=True))),
        "attached_switches": sorted({name for row in found for name in row.switches}),
        "attached_routers": sorted({name for row in found for name in row.routers}),
    }


def _identified(uuid: str | None, values: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, with its UUID where it has one."""
    return values if uuid is None else {"_uuid": uuid, **values}


def _conflict(item: Conflict) -> dict[str, Any]:
    return {
        "endpoint": item.endpoint,
        "protocol": item.protocol,
        "load_balancers": list(item.lb_ids),
        "places": list(item.places),
        "text": item.text,
    }


def summary(
    plans: Sequence[Plan], errors: int, orphans: int = 0, conflicts: int = 0, foreign_rows: int = 0
) -> dict[str, Any]:
    """Counts for the summary line, exit codes and metrics."""
    changes = [item for plan in plans for item in plan.changes]
    return {
        "load_balancers": len(plans) + errors,
        "in_sync": sum(plan.empty and not plan.waiting for plan in plans),
        "differ": sum(not plan.empty for plan in plans),
        "waiting": sum(bool(plan.waiting) for plan in plans),
        "refused": sum(bool(plan.refused) for plan in plans),
        "errors": errors,
        "orphans": orphans,
        "conflicts": conflicts,
        "foreign_rows": foreign_rows,
        "warnings": sum(len(plan.warnings) for plan in plans),
        "changes": len(changes),
        "drift": sum(map(is_drift, changes)),
        "effects": sum(len(plan.effects) for plan in plans),
        "by_op": dict(sorted(Counter(str(item.op) for item in changes).items())),
        "by_reason": dict(sorted(Counter(str(item.reason) for item in changes).items())),
        "by_disruption": _by_disruption(plans),
    }


def _by_disruption(plans: Sequence[Plan]) -> dict[str, int]:
    """How many changes and effects do what to traffic, the worst first."""
    impacts = [caused.impact for plan in plans for caused in disruptions(plan)]
    impacts += [effect_disruption(item).impact for plan in plans for item in plan.effects]
    counts = Counter(impacts)
    return {str(impact): counts[impact] for impact in reversed(ORDER) if counts[impact]}


def dumps(report: Mapping[str, Any]) -> str:
    """The document as text, one line ending at its end."""
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
