"""Octavia with one of the two providers: driver-agent, API and, for ovnlb, its daemon. Switched while the
stack runs.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from stack import settings
from stack.processes import Processes, StackError
from stack.services import answers, serve, write
from stack.settings import Place

Name = Literal["original", "ovnlb"]
PROCESSES = ("octavia-api", "ovnlb-run", "octavia-driver-agent")


class Octavia:
    """Octavia's processes; ``venvs`` holds one environment for each provider.

    ``layout`` says where ovnlb's loop runs: ``daemon`` (ovnlb run) or ``agent``
    (inside octavia-driver-agent).
    """

    def __init__(
        self,
        processes: Processes,
        place: Place,
        venvs: Mapping[Name, Path],
        database: str,
        nb: str,
        sb: str,
    ) -> None:
        self.processes, self.place, self.venvs = processes, place, venvs
        self.database, self.nb, self.sb = database, nb, sb
        self.conf = place.directory("etc") / "octavia.conf"
        self.provider: Name | None = None
        self._configure("ovn")

    def _configure(self, agents: str) -> None:
        sections = settings.octavia(self.place, self.database, self.nb, self.sb, agents)
        write(self.conf, sections)

    def begin_migration(self, venv: Path) -> None:
        """Start the schema migration."""
        manage = str(venv / "bin" / "octavia-db-manage")
        self.processes.start(
            "octavia-migration", [manage, "--config-file", str(self.conf), "upgrade", "head"]
        )

    def finish_migration(self) -> None:
        """Wait for the schema migration."""
        self.processes.finish("octavia-migration")

    @property
    def venv(self) -> Path:
        """The environment of the provider that runs."""
        if self.provider is None:
            raise StackError("no provider runs")
        return self.venvs[self.provider]

    def begin(self, provider: Name, layout: Literal["daemon", "agent"] = "daemon") -> None:
        """Start Octavia with a provider, the driver-agent first: the original's API waits for its sockets."""
        self.provider = provider
        self._configure("ovn" if provider == "original" or layout == "agent" else "")
        logs, run = self.place.directory("logs"), self.place.octavia_run
        for name in ("status", "stats", "get"):
            (run / f"{name}.sock").unlink(missing_ok=True)
        prefix = self._private_run() if provider == "original" else ()
        self.processes.start(
            "octavia-driver-agent",
            [
                *prefix,
                str(self.venv / "bin" / "octavia-driver-agent"),
                "--config-file",
                str(self.conf),
                "--log-file",
                str(logs / "octavia-driver-agent.log"),
            ],
        )
        self.processes.wait_for("octavia-driver-agent", (run / "get.sock").exists, 120)
        arguments = shlex.join(
            ["--config-file", str(self.conf), "--log-file", str(logs / "octavia-api.log")]
        )
        serve(
            self.processes,
            self.venv,
            "octavia-api",
            "octavia",
            self.place.ports.octavia,
            arguments,
            prefix=prefix,
        )
        if provider == "ovnlb" and layout == "daemon":
            self.start_daemon()

    def start_daemon(self) -> None:
        """Start ``ovnlb run``."""
        self.processes.start(
            "ovnlb-run", [str(self.venv / "bin" / "ovnlb"), "run", "--config-file", str(self.conf)]
        )

    def stop_daemon(self) -> None:
        """Stop ``ovnlb run``."""
        self.processes.stop("ovnlb-run", 60)

    def wait(self) -> None:
        """Wait until the API answers."""
        self.processes.wait_for("octavia-api", lambda: answers(self.place.url("octavia") + "/"), 180)

    def stop(self) -> None:
        """Stop the API, the daemon and the driver-agent."""
        for name in PROCESSES:
            self.processes.stop(name, 60)
        self.provider = None

    def switch(self, provider: Name, layout: Literal["daemon", "agent"] = "daemon") -> None:
        """Stop the provider that runs and start another, as an operator does in one maintenance step."""
        self.stop()
        self.begin(provider, layout)
        self.wait()

    def _private_run(self) -> tuple[str, ...]:
        """A mount namespace whose /run is a directory of this stack: the original knows /var/run/octavia
        only.
        """
        script = 'mount --bind "$0" /run && exec "$@"'
        return (
            "unshare",
            "-m",
            "--propagation",
            "private",
            "bash",
            "-c",
            script,
            str(self.place.octavia_run.parent),
        )

    def ovnlb(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run the ``ovnlb`` command of ovnlb's environment on this stack's configuration."""
        argv = [
            str(self.venvs["ovnlb"] / "bin" / "ovnlb"),
            arguments[0],
            "--config-file",
            str(self.conf),
            *arguments[1:],
        ]
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=timeout, env=self.processes.env, check=False
        )
