"""One whole private stack: started in the order that its parts need, every stage timed, all of it stopped
at the end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType

import openstack

from stack import venvs
from stack.dataplane import Dataplane
from stack.mariadb import Database
from stack.ovn import Ovn, Release
from stack.processes import Processes, StackError
from stack.provider import Name, Octavia
from stack.services import Keystone, Neutron, connect
from stack.settings import Place


class Stack:
    """MariaDB, OVN with a data path, Keystone, Neutron and Octavia, below one directory and on loopback."""

    def __init__(self, root: Path, release: Release, environments: Mapping[Name, Path]) -> None:
        self.place = Place(root)
        temporary = self.place.directory("tmp")
        base = environments["original"]
        self.processes = Processes(
            self.place.directory("logs"),
            {
                "PATH": f"{base}/bin:{release.path}",
                "HOME": str(temporary),
                "TMPDIR": str(temporary),
                "LANG": "C.UTF-8",
            },
        )
        ports = self.place.ports
        self.database = Database(
            self.processes, self.place.directory("mariadb"), ports.database, "secret"
        )
        self.ovn = Ovn(self.processes, self.place.directory("ovn"), release, ports.nb, ports.sb)
        self.dataplane = Dataplane(self.processes, self.place.directory("ovs"), self.ovn)
        nb, sb, url = self.ovn.remote("nb"), self.ovn.remote("sb"), self.database.url
        self.keystone = Keystone(self.processes, self.place, base, url("keystone"))
        self.neutron = Neutron(self.processes, self.place, base, url("neutron"), nb, sb)
        self.octavia = Octavia(self.processes, self.place, environments, url("octavia"), nb, sb)
        self.timings: list[tuple[str, float]] = []

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record how long a stage takes."""
        begin = time.monotonic()
        yield
        self.timings.append((name, time.monotonic() - begin))

    def start(self, provider: Name) -> None:
        """Bring everything up from empty directories."""
        base = self.octavia.venvs["original"]
        with self.stage("all"):
            with self.stage("mariadb"):
                self.database.start()
            self.keystone.begin_migration()
            self.neutron.begin_migration()
            self.octavia.begin_migration(base)
            with self.stage("ovn"):
                self.ovn.start()
            with self.stage("data path"):
                self.dataplane.start()
            with self.stage("migrations, keystone"):
                self.keystone.start()
            with self.stage("neutron migration"):
                self.neutron.begin()
            with self.stage("catalog"):
                self.keystone.fill_catalog()
            with self.stage("octavia migration, driver-agent"):
                self.octavia.finish_migration()
                self.octavia.begin(provider)
            with self.stage("neutron-api"):
                self.neutron.wait()
                self.neutron.begin_maintenance()
            with self.stage("octavia-api"):
                self.octavia.wait()
            with self.stage("neutron-maintenance"):
                self.processes.wait_for("neutron-maintenance", self._global_options_are_set, 180)

    def _global_options_are_set(self) -> bool:
        (row,) = self.ovn.rows("nb", "NB_Global")
        return "ignore_lsp_down" in row["options"]

    def connect(self, user: str = "admin", project: str = "admin") -> openstack.connection.Connection:
        """An openstacksdk connection."""
        return connect(self.place, user, project)

    def report(self) -> str:
        """A line for each stage."""
        return "\n".join(f"{seconds:7.1f} s  {name}" for name, seconds in self.timings)


def _raise_exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def running(provider: Name, release: Release | None = None, keep: bool = False) -> Iterator[Stack]:
    """A running stack; stopped and its directory removed at the end, also on SIGTERM. Needs root.

    ``OVNLB_STACK_KEEP=1`` keeps the directory (logs, databases) of a stack that has been stopped.
    """
    if os.geteuid() != 0:
        raise StackError("the stack needs root: it makes network and mount namespaces")
    environments: dict[Name, Path] = {"original": venvs.original(), "ovnlb": venvs.ovnlb()}
    root = Path(tempfile.mkdtemp(prefix="ovnlb-stack-", dir="/tmp"))
    previous = signal.signal(signal.SIGTERM, _raise_exit)
    stack = Stack(root, release or Release(), environments)
    try:
        stack.start(provider)
        yield stack
    finally:
        stack.processes.stop_all()
        signal.signal(signal.SIGTERM, previous)
        if not (keep or os.environ.get("OVNLB_STACK_KEEP")):
            shutil.rmtree(root, ignore_errors=True)
