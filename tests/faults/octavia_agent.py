"""Octavia's own driver-agent: its three listener processes, on a private Octavia database."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

from stack.processes import Processes


class OctaviaAgent:
    """The octavia-driver-agent of a virtual environment; the interface is that of `StatusAgent`."""

    def __init__(self, venv: Path, url: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ovnlb-f"))
        self._venv = venv
        sockets = "\n".join(f"{name}_socket_path = {self.path(name)}" for name in ("status", "stats", "get"))
        self._conf = self.directory / "octavia.conf"
        self._conf.write_text(
            f"[DEFAULT]\ntransport_url = fake://\n[database]\nconnection = {url}\n[driver_agent]\n{sockets}\n"
            "provider_agent_shutdown_timeout = 2\n"
        )
        environment = {"PATH": f"{venv}/bin:/usr/bin:/bin", "HOME": str(self.directory), "LANG": "C.UTF-8"}
        self._processes = Processes(self.directory, environment)

    def path(self, name: str) -> Path:
        """The socket's path: status, stats or get."""
        return self.directory / f"{name}.sock"

    @property
    def running(self) -> bool:
        """Whether the agent's main process lives."""
        return self._processes.alive("agent")

    @property
    def log(self) -> str:
        """What the agent wrote."""
        return (self.directory / "agent.out").read_text()

    def start(self) -> None:
        """Start it and wait for its sockets."""
        for name in ("status", "stats", "get"):
            self.path(name).unlink(missing_ok=True)
        program = str(self._venv / "bin" / "octavia-driver-agent")
        self._processes.start("agent", [program, "--config-file", str(self._conf)])
        paths = [self.path(name) for name in ("status", "stats", "get")]
        self._processes.wait_for("agent", lambda: all(path.exists() for path in paths), 120)

    def stop(self) -> None:
        """Stop it; its sockets stay behind, as they do after a crash."""
        self._processes.stop("agent")

    def freeze(self) -> None:
        """Stop all its processes: whoever connects waits."""
        os.killpg(self._processes.pid("agent"), signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        os.killpg(self._processes.pid("agent"), signal.SIGCONT)

    def reset(self) -> None:
        """Running."""
        if not self.running:
            self.start()

    def close(self) -> None:
        """End of the test."""
        self._processes.stop_all()
        shutil.rmtree(self.directory, ignore_errors=True)
