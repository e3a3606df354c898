"""What happens to the listeners, pools and members of one row, as its external_ids tell.

`Work` is what Octavia is doing right now. Everything else about a row follows from here: its vips,
health checks and references change because a child does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ovnlb.desired import extids, rows
from ovnlb.desired.model import PENDING
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.diff import canon
from ovnlb.diff.plan import Reason


@dataclass(frozen=True, slots=True)
class Work:
    """Provisioning status by object id; None when nobody knows, and everything counts as asked for."""

    pending: Mapping[str, str] | None = None

    @property
    def known(self) -> bool:
        """Whether Octavia's statuses are at hand."""
        return self.pending is not None

    def busy(self, object_id: str, status: str | None = None) -> bool:
        """Whether Octavia is changing this object (in this way)."""
        if self.pending is None:
            return True
        now = self.pending.get(object_id)
        return now == status if status else now in PENDING


def child_reasons(want: LoadBalancerRow, have: LoadBalancerRow, work: Work) -> dict[str, Reason]:
    """The listeners and pools whose key or value changes, by id, with the reason."""
    mine, theirs = _children(want), _children(have)
    found = {}
    for child in sorted(mine.keys() | theirs.keys()):
        reason = _child(child, mine.get(child, {}), theirs.get(child, {}), work)
        if reason:
            found[child[1]] = reason
    return found


def _child(
    child: tuple[str, str], want: Mapping[str, str], have: Mapping[str, str], work: Work
) -> Reason | None:
    prefix, object_id = child
    listener = prefix == rows.LISTENER_PREFIX
    if not have:
        added = Reason.LISTENER_ADDED if listener else Reason.POOL_ADDED
        return added if work.busy(object_id, "PENDING_CREATE") else Reason.MISSING
    if not want:
        removed = Reason.LISTENER_REMOVED if listener else Reason.POOL_REMOVED
        return removed if work.busy(object_id, "PENDING_DELETE") else Reason.DRIFTED
    key, value = next(iter(want.items()))
    if key not in have:
        renamed = Reason.DISABLED if extids.is_disabled(key) else Reason.ENABLED
        return renamed if work.busy(object_id) else Reason.DRIFTED
    if canon.same_external_id(key, value, have[key]):
        return None if len(have) == 1 else Reason.DRIFTED
    if listener:
        return _listener_value(object_id, value, have[key], work)
    return _pool_value(value, have[key], work)


def _listener_value(listener_id: str, want: str, have: str, work: Work) -> Reason:
    pool, old = want.partition(":")[2], have.partition(":")[2]
    if old.endswith(rows.DISABLED_SUFFIX) or old == "pool_None":
        return Reason.LEGACY_FORM
    if work.known and pool and work.busy(extids.object_id(pool), "PENDING_CREATE"):
        return Reason.POOL_ADDED
    if work.known and old and work.busy(extids.object_id(old), "PENDING_DELETE"):
        return Reason.POOL_REMOVED
    return Reason.INTENT_CHANGED if work.busy(listener_id) else Reason.DRIFTED


def _pool_value(want: str, have: str, work: Work) -> Reason:
    mine, theirs = _members(want), _members(have)
    if any(work.busy(item, "PENDING_CREATE") for item in mine.keys() - theirs.keys()):
        return Reason.MEMBER_ADDED
    if any(work.busy(item, "PENDING_DELETE") for item in theirs.keys() - mine.keys()):
        return Reason.MEMBER_REMOVED
    if _plain(have) and _without_subnets(mine) == _without_subnets(theirs):
        return Reason.LEGACY_FORM
    changed = any(work.busy(item) for item in mine if mine[item] != theirs.get(item))
    return Reason.INTENT_CHANGED if changed else Reason.DRIFTED


def _children(row: LoadBalancerRow) -> dict[tuple[str, str], dict[str, str]]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    for key, value in row.external_ids.items():
        for prefix in (rows.LISTENER_PREFIX, rows.POOL_PREFIX):
            if key.startswith(prefix):
                found.setdefault((prefix, extids.object_id(key)), {})[key] = value
    return found


def _members(value: str) -> dict[str, extids.MemberEntry]:
    return {member.id: member for member in extids.parse_members(value)}


def _plain(value: str) -> bool:
    parts = extids.split_list(value)
    return len({*parts}) == len(parts) == len(_members(value))


def _without_subnets(members: Mapping[str, extids.MemberEntry]) -> dict[str, tuple[str, int]]:
    return {item: (member.address, member.port) for item, member in members.items()}
