"""The four kinds of failure, and the one place where the libraries' errors become them.

stale: observe again now. transient: again with backoff, for ever. terminal: the configuration, the
schema or the request must change first. not leader: another process writes; park.
Source: architecture.md section 5, RFC 7047 sections 3.1 and 4.1.3 (error names).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ovs.db import idl
from ovsdbapp import exceptions

from ovnlb.observed.commit import CommitFailed
from ovnlb.observed.remotes import Unreachable, WrongDatabase


class StalePlan(Exception):
    """The database is no longer what the plan was made for; nothing was written.

    `stale` says per LB id what moved; every LB of the transaction when it cannot be told apart.
    """

    def __init__(self, stale: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{lb_id}: {why}" for lb_id, why in stale.items()))
        self.stale = dict(stale)


class Transient(Exception):
    """A server is away, slow or without a leader. What was sent may have been applied or not."""


class Terminal(Exception):
    """Trying again is of no use until the configuration, the schema or the intent changes."""


class NotLeader(Exception):
    """The OVSDB lock is not ours, so nothing was written."""


# What a server says when another writer was first: an insert under the same UUID, a row or a
# referenced row that has gone.
_MOVED = frozenset({"duplicate uuid", "referential integrity violation", "timed out"})
_AWAY = frozenset(
    {
        "I/O error",
        "resources exhausted",
        "cluster error",
        "not leader",
        "canceled",
        "shutdown",
        "database is being converted",
        "inconsistent data",
    }
)


def of_ovsdb(error: Exception, lb_ids: tuple[str, ...]) -> Exception:
    """The kind of an error met while writing the rows of these LBs; an unknown error comes back as it is."""
    if isinstance(error, StalePlan | Transient | Terminal | NotLeader):
        return error
    if isinstance(error, CommitFailed):
        return _of_status(error, lb_ids)
    if isinstance(error, exceptions.TimeoutException):
        return Transient(f"OVSDB transaction for {_named(lb_ids)}: {error}")
    return of_connection(error)


def of_connection(error: Exception) -> Exception:
    """The kind of an error met while connecting; an unknown error comes back as it is."""
    if isinstance(error, WrongDatabase):
        return Terminal(str(error))
    if isinstance(error, Unreachable | exceptions.OvsdbAppException | OSError):
        return Transient(str(error))
    return error


def _of_status(error: CommitFailed, lb_ids: tuple[str, ...]) -> Exception:
    if error.status == idl.Transaction.NOT_LOCKED:
        return NotLeader(f"the OVSDB lock is not held; the rows of {_named(lb_ids)} were not written")
    if error.status == idl.Transaction.TRY_AGAIN:
        return StalePlan(dict.fromkeys(lb_ids, str(error)))
    name, details = server_error(error.detail)
    text = f"{name}: {details}" if details else name
    if name in _MOVED:
        return StalePlan(dict.fromkeys(lb_ids, f"the server refused the transaction: {text}"))
    if name == "not owner":
        return NotLeader(f"the OVSDB lock was lost; the rows of {_named(lb_ids)} were not written")
    if name in _AWAY:
        return Transient(f"the server could not write the rows of {_named(lb_ids)}: {text}")
    return Terminal(f"the server refused the rows of {_named(lb_ids)}: {text}")


def server_error(detail: str) -> tuple[str, str]:
    """Name and details of an error object as python-ovs keeps it (JSON text)."""
    try:
        found = json.loads(detail)
    except ValueError:
        return detail or "unknown error", ""
    if not isinstance(found, dict):
        return detail, ""
    return str(found.get("error", "unknown error")), str(found.get("details", ""))


def refuses_persistent_uuids(error: CommitFailed) -> bool:
    """Whether the server is too old (before ovsdb-server 3.1) to take a row's UUID from its client."""
    name, details = server_error(error.detail)
    return name == "syntax error" and "'uuid'" in details and "not allowed" in details


def _named(lb_ids: tuple[str, ...]) -> str:
    shown = ", ".join(lb_ids[:5])
    return f"{shown} and {len(lb_ids) - 5} more" if len(lb_ids) > 5 else shown
