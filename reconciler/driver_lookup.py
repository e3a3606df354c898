"""The short read of the Octavia database that octavia-api's driver needs: whose pool is this?

Committed rows only, one query or two, on an engine of its own: made at first use and anew
in every process that a fork made, at most two connections, two seconds for anything. When the
database fails, the answer is None ("not known now") and nothing is asked for a while: a slow
database must not make every API call slow. The API's own transaction is not seen and not waited for.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ovnlb.reconciler.validate import VipFacts

LOG = logging.getLogger(__name__)

TIMEOUT = 2
CONNECTIONS = 2
PAUSE = 5.0


class DriverLookup:
    """Answers for one database. Thread-safe; making it neither connects nor imports anything.

    `open_engine` makes the SQLAlchemy engine and is called at the first question of each process.
    """

    def __init__(self, open_engine: Callable[[], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._open = open_engine
        self._clock = clock
        self._lock = threading.Lock()
        self._engine: Any = None
        self._pid = 0
        self._quiet_until = float("-inf")

    def of_pool(self, pool_id: str, with_members: bool = False) -> VipFacts | None:
        """The load balancer of a pool and its VIPs; `with_members`: the pool's members, too.

        None when there is no such pool in the committed rows, or when the database does not answer.
        """
        if not pool_id or self._clock() < self._quiet_until:
            return None
        try:
            found = self._read(pool_id, with_members)
            return None if found is None else VipFacts(found.lb_id, found.vips, found.member_ids)
        except Exception as error:  # noqa: BLE001  a driver call never fails for want of this read
            self._quiet_until = self._clock() + PAUSE
            LOG.warning(
                "the Octavia database does not answer the driver: checks that need it are left to the "
                "reconciler for %.0f s: %s",
                PAUSE,
                str(error).splitlines()[0] if str(error) else type(error),
            )
            return None

    def _read(self, pool_id: str, with_members: bool) -> Any:
        from ovnlb.desired.octavia_pool import owner_of_pool

        return owner_of_pool(self._process_engine(), pool_id, with_members)

    def _process_engine(self) -> Any:
        with self._lock:
            if self._engine is None or self._pid != os.getpid():
                self._engine, self._pid = self._open(), os.getpid()
            return self._engine
