"""A service in a process of its own that kills itself at one stage of its first work.

A file is marked right before, so that a test knows which stage was reached. Nothing of this is in the
product: the stages are found by replacing parts of a service before it runs. As a program it waits for
orders with everything imported, and forks a process for each: an interpreter with all libraries takes
longer to start than the walk that is to be killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from octavia_lib.api.drivers.driver_lib import DriverLibrary

from ovnlb.observed.commit import Commit
from ovnlb.reconciler.service import Service
from ovnlb.reconciler.settings import load_settings

STAGES = ("before_apply", "during_apply", "after_apply", "during_report")


class FailingService(Service):
    """A service that dies at `stage`."""

    def __init__(self, settings: Any, stage: str, mark: Path) -> None:
        super().__init__(settings)
        self.stage, self.mark = stage, mark

    def die(self, stage: str) -> None:
        """The end, if this is the stage."""
        if stage == self.stage:
            self.mark.write_text(stage)
            os.kill(os.getpid(), signal.SIGKILL)

    def _assemble(self, connections: Any) -> None:
        super()._assemble(connections)
        write = self.committer.write

        def dying(plans: Any) -> Any:
            self.die("before_apply")
            outcome = write(plans)
            self.die("after_apply")
            return outcome

        self.committer.write = dying  # type: ignore[method-assign]


def main(config: str, stage: str, mark: str) -> None:
    """Run until the stage is reached."""
    service = FailingService(load_settings([config]), stage, Path(mark))
    if stage == "during_report":
        # The message has been sent whole, the answer has not come.
        DriverLibrary._recv = lambda self, sock: service.die(stage)
    if stage == "during_apply":
        finish = Commit._finish

        def sent(commit: Any, txn: Any, status: str) -> Any:
            # The transaction is on its way; whether the server has it is open.
            service.die(stage)
            return finish(commit, txn, status)

        Commit._finish = sent  # type: ignore[method-assign]
    service.run(threading.Event())


def serve() -> None:
    """Each line of standard input is an order [config, stage, mark, log]; answered with the exit code."""
    for line in sys.stdin:
        config, stage, mark, log = json.loads(line)
        child = os.fork()
        if child == 0:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(output, 1)
            os.dup2(output, 2)
            main(config, stage, mark)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class Daemons:
    """Starts such processes, one after the other."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "faults.failing_daemon"]
        paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        # A session of its own, so that a process that does not die can be killed with it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **paths},
            start_new_session=True,
        )

    def run(self, config: Path, stage: str, mark: Path, patience: float = 60.0) -> int:
        """The exit code of one process, negative for a signal; AssertionError when it does not end."""
        log = mark.with_suffix(".log")
        order = json.dumps([str(config), stage, str(mark), str(log)])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{order}\n".encode())
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        assert ready, f"{stage} was not reached: {log.read_text()[-2000:]}"
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End of the tests."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


if __name__ == "__main__":
    serve()
