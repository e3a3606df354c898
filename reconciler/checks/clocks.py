"""Whether the clocks of OVN's hosts and of this one agree: timestamps that lie in the future tell.

northd and every ovn-controller stamp what they have finished (ovn-nb(5) NB_Global, ovn-sb(5)
Chassis_Private). A stamp may be old, since nothing has changed; it is never from the future, and no
chassis finishes a configuration before northd has begun it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ovnlb.reconciler.checks.finding import Finding, ok, warning
from ovnlb.reconciler.checks.ovsdb import northbound_of, southbound_of
from ovnlb.reconciler.settings import Settings

# Seconds that clocks may differ: health monitors and statuses are told apart by whole seconds.
TOLERANCE = 2.0
_NAMED = 5


def clocks(settings: Settings, patience: float) -> Iterator[Finding]:
    """One finding. Yields nothing when nobody serves the databases."""
    half = patience / 2
    nb = northbound_of(settings).best(half)
    if nb is None:
        return
    columns = ("nb_cfg", "sb_cfg", "nb_cfg_timestamp", "sb_cfg_timestamp")
    rows = nb.select("NB_Global", columns)
    sb = southbound_of(settings).best(half)
    chassis = [] if sb is None else sb.select("Chassis_Private", ("name", "nb_cfg", "nb_cfg_timestamp"))
    state: Mapping[str, Any] = rows[0] if rows else {}
    wrong = list(skewed(time.time(), state, chassis))
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        yield warning("clocks", f"{'; '.join(wrong[:_NAMED])}{more}: run NTP on every host")
    elif state.get("nb_cfg_timestamp") or any(row.get("nb_cfg_timestamp") for row in chassis):
        yield ok(
            "clocks",
            f"no stamp of ovn-northd or of {len(chassis)} chassis contradicts the clock of this host",
        )
    else:
        yield ok("clocks", "nothing has a timestamp yet, so they cannot be compared")
    if state.get("nb_cfg", 0) > state.get("sb_cfg", 0):
        yield warning(
            "northd",
            f"sb_cfg {state['sb_cfg']} is behind nb_cfg {state['nb_cfg']}: ovn-northd is busy, or down",
        )


def skewed(now: float, state: Mapping[str, Any], chassis: list[dict[str, Any]]) -> Iterator[str]:
    """Every clock that cannot be right. `state` is the NB_Global row; stamps in milliseconds."""
    for column in ("nb_cfg_timestamp", "sb_cfg_timestamp"):
        ahead = state.get(column, 0) / 1000 - now
        if ahead > TOLERANCE:
            yield f"NB_Global {column} is {ahead:.0f} s ahead of this host"
            break
    begun = state.get("nb_cfg_timestamp", 0) / 1000
    for row in chassis:
        stamp = row.get("nb_cfg_timestamp", 0) / 1000
        if not stamp:
            continue
        if stamp - now > TOLERANCE:
            yield f"chassis {row['name']} is {stamp - now:.0f} s ahead of this host"
        elif begun and row.get("nb_cfg") == state.get("nb_cfg") and begun - stamp > TOLERANCE:
            yield f"chassis {row['name']} is {begun - stamp:.0f} s behind ovn-northd"
