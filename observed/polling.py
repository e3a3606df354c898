"""Waiting for descriptors of any number: python-ovs waits with select(), which ends at 1024.

A long-lived process that serves many sockets passes that limit. poll() itself takes one registration
per descriptor, so several for one descriptor are merged here.
"""

from __future__ import annotations

import select
import threading
from typing import Any

from ovs import poller
from ovsdbapp.backend.ovs_idl import connection


class _Poll:
    def __init__(self) -> None:
        self._poll, self._masks = select.poll(), dict[int, int]()

    def register(self, fd: Any, events: int) -> None:
        number = fd if isinstance(fd, int) else fd.fileno()
        self._masks[number] = self._masks.get(number, 0) | events
        self._poll.register(number, self._masks[number])

    def poll(self, timeout: int) -> list[tuple[int, int]]:
        """`timeout` in milliseconds, -1 for ever."""
        return self._poll.poll(None if timeout < 0 else timeout)


class Poller(poller.Poller):  # type: ignore[misc]
    """python-ovs' Poller over poll()."""

    def __init__(self) -> None:
        super().__init__()
        self.poll = _Poll()

    def block(self) -> None:
        """Wait for what was registered, once."""
        try:
            super().block()
        finally:
            self.poll = _Poll()


class Link(connection.Connection):  # type: ignore[misc]
    """ovsdbapp's connection thread, waiting with poll(). It loads the database by itself."""

    thread: threading.Thread | None

    def start(self) -> bool:
        """Start the thread; False when it runs already."""
        with self.lock:
            if self.thread is not None:
                return False
            self.poller, self.is_running = Poller(), True
            self.thread = threading.Thread(target=self.run, name="ovnlb-ovsdb", daemon=True)
            self.thread.start()
            return True
