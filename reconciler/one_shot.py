"""What one-shot commands share beyond their inputs: the search for orphans, and conflicts with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.reconciler.connections import OctaviaDatabase
from ovnlb.reconciler.live import LiveInputs
from ovnlb.reconciler.orphans import Search
from ovnlb.reconciler.writing import write_batch


def search_of(found: LiveInputs, clock: Callable[[], float] = time.monotonic) -> Search:
    """The search for orphans over a command's connections."""
    return Search(
        OctaviaDatabase(found.engine, found.settings.providers),
        found.nb,
        found.neutron,
        found.client,
        partial(write_batch, found.nb),
        lambda: found.nb.connected,
        clock,
    )


def living_rows(found: LiveInputs) -> list[tuple[str, LoadBalancerRow]]:
    """The rows that living load balancers have now, with their ids."""
    living = OctaviaDatabase(found.engine, found.settings.providers).living()
    return [(lb_id, row) for lb_id in living for row in found.nb.load_balancers(lb_id)]
