"""Telling Octavia the verdicts of a one-shot `apply`: the reporter's rules, without its patience.

Source: octavia-contract.md sections 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ovnlb.desired.verdicts import StatusUpdate, messages
from ovnlb.reconciler.report import AgentRefused, AgentUnavailable, Row, Send
from ovnlb.reconciler.rounds import Done


def report_once(
    done: Sequence[Done],
    send: Send,
    reread: Callable[[Collection[str]], Mapping[str, Row]],
    say: Callable[[str], None],
) -> tuple[str, ...]:
    """Send what these outcomes must tell; the ids of the load balancers that could not be told.

    A load balancer whose row has changed since it was read is left to its next pass. One whose
    message is refused is sent again by itself, so that its neighbours are not held up.
    """
    updates = list(_current(done, reread))
    if not updates:
        return ()
    try:
        _send_all(updates, send)
    except AgentUnavailable as error:
        say(f"Octavia's driver-agent cannot be told: {error}")
        return tuple(update.lb_id for update in updates)
    except AgentRefused:
        return tuple(update.lb_id for update in updates if not _sent_alone(update, send, say))
    return ()


def _current(
    done: Sequence[Done], reread: Callable[[Collection[str]], Mapping[str, Row]]
) -> Iterator[StatusUpdate]:
    told = [item for item in done if item.update is not None and item.update.records and item.walked]
    rows = reread([item.lb_id for item in told]) if told else {}
    for item in told:
        row = rows.get(item.lb_id)
        lb = item.walked.lb if item.walked else None
        if row and lb and item.update and (row[0], row[2]) == (lb.provisioning_status, lb.updated_at):
            yield item.update


def _send_all(updates: Sequence[StatusUpdate], send: Send) -> None:
    for message in messages(updates):
        send(message)


def _sent_alone(update: StatusUpdate, send: Send, say: Callable[[str], None]) -> bool:
    try:
        _send_all([update], send)
    except (AgentRefused, AgentUnavailable) as error:
        say(f"load balancer {update.lb_id}: Octavia's driver-agent: {error}")
        return False
    return True
