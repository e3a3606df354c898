"""Whom an operation that cannot be applied is blamed on.

Source: architecture.md section 4 and octavia-contract.md section 2 (what each call puts PENDING): the
deepest pending objects are the ones that the user's call was about, what stands above them was only
locked by it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ovnlb.desired.addresses import canonical
from ovnlb.desired.model import PENDING, LoadBalancer, Provisioning

_BEING_DELETED = Provisioning.PENDING_DELETE


def blamed(lb: LoadBalancer) -> frozenset[str]:
    """The ids to report ERROR when this load balancer's pending operation has failed for good.

    Empty while anything in it is PENDING_DELETE: that is retried for ever. A load balancer that is
    itself being created takes its children with it: none of them works. So does one without a usable VIP.
    """
    levels = [list(_pending(level)) for level in _levels(lb)]
    everything = {object_id: status for level in levels for object_id, status in level}
    if _BEING_DELETED in everything.values():
        return frozenset()
    if lb.provisioning_status == Provisioning.PENDING_CREATE or canonical(lb.vip.address or "") is None:
        return frozenset(everything)
    deepest = next((level for level in levels if level), [])
    return frozenset(object_id for object_id, _ in deepest)


def _pending(level: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return ((object_id, status) for object_id, status in level if status in PENDING)


def _levels(lb: LoadBalancer) -> Iterator[Iterator[tuple[str, str]]]:
    """Id and provisioning status of all objects, deepest level first."""
    yield ((item.id, item.provisioning_status) for pool in lb.pools for item in pool.members)
    yield (
        (pool.health_monitor.id, pool.health_monitor.provisioning_status)
        for pool in lb.pools
        if pool.health_monitor is not None
    )
    yield ((pool.id, pool.provisioning_status) for pool in lb.pools)
    yield ((listener.id, listener.provisioning_status) for listener in lb.listeners)
    yield iter([(lb.id, lb.provisioning_status)])
