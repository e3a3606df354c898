"""One round: a batch of load balancers, each from its graph to its verdict.

load -> walk -> effects that must come first -> one transaction -> effects that come after -> verdict.
The same for the service and for `ovnlb apply`. Each load balancer's outcome is its own: what fails
for one never touches another. Source: architecture.md sections 2, 4 and 5.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from ovnlb.desired.graph import Graph
from ovnlb.desired.health import PLACEHOLDER
from ovnlb.desired.model import LoadBalancer, Provisioning
from ovnlb.desired.verdicts import Outcome, StatusUpdate, status_update
from ovnlb.diff.plan import Effect, Phase, Plan
from ovnlb.diff.policy import Policy
from ovnlb.observed.neutron_errors import NeutronRefused, NeutronUnavailable
from ovnlb.observed.topology import subnet_ids
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.errors import NotLeader, StalePlan, Terminal, Transient
from ovnlb.reconciler.walk import Walked, World, walk

LOG = logging.getLogger(__name__)

# How often a load balancer is walked again in one round because something moved under its plan.
REWALKS = 3


class Result(StrEnum):
    """How a load balancer's round ended; the label of ovnlb_reconcile_total."""

    CHANGED = "changed"
    NOOP = "noop"
    GONE = "gone"
    WAITING = "waiting"
    STALE = "stale"
    TRANSIENT = "transient"
    TERMINAL = "terminal"
    NOT_LEADER = "not_leader"
    REFUSED = "refused"


SETTLED = frozenset({Result.CHANGED, Result.NOOP})


@dataclass(frozen=True, slots=True)
class Done:
    """One load balancer's outcome. `update` is what Octavia must be told; None when nothing may be.

    `lb`: its graph as it was read last, None when it was not read or has gone. `transaction`: the
    comment of its last one in the server's log.
    """

    lb_id: str
    result: Result
    walked: Walked | None = None
    update: StatusUpdate | None = None
    error: str = ""
    plans: tuple[Plan, ...] = ()
    lb: LoadBalancer | None = None
    transaction: str = ""


Load = Callable[[Collection[str]], Graph]
Write = Callable[[Sequence[Plan]], AppliedEach]
# Carries out effects of one load balancer; says whether any was really done. Raises the four kinds.
Perform = Callable[[LoadBalancer, Sequence[Effect]], bool]
FailedIds = Callable[[LoadBalancer], Collection[str]]


def nothing_to_perform(_lb: LoadBalancer, _effects: Sequence[Effect]) -> bool:
    """For worlds without Neutron."""
    return False


@dataclass(frozen=True)
class Means:
    """How a round reads and writes. `failed`: ids whose verdict is ERROR (see error_after).

    accept: why a plan must not be written, empty when it may; every walk is asked about again.
    """

    world: World
    load: Load
    write: Write
    perform: Perform = nothing_to_perform
    fips: Mapping[str, str] | None = None
    vip_port_exists: Callable[[LoadBalancer], bool] = lambda lb: True
    failed: FailedIds = lambda lb: ()
    accept: Callable[[Plan], str] = lambda plan: ""


@dataclass
class _State:
    """A load balancer on its way through the round."""

    lb_id: str
    lb: LoadBalancer | None = None
    walked: Walked | None = None
    done: Done | None = None
    applied: list[Plan] = field(default_factory=list)
    transaction: str = ""


def play(ids: Iterable[str], means: Means) -> tuple[Done, ...]:
    """Reconcile these load balancers; one outcome each, in the order of the ids.

    Raises only what `means.load` raises: without a graph there is nobody to blame.
    """
    states = {lb_id: _State(lb_id) for lb_id in dict.fromkeys(ids)}
    for _ in range(REWALKS):
        open_ids = [state.lb_id for state in states.values() if state.done is None]
        if not open_ids:
            break
        _walk_again(open_ids, states, means)
        ready = [state for state in states.values() if state.done is None and _first_effects(state, means)]
        _write(ready, means)
    for state in states.values():
        if state.done is None:
            state.done = _over(state, Result.STALE, "the database kept changing under the plan")
    return tuple(state.done for state in states.values() if state.done)


