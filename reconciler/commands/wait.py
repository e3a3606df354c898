"""`ovnlb wait`: until load balancers are no longer pending."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from ovnlb.desired.model import PENDING, Provisioning
from ovnlb.desired.octavia import open_engine, statuses_of
from ovnlb.reconciler import nudge
from ovnlb.reconciler.commands.options import add_config, settings
from ovnlb.reconciler.commands.output import emit, say
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.inputs import UnknownLoadBalancer
from ovnlb.reconciler.nudge_socket import ask
from ovnlb.reconciler.report import Row

_PAUSE = 0.2


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_config(parser)
    parser.add_argument(
        "--lb", action="append", required=True, metavar="ID", help="this load balancer (repeatable)"
    )
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="how long to wait (default 300)"
    )


def run(options: Namespace) -> Exit:
    """0 when every load balancer is ACTIVE or DELETED, 1 for an ERROR or when the time is over."""
    found, ids = settings(options), list(dict.fromkeys(options.lb))
    engine = open_engine(
        found.database_url,
        connect_timeout=found.database_connect_timeout,
        option=found.database_option,
    )
    deadline = time.monotonic() + options.timeout
    try:
        while True:
            rows = statuses_of(engine, ids)
            _require(ids, rows)
            waiting = [lb_id for lb_id in ids if rows[lb_id][0] in PENDING]
            if not waiting:
                return _outcome(ids, rows)
            if time.monotonic() >= deadline:
                for lb_id in waiting:
                    say(f"load balancer {lb_id} is still {rows[lb_id][0]}{_why(found.nudge_socket, lb_id)}")
                return Exit.ERROR
            for lb_id in waiting:
                nudge.send(found.nudge_socket, lb_id)
            time.sleep(min(_PAUSE, max(0.0, deadline - time.monotonic())))
    finally:
        engine.dispose()


def _require(ids: Sequence[str], rows: Mapping[str, Row]) -> None:
    missing = [lb_id for lb_id in ids if lb_id not in rows]
    if missing:
        raise UnknownLoadBalancer(f"load balancer {', '.join(missing)}: not in the Octavia database")


def _outcome(ids: Sequence[str], rows: Mapping[str, Row]) -> Exit:
    for lb_id in ids:
        emit(f"{lb_id} {rows[lb_id][0]}")
    good = (Provisioning.ACTIVE, Provisioning.DELETED)
    return Exit.IN_SYNC if all(rows[lb_id][0] in good for lb_id in ids) else Exit.ERROR


def _why(path: str, lb_id: str) -> str:
    """What the daemon of this host has to say, when there is one."""
    answer = ask(path, {"ask": "show", "lb": lb_id})
    if answer is None:
        return " (no daemon answers on this host)"
    error = (answer.get("last") or {}).get("error") or answer.get("report_error")
    retry = answer.get("next_retry_in")
    return (f": {error}" if error else "") + (f" (next try in {retry} s)" if retry else "")
