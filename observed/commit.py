"""One OVSDB transaction: built from the replica, sent, and waited for without blocking readers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ovs.db import idl
from ovsdbapp import exceptions
from ovsdbapp.backend.ovs_idl import transaction

from ovnlb.observed.polling import Poller

ATTEMPTS = 8
# How long to wait for the update that made a prerequisite fail; the server sends it with the refusal.
_UPDATE_PATIENCE = 1.0


class CommitFailed(Exception):
    """The transaction was not committed. `status` is python-ovs', `detail` the server's error."""

    def __init__(self, status: str, detail: str = "") -> None:
        super().__init__(f"{status}: {detail}" if detail else status)
        self.status, self.detail = status, detail


@dataclass(frozen=True, slots=True)
class Outcome:
    """A transaction that is done. `sent` is False when there was nothing to change."""

    sent: bool
    attempts: int
    incremented: int | None = None


class Commit(transaction.Transaction):  # type: ignore[misc]
    """ovsdbapp's transaction, but a refused prerequisite re-runs the command's own checks first.

    Raises what a command raises (nothing is sent then), CommitFailed, and TimeoutException when the
    outcome is unknown after the connection's timeout; the session is then dropped.
    """

    def __init__(self, api: Any, link: Any) -> None:
        super().__init__(api, link, link.timeout, check_error=True, log_errors=False)
        # The thread gives up by itself and tells why; waiting longer here keeps that message.
        self._deadline = time.monotonic() + self.timeout
        self.timeout += 5

    def do_commit(self) -> Outcome:
        """Called by the connection's thread."""
        made = self.api.idl
        for attempt in range(1, ATTEMPTS + 1):
            with made.guard:
                seqno = made.change_seqno
                txn = idl.Transaction(made)
                try:
                    for command in self.commands:
                        command.run_idl(txn)
                except BaseException:
                    txn.abort()
                    raise
                status = txn.commit()
            status = self._finish(txn, status)
            if status == txn.SUCCESS:
                self.post_commit(txn)
                number = txn.get_increment_new_value() if txn._inc_row is not None else None
                return Outcome(True, attempt, number)
            if status == txn.UNCHANGED:
                return Outcome(False, attempt)
            if status != txn.TRY_AGAIN:
                raise CommitFailed(status, txn.get_error() if status == txn.ERROR else "")
            self._await_update(seqno)
        raise CommitFailed(idl.Transaction.TRY_AGAIN, f"a prerequisite failed {ATTEMPTS} times")

    def _finish(self, txn: Any, status: str) -> str:
        """Run the IDL until the transaction has a final status."""
        made = self.api.idl
        while status == txn.INCOMPLETE:
            made.run()
            status = txn.commit()
            if status != txn.INCOMPLETE:
                break
            waiter = Poller()
            made.wait(waiter)
            txn.wait(waiter)
            self._block(waiter, self._deadline, "the server has not answered; the outcome is unknown")
        return status

    def _await_update(self, seqno: int) -> None:
        """Wait for a change after `seqno`, and for a live session."""
        made, until = self.api.idl, min(self._deadline, time.monotonic() + _UPDATE_PATIENCE)
        made.run()
        while not made.live or (made.change_seqno == seqno and time.monotonic() < until):
            waiter = Poller()
            made.wait(waiter)
            if made.live:
                waiter.timer_wait(max(1, int((until - time.monotonic()) * 1000)))
            self._block(waiter, self._deadline, "the server is away")
            made.run()

    def _block(self, waiter: Any, deadline: float, why: str) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or self.ovsdb_connection.is_running is False:
            self.api.idl.force_reconnect()
            raise exceptions.TimeoutException(commands=self.commands, timeout=self.timeout - 5, cause=why)
        # Bounded, so that closing the replica is noticed.
        waiter.timer_wait(max(1, min(500, int(left * 1000))))
        waiter.block()
