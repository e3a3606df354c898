"""Octavia's status socket through octavia-lib: absent, hanging and refusing agents told apart.

Source: octavia-contract.md section 5. The socket is never connected to without a whole message: the
agent would leave a process spinning for each such connection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from octavia_lib.api.drivers import driver_lib, exceptions

from ovnlb.reconciler.report import AgentRefused, AgentUnavailable
from ovnlb.reconciler.settings import AgentSockets


class StatusSocket:
    """Sends messages to the driver-agent of this host, whenever it is there."""

    def __init__(self, sockets: AgentSockets) -> None:
        self._sockets = sockets
        self._library: Any = None

    def __call__(self, message: Mapping[str, Any]) -> None:
        """Send one message. Raises AgentUnavailable and AgentRefused."""
        try:
            self._connected().update_loadbalancer_status(dict(message))
        except exceptions.UpdateStatusError as error:
            text = str(error.fault_string)
            # octavia-lib wraps what went wrong with the socket, and raises bare what the agent answered.
            if error.__context__ is not None:
                raise AgentUnavailable(f"driver-agent at {self._sockets.status}: {text}") from error
            where = " ".join(str(part) for part in (error.status_object, error.status_object_id) if part)
            raise AgentRefused(f"{text}{f' ({where})' if where else ''}") from error

    def _connected(self) -> Any:
        missing = [path for path in self._paths() if not os.path.exists(path)]
        if missing:
            # The library's constructor would wait for minutes.
            raise AgentUnavailable(f"no driver-agent: {', '.join(missing)} does not exist")
        if self._library is None:
            self._library = driver_lib.DriverLibrary(*self._paths())
        return self._library

    def _paths(self) -> tuple[str, str, str]:
        return self._sockets.status, self._sockets.stats, self._sockets.get
