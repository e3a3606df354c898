"""Who holds the Northbound lock, and how a one-shot command gets its work done when it has it not.

OVSDB tells only that a lock is taken, not by whom; the daemon of this host answers over its socket.
Source: architecture.md section 7.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ovnlb.reconciler.live import LiveInputs
from ovnlb.reconciler.nudge_socket import ask

_PATIENCE = 3.0
_STEAL_PATIENCE = 10.0
# Ids in one question: a datagram must not be larger than 64 KiB.
_CHUNK = 1000


def take_lock(found: LiveInputs, steal: bool, say: Callable[[str], None]) -> bool:
    """Wait a moment for the lock, or take it from its holder; whether we have it."""
    nb = found.nb
    # The server's answer to a request for a free lock takes a moment.
    if nb.wait_for(lambda: nb.has_lock, 0.2 if steal else _PATIENCE):
        return True
    if not steal:
        return False
    say(f"taking the lock from {holder(found)}")
    return nb.steal_lock(_STEAL_PATIENCE)


def holder(found: LiveInputs) -> str:
    """Who holds the lock, as far as it can be told."""
    answer = ask(found.settings.nudge_socket, {"ask": "show"})
    if answer is None:
        return (
            "a process that does not answer on this host "
            f"({found.settings.nudge_socket}): an ovnlb elsewhere, or the agent of ovn-octavia-provider"
        )
    process = f" (process {answer['pid']})" if "pid" in answer else ""
    return f"the ovnlb daemon of this host{process}, {answer.get('role', 'of unknown role')}"


def taken(found: LiveInputs) -> str:
    """The sentence that says why nothing was written."""
    return f"the lock of {found.settings.nb.remotes} is held by {holder(found)}"


def hand_over(found: LiveInputs, ids: Sequence[str]) -> bool:
    """Give these load balancers to the daemon of this host; whether it took them all."""
    path = found.settings.nudge_socket
    for start in range(0, len(ids), _CHUNK):
        answer = ask(path, {"ask": "reconcile", "lb": list(ids[start : start + _CHUNK])})
        if answer is None or "queued" not in answer:
            return False
    return True


def hand_over_pruning(found: LiveInputs, request: dict[str, Any]) -> str:
    """Ask the daemon of this host to prune these objects; why it does not, empty when it will."""
    answer = ask(found.settings.nudge_socket, {"ask": "prune", **request})
    if answer is None:
        return "no daemon of this host answers"
    return str(answer.get("error", ""))


def until(
    done: Callable[[], bool],
    timeout: float,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Look again and again, at growing distances, until `done` or the time is over; whether it is done."""
    deadline, distance = clock() + timeout, 0.2
    while not done():
        left = deadline - clock()
        if left <= 0:
            return False
        pause(min(distance, left))
        distance = min(distance * 1.5, 5.0)
    return True
