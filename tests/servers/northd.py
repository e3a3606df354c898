"""A private ovn-northd between a test's Northbound and Southbound servers."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers.ovsdb import OvsdbServer, appctl, wait_until

_PATIENCE = 30.0


class Northd:
    """The process. `nb` and `sb`: the servers that it works for."""

    def __init__(self, nb: OvsdbServer, sb: OvsdbServer) -> None:
        self._nb = nb
        self._directory = Path(tempfile.mkdtemp(prefix="ovnlb-nd-"))
        self._control = self._directory / "ctl"
        self.process = subprocess.Popen(
            [
                "/usr/bin/ovn-northd",
                "-vconsole:off",
                f"--log-file={self._directory / 'log'}",
                f"--unixctl={self._control}",
                f"--ovnnb-db={nb.unix}",
                f"--ovnsb-db={sb.unix}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def rounds(self) -> int:
        """How often it has computed all logical flows so far."""
        return int(appctl(self._control, "inc-engine/show-stats", "northd", "recompute").split()[-1])

    def settle(self) -> None:
        """Wait until everything that is in the Northbound database is in the Southbound one."""
        bump = {"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["nb_cfg", "+=", 1]]}
        self._nb.transact(bump)
        wait_until(self._has_caught_up, "northd to catch up", _PATIENCE)

    def _has_caught_up(self) -> bool:
        (row,) = self._nb.rows("NB_Global")
        return bool(row["sb_cfg"] >= row["nb_cfg"])

    def freeze(self) -> None:
        """Stop working without closing any connection (SIGSTOP)."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Go on after `freeze`."""
        self.process.send_signal(signal.SIGCONT)

    def start(self) -> None:
        """Wait until it works."""
        wait_until(lambda: self._nb.rows("NB_Global"), "northd to make NB_Global", _PATIENCE)
        self.settle()

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def running_northd(nb: OvsdbServer, sb: OvsdbServer) -> Iterator[Northd]:
    """A northd that has done its first round."""
    made = Northd(nb, sb)
    try:
        made.start()
        yield made
    finally:
        made.close()
