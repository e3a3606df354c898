"""Telling systemd: READY, WATCHDOG, RELOADING, STOPPING. Source: sd_notify(3), without any library."""

from __future__ import annotations

import os
import socket
from contextlib import suppress


def notify(state: str) -> None:
    """Send a state to the service manager; nothing happens without one."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    address = f"\0{path[1:]}" if path.startswith("@") else path
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as made:
        made.sendto(state.encode(), address)


def watchdog_interval() -> float | None:
    """Seconds between two WATCHDOG=1: half of what systemd waits. None when it does not watch us."""
    microseconds, pid = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not microseconds.isdigit() or (pid and pid != str(os.getpid())):
        return None
    return int(microseconds) / 2_000_000
