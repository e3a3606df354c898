"""Operating statuses: of members from their monitors, of what stands above them by roll-up.

Source: architecture.md section 4, the table of operating statuses. Computed from the graph on every
pass; ids come from the graph only.
"""

from __future__ import annotations

from collections.abc import Mapping

from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.intent import GONE, RowIntent, ServedPool
from ovnlb.desired.model import Listener, LoadBalancer, Member, Operating, Pool

_FAILED = frozenset({"offline", "error"})


def member_statuses(
    row: RowIntent,
    expected: Mapping[str, tuple[MonitorKey | None, int]],
    health: Health,
    drain: bool,
) -> dict[str, str]:
    """Member id -> operating status, of all members of the row's pools.

    `expected` is what `ovnlb.desired.health.expected_monitors` found; `drain` is the option
    drain_on_zero_weight.
    """
    return {
        member.id: _member_status(member, served, expected, health, drain)
        for served in row.pools
        for member in (*(backend.member for backend in served.backends), *served.unplaced)
    }


def _member_status(
    member: Member,
    served: ServedPool,
    expected: Mapping[str, tuple[MonitorKey | None, int]],
    health: Health,
    drain: bool,
) -> str:
    if not member.enabled:
        return Operating.OFFLINE
    if drain and member.weight == 0:
        return Operating.DRAINING
    if member in served.unplaced:
        return Operating.ERROR
    if served.monitor is None or not served.monitor.enabled or member.id not in expected:
        return Operating.NO_MONITOR
    key, _interval = expected[member.id]
    if key is None:
        return Operating.ERROR
    return monitored_status(key, member.operating_status, health)


def monitored_status(key: MonitorKey, last: str, health: Health) -> str:
    """The status of a member with a monitor: online, offline or error as OVN says, else the last.

    An empty or missing monitor changes nothing until it is overdue, and a Southbound database that
    cannot be read never does.
    """
    if not health.complete:
        return last
    status = health.monitors.get(key, "")
    if status == "online":
        return Operating.ONLINE
    if status in _FAILED or key in health.overdue:
        return Operating.ERROR
    return last


def operating_statuses(lb: LoadBalancer, members: Mapping[str, str]) -> dict[str, str]:
    """Object id -> operating status of the LB and of all its living children.

    `members` are the members' own statuses; the rest follows from them and from the admin states.
    """
    statuses = dict(members)
    listeners = [item for item in lb.listeners if item.provisioning_status not in GONE]
    attached = {listener.default_pool_id for listener in listeners}
    for pool in lb.pools:
        if pool.provisioning_status in GONE:
            continue
        statuses[pool.id] = _pool_status(pool, members, pool.id in attached)
        monitor = pool.health_monitor
        if monitor is not None and monitor.provisioning_status not in GONE:
            statuses[monitor.id] = Operating.ONLINE if monitor.enabled else Operating.OFFLINE
    for listener in listeners:
        statuses[listener.id] = _listener_status(listener, statuses)
    statuses[lb.id] = _lb_status(lb, [statuses[listener.id] for listener in listeners])
    return statuses


def _pool_status(pool: Pool, members: Mapping[str, str], attached: bool) -> str:
    if not pool.enabled:
        return Operating.OFFLINE
    states = [members.get(item.id) for item in pool.members if item.provisioning_status not in GONE]
    if not states:
        return Operating.ONLINE if attached else Operating.OFFLINE
    failed = states.count(Operating.ERROR)
    if failed == len(states):
        return Operating.ERROR
    return Operating.DEGRADED if failed else Operating.ONLINE


def _listener_status(listener: Listener, statuses: Mapping[str, str]) -> str:
    if not listener.enabled:
        return Operating.OFFLINE
    below = statuses.get(listener.default_pool_id or "")
    return below if below in (Operating.ERROR, Operating.DEGRADED) else Operating.ONLINE


def _lb_status(lb: LoadBalancer, listeners: list[str]) -> str:
    if not lb.enabled:
        return Operating.OFFLINE
    for worst in (Operating.ERROR, Operating.DEGRADED):
        if worst in listeners:
            return worst
    return Operating.ONLINE
