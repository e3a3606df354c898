"""The plan as data: changes, their reasons, warnings and effects.

A plan is everything that `ovnlb.reconciler.apply` needs, and everything that a report shows. Its
order is deterministic. Source: architecture.md sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ovnlb.desired.notes import PlanWarning as PlanWarning
from ovnlb.desired.rows import NbState


class Reason(StrEnum):
    """Why a change is made: the same word in the report, the log, the metric and the transaction."""

    MISSING = "missing"
    DRIFTED = "drifted"
    LISTENER_ADDED = "listener_added"
    LISTENER_REMOVED = "listener_removed"
    POOL_ADDED = "pool_added"
    POOL_REMOVED = "pool_removed"
    MEMBER_ADDED = "member_added"
    MEMBER_REMOVED = "member_removed"
    MEMBER_STATUS = "member_status"
    MONITOR_CHANGED = "monitor_changed"
    VIP_FIP_CHANGED = "vip_fip_changed"
    TOPOLOGY_CHANGED = "topology_changed"
    ENABLED = "enabled"
    DISABLED = "disabled"
    INTENT_ADDED = "intent_added"
    INTENT_CHANGED = "intent_changed"
    INTENT_DELETED = "intent_deleted"
    DUPLICATE = "duplicate"
    LEGACY_FORM = "legacy_form"
    ORPHAN = "orphan"


class Op(StrEnum):
    """What a change does.

    insert: a row; `row` is its UUID, `after` its columns.
    delete: a row; `before` its columns.
    set: one key of a map column (`key` given) or a whole column (`key` None).
    unset: remove one key of a map column.
    attach, detach: `row` (the name of a Logical_Switch or Logical_Router), column `load_balancer`,
    `key` the UUID of the Load_Balancer.
    """

    INSERT = "insert"
    DELETE = "delete"
    SET = "set"
    UNSET = "unset"
    ATTACH = "attach"
    DETACH = "detach"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one row. `before` and `after` are JSON values (maps as objects, sets as lists).

    Inserting a health check adds it to the row named by `owner` (a Load_Balancer UUID), deleting one
    removes it there.
    """

    op: Op
    table: str
    row: str
    column: str | None
    key: str | None
    before: Any
    after: Any
    reason: Reason
    owner: str | None = None


class Phase(StrEnum):
    """When an effect happens, seen from the OVSDB transaction."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Effect:
    """Something to do in Neutron, by name; idempotent.

    `kind`: create_hm_port, repair_hm_port, delete_hm_port, delete_vip_port, mark_vip_port,
    centralise_fip (a Northbound NAT row), refresh_fip, ... `target`: what it is done to (a subnet,
    port or FIP id). `details` are JSON values for the report and the executor.
    """

    kind: str
    target: str
    phase: Phase
    reason: Reason
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What must happen so that the rows of one load balancer are as they must be.

    `refused` (why a policy or a guard forbids it) makes it a report only. `waiting` names what
    Neutron must do first (a switch that is not there yet). `want` and `have` are what was compared.
    """

    lb_id: str
    changes: tuple[Change, ...] = ()
    effects: tuple[Effect, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    waiting: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    want: NbState = field(default_factory=NbState)
    have: NbState = field(default_factory=NbState)

    @property
    def empty(self) -> bool:
        """Whether nothing is to be written anywhere."""
        return not self.changes and not self.effects


# What nothing asked for: somebody else wrote, a row got lost, or an older provider left its form.
DRIFT = frozenset({Reason.MISSING, Reason.DRIFTED, Reason.DUPLICATE, Reason.LEGACY_FORM})


def is_drift(item: Change | Plan) -> bool:
    """Whether nothing that Octavia or Neutron is doing explains this change, or any of this plan."""
    if isinstance(item, Change):
        return item.reason in DRIFT
    return any(change.reason in DRIFT for change in item.changes)
