"""Southbound `Service_Monitor` rows as `Health`, and since when an expected one is missing.

Source: architecture.md section 4; ovn-sb(5) table Service_Monitor. OVN 23.03 leaves `status` empty
until the first probe, later releases start with `offline`; columns that we do not know are ignored.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.observed.bundle_form import first, tables, text

GRACE_INTERVALS = 3
ABSENT = ""
_WORST_FIRST = ("error", "offline", ABSENT, "online")
_OUR_TYPES = frozenset({"", "load-balancer"})


def monitor_key(row: Mapping[str, Any]) -> MonitorKey | None:
    """The key of a Service_Monitor row, None for one that no member can own.

    Such are rows of another `type` (network functions, logical switch ports), and rows without a
    readable address or port. An empty protocol is tcp.
    """
    address, port = canonical(text(row.get("ip"))), first(row.get("port"))
    if text(row.get("type")) not in _OUR_TYPES or address is None or not isinstance(port, int):
        return None
    protocol = text(row.get("protocol")).lower() or "tcp"
    return MonitorKey(text(row.get("logical_port")), address, port, protocol)


def monitor_status(row: Mapping[str, Any]) -> str:
    """online, offline, error or empty; a word that OVN may add later counts as empty."""
    status = text(row.get("status")).lower()
    return status if status in _WORST_FIRST else ABSENT


def worst(statuses: Iterable[str]) -> str:
    """The one that counts of several rows with one key."""
    return min(statuses, key=_WORST_FIRST.index)


def health(
    rows: Iterable[Mapping[str, Any]], complete: bool, overdue: frozenset[MonitorKey] = frozenset()
) -> Health:
    """The monitors by key. Of several rows with one key (source addresses differ) the worst counts.

    `complete`: the whole table has been read and the connection stands.
    """
    monitors: dict[MonitorKey, str] = {}
    for row in rows:
        key = monitor_key(row)
        if key is not None:
            status = monitor_status(row)
            monitors[key] = worst((status, monitors.get(key, status)))
    return Health(monitors, complete, overdue)


def bundle_health(sb: Mapping[str, Any] | None) -> Health:
    """Health out of the `sb` part of a bundle. Nothing is overdue: a bundle is one moment.

    Raises BundleError on a malformed part. A bundle without Service_Monitor is not complete.
    """
    found = tables("sb", sb, "_uuid")
    return health(found.get("Service_Monitor", ()), complete="Service_Monitor" in found)


class AbsenceTracker:
    """Since when this process misses monitors that it expects, by load balancer.

    `clock` gives monotonic seconds. Time stands still while the Southbound database is away, so that
    a reconnect downgrades nobody. Thread-safe.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._away_since: float | None = None
        self._away_total = 0.0
        # Per load balancer: when a missed key becomes overdue, in the tracker's own time.
        self._deadlines: dict[str, dict[MonitorKey, float]] = {}
        self._reported: dict[str, frozenset[MonitorKey]] = {}

    def disconnected(self) -> None:
        """The Southbound database is away: stop ageing. Idempotent."""
        with self._lock:
            if self._away_since is None:
                self._away_since = self._clock()

    def connected(self) -> None:
        """It is back and complete: go on ageing. Idempotent."""
        with self._lock:
            if self._away_since is not None:
                self._away_total += self._clock() - self._away_since
                self._away_since = None

    def update(
        self,
        lb_id: str,
        expected: Mapping[MonitorKey, float],
        monitors: Mapping[MonitorKey, str],
        complete: bool,
    ) -> frozenset[MonitorKey]:
        """The overdue keys among those expected for one load balancer (value: interval in seconds).

        A key that is no longer expected, or has a status, starts anew the next time it is missed.
        Nothing is overdue while `complete` is False.
        """
        if not complete:
            self.disconnected()
            return frozenset()
        self.connected()
        with self._lock:
            now = self._now()
            known = self._deadlines.get(lb_id, {})
            missed = {
                key: known.get(key, now + GRACE_INTERVALS * interval)
                for key, interval in expected.items()
                if monitors.get(key, ABSENT) == ABSENT
            }
            overdue = frozenset(key for key, deadline in missed.items() if deadline <= now)
            self._keep(lb_id, missed, overdue)
            return overdue

    def due(self) -> tuple[str, ...]:
        """The load balancers with a key that became overdue since their last update, sorted."""
        with self._lock:
            now = self._now()
            return tuple(
                lb_id
                for lb_id, missed in sorted(self._deadlines.items())
                if any(
                    deadline <= now and key not in self._reported.get(lb_id, ())
                    for key, deadline in missed.items()
                )
            )

    def forget(self, lb_id: str) -> None:
        """The load balancer is gone."""
        with self._lock:
            self._keep(lb_id, {}, frozenset())

    def _keep(self, lb_id: str, missed: dict[MonitorKey, float], overdue: frozenset[MonitorKey]) -> None:
        if missed:
            self._deadlines[lb_id] = missed
            self._reported[lb_id] = overdue
        else:
            self._deadlines.pop(lb_id, None)
            self._reported.pop(lb_id, None)

    def _now(self) -> float:
        """The tracker's own time: the clock without the spells of absence."""
        clock = self._clock() if self._away_since is None else self._away_since
        return clock - self._away_total
