"""Plans into the Northbound database: one transaction for one plan or for a batch.

`apply` is all or nothing. `apply_each` writes the plans of a batch that had stale ones one by one.
Source: architecture.md section 5; the checks are in `ovnlb.reconciler.write`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ovnlb.diff.plan import Plan
from ovnlb.observed.commit import CommitFailed
from ovnlb.observed.idl import NbReplica
from ovnlb.reconciler.errors import (
    NotLeader,
    StalePlan,
    Terminal,
    Transient,
    of_ovsdb,
    refuses_persistent_uuids,
)
from ovnlb.reconciler.write import Writer

LOG = logging.getLogger(__name__)

_COMMENT_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Applied:
    """What was written. `changes` counts per LB id the changes that made a difference.

    transactions: sent to the server, 0 or 1 by `apply`. skipped: switches and routers that had gone.
    nb_cfg: NB_Global nb_cfg after this transaction when it was stamped (northd has it once sb_cfg is
    as high). duration: seconds.
    """

    transactions: int = 0
    changes: Mapping[str, int] = field(default_factory=dict)
    comment: str = ""
    skipped: tuple[str, ...] = ()
    nb_cfg: int | None = None
    duration: float = 0.0


@dataclass(frozen=True, slots=True)
class AppliedEach:
    """The outcome per LB id of several plans: Applied, or the error of the four kinds.

    transactions: how many were sent for all of them together.
    """

    applied: Mapping[str, Applied] = field(default_factory=dict)
    failed: Mapping[str, Exception] = field(default_factory=dict)
    transactions: int = 0


def apply(nb: NbReplica, plans: Plan | Sequence[Plan], *, stamp: bool = False) -> Applied:
    """Write the plans in one transaction; send none when they change nothing.

    stamp: count up NB_Global nb_cfg with it. Effects of plans are not carried out here.
    Raises StalePlan (`stale` names the LBs; nothing was written, whatever the others say), NotLeader
    when the replica wants the OVSDB lock and has it not, Transient, and Terminal (a refused plan too).
    """
    batch = (plans,) if isinstance(plans, Plan) else tuple(plans)
    todo = tuple(plan for plan in batch if plan.changes)
    for plan in todo:
        if plan.refused:
            raise Terminal(f"the plan of {plan.lb_id} is refused: {'; '.join(plan.refused)}")
    if not todo:
        return Applied(changes={plan.lb_id: 0 for plan in batch})
    if nb.wants_lock and not nb.has_lock and nb.connected:
        raise NotLeader(f"another process holds the OVSDB lock; {len(todo)} plans were not written")
    return _commit(nb, todo, audit_comment(todo), stamp)


def apply_each(nb: NbReplica, plans: Sequence[Plan], *, stamp: bool = False) -> AppliedEach:
    """Write the plans one transaction each; one that fails does not stop the next.

    After NotLeader or Transient the rest is not tried and fails in the same way.
    """
    applied: dict[str, Applied] = {}
    failed: dict[str, Exception] = {}
    down: Exception | None = None
    for plan in plans:
        if down is not None:
            failed[plan.lb_id] = down
            continue
        try:
            applied[plan.lb_id] = apply(nb, plan, stamp=stamp)
        except (NotLeader, Transient) as error:
            failed[plan.lb_id] = down = error
        except (StalePlan, Terminal) as error:
            failed[plan.lb_id] = error
        except Exception as error:  # a fault of ours, too, must not stop the next
            LOG.exception("load balancer %s cannot be written", plan.lb_id)
            failed[plan.lb_id] = Terminal(f"{type(error).__name__}: {error}")
    return AppliedEach(applied, failed, sum(each.transactions for each in applied.values()))


def audit_comment(plans: Sequence[Plan]) -> str:
    """What `ovsdb-tool show-log` will tell of this transaction: LB ids, then reasons; bounded."""
    reasons = sorted({str(change.reason) for plan in plans for change in plan.changes})
    tail = " " + " ".join(reasons)
    ids: list[str] = []
    room = _COMMENT_LENGTH - len(tail) - len("ovnlb  and 1000000 more")
    for plan in plans:
        room -= len(plan.lb_id) + 1
        if room < 0:
            break
        ids.append(plan.lb_id)
    more = f" and {len(plans) - len(ids)} more" if len(ids) < len(plans) else ""
    return f"ovnlb {' '.join(ids)}{more}{tail}"


def _commit(nb: NbReplica, plans: tuple[Plan, ...], comment: str, stamp: bool) -> Applied:
    started, writer = time.monotonic(), Writer(nb, plans, comment, stamp)
    lb_ids = tuple(plan.lb_id for plan in plans)
    try:
        outcome = nb.transact(writer)
    except CommitFailed as error:
        if writer.persist and refuses_persistent_uuids(error):
            nb.persistent_uuids = False
            return _commit(nb, plans, comment, stamp)
        raise of_ovsdb(error, lb_ids) from error
    except Exception as error:
        kind = of_ovsdb(error, lb_ids)
        if kind is error:
            raise
        raise kind from error
    return Applied(
        transactions=int(outcome.sent),
        changes=dict(writer.written),
        comment=comment if outcome.sent else "",
        skipped=tuple(writer.skipped),
        nb_cfg=outcome.incremented,
        duration=time.monotonic() - started,
    )
