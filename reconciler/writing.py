"""A batch of plans into the database: one transaction, or one each when one of them is stale."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ovnlb.diff.plan import Plan
from ovnlb.observed.idl import NbReplica
from ovnlb.reconciler.apply import AppliedEach, apply, apply_each
from ovnlb.reconciler.errors import NotLeader, StalePlan, Terminal, Transient

LOG = logging.getLogger(__name__)


def write_batch(nb: NbReplica, plans: Sequence[Plan], *, stamp: bool = False) -> AppliedEach:
    """Write plans together; the outcome of each.

    A stale, refused or broken plan sends the batch into one transaction each, so that it harms nobody else.
    """
    try:
        applied = apply(nb, plans, stamp=stamp)
    except (NotLeader, Transient) as error:
        return AppliedEach(failed={plan.lb_id: error for plan in plans})
    except (StalePlan, Terminal) as error:
        if len(plans) == 1:
            return AppliedEach(failed={plans[0].lb_id: error})
        return apply_each(nb, plans, stamp=stamp)
    except Exception:  # isolation is the contract: what breaks one plan is that plan's failure
        LOG.debug("a batch of %d plans breaks", len(plans), exc_info=True)
        return apply_each(nb, plans, stamp=stamp)
    return AppliedEach({plan.lb_id: applied for plan in plans}, transactions=applied.transactions)
