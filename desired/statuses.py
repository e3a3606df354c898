"""Operating statuses: of members here, of what stands above them by roll-up.

Source: architecture.md section 4, the table of operating statuses. Computed from the graph on every
pass; ids come from the graph only.
"""

from __future__ import annotations

from collections.abc import Mapping

from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.intent import RowIntent, ServedPool
from ovnlb.desired.model import Member, Operating

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
