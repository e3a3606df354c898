"""Which value of a service each gauge shows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ovnlb.reconciler.queue import Priority

if TYPE_CHECKING:
    from ovnlb.reconciler.service import Service


def bind_gauges(service: Service) -> None:
    """Let every gauge read its value when it is asked for."""
    metrics, bind, queue = service.metrics, service.metrics.bind, service.queue
    for priority in Priority:
        depth = partial(lambda wanted: queue.depth()[wanted], priority)
        bind(metrics.queue_depth, depth, priority=priority.name.lower())
    bind(metrics.failing_keys, queue.failing)
    bind(metrics.oldest_pending, lambda: service.watch.oldest_pending)
    bind(metrics.leader, lambda: float(service.leading and service.writes))
    bind(metrics.backlog, lambda: service.reporter.backlog)
    bind(metrics.connected, lambda: float(service.connections.nb.connected), db="nb")
    bind(metrics.connected, lambda: float(service.connections.southbound.connected), db="sb")
