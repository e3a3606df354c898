"""Saved plans: what was reviewed is what is applied, or nothing is.

`ovnlb plan --out FILE` writes the content of every plan of its scope; `ovnlb apply FILE` makes the plans
again and refuses when any of them says something else. The one difference allowed is the address of a
health-monitor port that the plan itself had to create. Source: architecture.md sections 2 and 7.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovnlb.diff.effects import CREATE_HM_PORT
from ovnlb.diff.fingerprint import content, fills_placeholder, text_of
from ovnlb.diff.plan import Plan
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.whole_file import write_whole

FORMAT_VERSION = "1.0"
KIND = "ovnlb plan"
# How many differences of a load balancer are told, and how much of a value.
_SHOWN = 3
_LONGEST = 100
_PARTS = {
    "have": "its rows in the Northbound database changed",
    "want": "what Octavia and Neutron ask for changed",
    "changes": "other changes are needed",
    "effects": "other work in Neutron is needed",
    "refused": "what forbids it changed",
}


class SavedPlanError(Exception):
    """The file is no saved plan that can be read; the text names it."""


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A saved plan. `parts`: load balancer id -> the content of its plan; `failed`: ids without one."""

    scope: Scope
    parts: Mapping[str, Mapping[str, Any]]
    failed: tuple[str, ...] = ()

    def accept(self, plan: Plan) -> str:
        """Why this plan is not the saved one, empty when it is."""
        saved = self.parts.get(plan.lb_id)
        if saved is None:
            return "it is not in the saved plan"
        now = content(plan)
        if text_of(saved) == text_of(now) or _filled(saved, now):
            return ""
        return "; ".join(_differences(saved, now)) or "its plan changed"

    def moved(self, plans: Iterable[Plan], failed: Iterable[str] = ()) -> Mapping[str, str]:
        """Load balancer id -> what changed since the plan was saved; empty when nothing did."""
        found: dict[str, str] = {}
        current = {plan.lb_id: plan for plan in plans}
        for lb_id in sorted(current):
            if why := self.accept(current[lb_id]):
                found[lb_id] = why
        gone = self.parts.keys() - current.keys()
        found |= dict.fromkeys(sorted(gone), "it is in the saved plan, and is not there any more")
        news = set(failed) - set(self.failed)
        found |= dict.fromkeys(sorted(news), "it cannot be planned any more")
        return found


def save(path: str, plans: Iterable[Plan], scope: Scope, failed: Iterable[str] = ()) -> None:
    """Write a saved plan, complete or not at all. Raises SavedPlanError."""
    document = {
        "format_version": FORMAT_VERSION,
        "kind": KIND,
        "scope": {"load_balancers": list(scope.ids), "project": scope.project},
        "plans": {plan.lb_id: content(plan) for plan in plans},
        "failed": sorted(failed),
    }
    try:
        write_whole(path, json.dumps(document, indent=1, sort_keys=True, default=str) + "\n")
    except OSError as error:
        raise SavedPlanError(f"saved plan {path}: {error}") from None


def read(path: str) -> SavedPlan:
    """The saved plan in a file. Raises SavedPlanError that names the file and what is wrong with it."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SavedPlanError(f"saved plan {path}: {error}") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise SavedPlanError(f"saved plan {path}: this is no plan that ovnlb plan --out wrote")
    version = str(found.get("format_version"))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise SavedPlanError(
            f"saved plan {path}: format_version {version} is not readable, {FORMAT_VERSION} is"
        )
    scope, plans, failed = found.get("scope"), found.get("plans"), found.get("failed") or []
    if not isinstance(scope, dict) or not isinstance(plans, dict):
        raise SavedPlanError(f"saved plan {path}: scope or plans are missing")
    ids, project = scope.get("load_balancers") or [], scope.get("project")
    if not (_texts(ids) and _texts(failed) and isinstance(project, str | None)):
        raise SavedPlanError(f"saved plan {path}: scope or failed are no lists of ids")
    for lb_id, plan in plans.items():
        if not _is_content(plan):
            raise SavedPlanError(f"saved plan {path}: the plan of load balancer {lb_id} is damaged")
    return SavedPlan(Scope(tuple(ids), project), plans, tuple(failed))


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_content(plan: Any) -> bool:
    """Whether it has the parts of `content`, as far as they are taken apart here."""
    effects = plan.get("effects") if isinstance(plan, dict) else None
    return isinstance(effects, list) and all(isinstance(one, list) and one for one in effects)


def _filled(saved: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the only difference is that a health-monitor port has been created and has its address."""
    return fills_placeholder(text_of(_without_creation(saved)), text_of(_without_creation(now)))


def _without_creation(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The content without the effect that has made the port: it is done."""
    return {**parts, "effects": [effect for effect in parts["effects"] if effect[0] != CREATE_HM_PORT]}


def _differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The first part that moved explains the later ones; its values show where."""
    plain = json.loads(text_of(now))
    for part, words in _PARTS.items():
        if saved.get(part) != plain[part]:
            places = list(_places(saved.get(part), plain[part], ""))
            more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
            yield f"{words}: {', '.join(places[:_SHOWN])}{more}"
            return


def _places(before: Any, after: Any, where: str) -> Iterator[str]:
    """`column.key before -> after` for every value that differs, in the order of the keys."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) != after.get(key):
                yield from _places(before.get(key), after.get(key), f"{where}.{key}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            if one != other:
                yield from _places(one, other, where)
    else:
        yield f"{where or 'rows'} {_short(before)} -> {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
