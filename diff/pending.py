"""Why objects of a load balancer are PENDING or in ERROR: what keeps them from their verdict. Pure.

Octavia's API refuses changes while anything is PENDING. The verdict comes when the plan is empty, or
was applied, and the report of it has reached Octavia. Source: architecture.md section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ovnlb.desired.findings import Finding
from ovnlb.desired.model import PENDING, LoadBalancer, Provisioning
from ovnlb.diff.plan import Plan


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An object that is not ACTIVE. `kind`: loadbalancer, listener, pool, member, healthmonitor or l7."""

    kind: str
    id: str
    status: str


def unsettled(lb: LoadBalancer) -> tuple[Unsettled, ...]:
    """The objects of the graph that are PENDING or in ERROR, the load balancer first."""
    return tuple(one for one in _objects(lb) if one.status in PENDING or one.status == Provisioning.ERROR)


def _objects(lb: LoadBalancer) -> Iterator[Unsettled]:
    yield Unsettled("loadbalancer", lb.id, lb.provisioning_status)
    for listener in lb.listeners:
        yield Unsettled("listener", listener.id, listener.provisioning_status)
        yield from (Unsettled("l7", one.id, one.provisioning_status) for one in listener.l7)
    for pool in lb.pools:
        yield Unsettled("pool", pool.id, pool.provisioning_status)
        yield from (Unsettled("member", one.id, one.provisioning_status) for one in pool.members)
        if pool.health_monitor is not None:
            monitor = pool.health_monitor
            yield Unsettled("healthmonitor", monitor.id, monitor.provisioning_status)


def why(
    waits: Sequence[Unsettled], plan: Plan, daemon: Mapping[str, Any] | None, offline: bool = False
) -> tuple[Finding, ...]:
    """What stands between these objects and their verdict; nothing when there are none.

    daemon: what the service of this host thinks of the load balancer, None when none answers.
    offline: the graph is a bundle's, and no service was asked.
    """
    if not waits:
        return ()
    found = [*_plan(plan), *(_daemon(daemon) if daemon is not None else ())]
    if daemon is None and not offline:
        found.append(
            Finding(
                "no_daemon",
                "no ovnlb service answers on this host: it runs elsewhere, or nobody does the work "
                "(ovnlb apply does it once)",
                cause=False,
            )
        )
    return tuple(found)


def _plan(plan: Plan) -> Iterator[Finding]:
    yield from (Finding("waiting", f"Neutron has not made {name} yet") for name in plan.waiting)
    yield from (Finding("refused", f"its changes are refused: {reason}") for reason in plan.refused)
    if not plan.empty:
        work = f"{len(plan.changes)} changes"
        if plan.effects:
            work += f" and {len(plan.effects)} effects in Neutron"
        yield Finding("not_applied", f"its rows are not as they must be yet: {work} are to be made")
    elif not (plan.waiting or plan.refused):
        yield Finding(
            "not_reported",
            "its rows are as they must be: only the report to Octavia is missing (the octavia-driver-agent "
            "takes it)",
        )


def _daemon(daemon: Mapping[str, Any]) -> Iterator[Finding]:
    last = daemon.get("last") or {}
    if daemon.get("role") not in (None, "leader"):
        yield Finding(
            "not_leader", f"the service of this host is {daemon['role']}: another one writes", cause=False
        )
    if last.get("error"):
        yield Finding("last_error", f"the service's last try ended in {last.get('result')}: {last['error']}")
    if daemon.get("next_retry_in") is not None:
        yield Finding(
            "retry",
            f"the service tries again in {max(0, daemon['next_retry_in']):g} s "
            f"(after {daemon.get('failures', 0)} failures)",
            cause=False,
        )
    if daemon.get("report_waits"):
        error = daemon.get("report_error")
        yield Finding("report_waits", "its report to Octavia waits" + (f": {error}" if error else ""))
