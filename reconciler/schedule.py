"""The clockwork: APScheduler ticks, and nothing more.

It asks for the full pass. A tick that comes while one runs is not lost but is one more pass
(`ovnlb.reconciler.resync`), as APScheduler drops what it cannot run. Source: architecture.md section 5.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from apscheduler.schedulers.background import BackgroundScheduler

# Several daemons started together must not resync together.
_JITTER = 0.1


def ticking(resync: Callable[[str], None], interval: float) -> BackgroundScheduler:
    """A started scheduler that calls `resync("interval")` about every `interval` seconds; shut it down."""
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    scheduler = BackgroundScheduler(timezone="UTC", daemon=True)
    scheduler.add_job(
        resync,
        "interval",
        args=("interval",),
        seconds=interval,
        jitter=max(1, int(interval * _JITTER)),
        id="resync",
        max_instances=1,
        coalesce=True,
        misfire_grace_time=None,
    )
    scheduler.start()
    return scheduler