def _walk_again(ids: Sequence[str], states: Mapping[str, _State], means: Means) -> None:
    graph = means.load(ids)
    for broken in graph.broken:
        states[broken.id].done = Done(broken.id, Result.TERMINAL, error=broken.reason, lb=broken.lb)
    found = {lb.id: lb for lb in graph.load_balancers if lb.provisioning_status != Provisioning.DELETED}
    # One listing for the subnets of all; when it fails, each load balancer meets that by itself.
    with suppress(NeutronUnavailable, NeutronRefused):
        means.world.neutron.subnets({subnet for lb in found.values() for subnet in subnet_ids(lb)})
    for lb_id in ids:
        state = states[lb_id]
        if state.done is None and lb_id not in found:
            state.done = Done(lb_id, Result.GONE, plans=tuple(state.applied))
        elif state.done is None:
            _guarded(state, partial(_walk, state, found[lb_id], means))


def _walk(state: _State, lb: LoadBalancer, means: Means) -> None:
    state.lb, state.walked = lb, None
    state.walked = walk(lb, means.world, means.fips)
    plan, unaccepted = state.walked.plan, means.accept(state.walked.plan)
    if plan.refused or unaccepted:
        # What the guard refuses is this load balancer's own failure, and must not leave it PENDING.
        guard = not unaccepted and means.world.policy is not Policy.OBSERVE_ONLY
        result = Result.TERMINAL if guard else Result.REFUSED
        state.done = _over(state, result, "; ".join(filter(None, (*plan.refused, unaccepted))))


def _first_effects(state: _State, means: Means) -> bool:
    """Whether the plan can be written now; effects that were done send it back to the start."""
    walked = state.walked
    if walked is None:
        return False
    first = [effect for effect in walked.plan.effects if effect.phase is Phase.BEFORE]
    performed = bool(first) and _guarded(state, partial(means.perform, walked.lb, first))
    if state.done is not None or performed:
        return False
    if _has_placeholder(walked.plan):
        state.done = _over(state, Result.WAITING, "waiting for the address of a health-monitor port")
    return state.done is None


def _write(states: Sequence[_State], means: Means) -> None:
    plans = [state.walked.plan for state in states if state.walked and state.walked.plan.changes]
    outcome = means.write(plans) if plans else AppliedEach()
    for state in states:
        error = outcome.failed.get(state.lb_id)
        if isinstance(error, StalePlan):
            continue  # stays open: walked again
        if error is not None:
            state.done = _over(state, _result_of(error), str(error))
            continue
        applied = outcome.applied.get(state.lb_id)
        if applied is not None and applied.changes.get(state.lb_id) and state.walked:
            state.applied.append(state.walked.plan)
            state.transaction = applied.comment
        _guarded(state, partial(_finish, state, means))


def _finish(state: _State, means: Means) -> None:
    walked = state.walked
    if walked is None:
        return
    last = [effect for effect in walked.plan.effects if effect.phase is Phase.AFTER]
    if last:
        means.perform(walked.lb, last)
    outcome = Outcome(frozenset(means.failed(walked.lb)), means.vip_port_exists(walked.lb))
    update = status_update(walked.lb, walked.desired.members, outcome)
    result = Result.CHANGED if state.applied or walked.plan.effects else Result.NOOP
    plans, transaction = tuple(state.applied), state.transaction
    state.done = Done(state.lb_id, result, walked, update, plans=plans, lb=walked.lb, transaction=transaction)


def _guarded(state: _State, work: Callable[[], bool | None]) -> bool:
    """Do something for one load balancer; its failure becomes its outcome."""
    try:
        return bool(work())
    except Exception as error:  # isolation is the contract: the others go on
        result = _result_of(error)
        if result is Result.TERMINAL:
            LOG.exception("load balancer %s", state.lb_id)
        state.done = _over(state, result, f"{type(error).__name__}: {error}")
        return False


def _result_of(error: Exception) -> Result:
    if isinstance(error, StalePlan):
        return Result.STALE
    if isinstance(error, NotLeader):
        return Result.NOT_LEADER
    if isinstance(error, Transient | NeutronUnavailable | OSError):
        return Result.TRANSIENT
    if isinstance(error, Terminal | NeutronRefused):
        return Result.TERMINAL
    return Result.TERMINAL


def _over(state: _State, result: Result, error: str) -> Done:
    plans, transaction = tuple(state.applied), state.transaction
    return Done(state.lb_id, result, state.walked, None, error, plans, state.lb, transaction)


def _has_placeholder(plan: Plan) -> bool:
    return any(PLACEHOLDER in value for row in plan.want.rows for value in row.ip_port_mappings.values())
