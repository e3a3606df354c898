"""`ovnlb run` that kills itself at one stage of its first work: CONFIG STAGE MARK.

MARK is made right before, so that a test knows which stage was reached. Nothing of this is in the
product: the stages are found by replacing parts of a service before it runs.
"""

from __future__ import annotations

import os
import signal
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


if __name__ == "__main__":
    main(*sys.argv[1:])
