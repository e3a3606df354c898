"""What a service tells of itself and of its load balancers, as JSON values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ovnlb.reconciler.service import Service

_SHOWN_ERRORS = 10


def about(service: Service, lb_id: str) -> Mapping[str, Any]:
    """What the service thinks of a load balancer; times in seconds, `at` since the epoch."""
    state = service.queue.state(lb_id)
    return {
        "lb": lb_id,
        "role": service.role,
        "last": service.journal.as_dict(lb_id),
        "pending_since": service.watch.pending_since(lb_id),
        "queue": None if state is None else state.state,
        "next_retry_in": None if state is None else round(state.due_in, 2),
        "failures": 0 if state is None else state.failures,
        "report_waits": service.reporter.holds(lb_id),
        "report_error": service.reporter.last_error,
    }


def condition(service: Service) -> Mapping[str, Any]:
    """How the service is: connections, ages, depths, and up to ten errors."""
    errors = [f"{lb_id}: {text}" for lb_id, text in service.journal.errors().items()]
    return {
        "role": service.role,
        "pid": os.getpid(),
        "northbound": service.connections.nb.connected,
        "southbound": service.connections.southbound.connected,
        "database": not service.watch.lost,
        "last_full_pass_seconds": service.resync.age,
        "load_balancers": len(service.interest),
        "queue_depth": sum(service.queue.depth().values()),
        "oldest_pending_seconds": round(service.watch.oldest_pending, 1),
        "report_backlog": service.reporter.backlog,
        "report_error": service.reporter.last_error,
        "errors": errors[:_SHOWN_ERRORS],
        "errors_omitted": max(0, len(errors) - _SHOWN_ERRORS),
    }
