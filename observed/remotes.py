"""Reaching an OVSDB server before there is a replica: its remotes, TLS files and schema."""

from __future__ import annotations

import errno
import os
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ovs import jsonrpc, stream

from ovnlb.observed.framing import adopt
from ovnlb.observed.polling import Poller
from ovnlb.observed.source import Endpoint

_TLS = threading.RLock()
_ATTEMPT = 10.0
_PAUSE = 0.25


class Unreachable(Exception):
    """No server of the remotes serves the database (in time); trying later may help."""


class WrongDatabase(Exception):
    """The endpoint or the database cannot be used as it is; trying again does not help."""


def split_remotes(remotes: str) -> list[str]:
    """The remotes of a comma-separated list. WrongDatabase names a malformed one."""
    found = [remote.strip() for remote in remotes.split(",") if remote.strip()]
    for remote in found:
        kind, _, where = remote.partition(":")
        if kind not in ("tcp", "ssl", "unix") or not where or (kind != "unix" and not _host_port(where)):
            raise WrongDatabase(
                f"connection {remote!r} is none of tcp:IP:PORT, ssl:IP:PORT, unix:PATH (in {remotes!r})"
            )
    if not found:
        raise WrongDatabase("the connection names no remote: tcp:IP:PORT, ssl:IP:PORT or unix:PATH")
    return found


def _host_port(where: str) -> bool:
    host, _, port = where.rpartition(":")
    return bool(host) and port.isdigit() and 0 < int(port) < 65536


def check_tls(endpoint: Endpoint) -> None:
    """WrongDatabase when an ssl: remote lacks a file or a file cannot be read."""
    if "ssl:" not in endpoint.remotes:
        return
    named = {
        "private key": endpoint.private_key,
        "certificate": endpoint.certificate,
        "CA certificate": endpoint.ca_cert,
    }
    for what, file in named.items():
        if not file:
            raise WrongDatabase(f"{endpoint.remotes} needs TLS, but no {what} is configured")
        try:
            Path(file).read_bytes()
        except OSError as error:
            raise WrongDatabase(f"the {what} for {endpoint.remotes}: {error}") from error


@contextmanager
def tls(endpoint: Endpoint) -> Iterator[None]:
    """Have connections opened in this block use the endpoint's TLS files.

    python-ovs keeps them in class attributes, one set for the process, while NB and SB may have their
    own; they are read when a connection opens, so opening one is serialised.
    """
    if "ssl:" not in endpoint.remotes:
        yield
        return
    with _TLS:
        stream.Stream.ssl_set_private_key_file(endpoint.private_key)
        stream.Stream.ssl_set_certificate_file(endpoint.certificate)
        stream.Stream.ssl_set_ca_cert_file(endpoint.ca_cert)
        yield


def fetch_schema(endpoint: Endpoint, database: str) -> dict[str, Any]:
    """The schema of `database` from the first remote that answers, trying for `endpoint.timeout`.

    Raises Unreachable (naming why each remote failed) and WrongDatabase (no such database there).
    """
    remotes = split_remotes(endpoint.remotes)
    check_tls(endpoint)
    deadline, failures = time.monotonic() + endpoint.timeout, dict[str, str]()
    while True:
        for remote in remotes:
            patience = min(_ATTEMPT, deadline - time.monotonic())
            try:
                schema: dict[str, Any] = _call(
                    endpoint, remote, "get_schema", [database], max(patience, 0.1)
                )
                return schema
            except OSError as error:
                failures[remote] = _why(remote, error)
            except Refused as error:
                failures[remote] = _why_no_schema(endpoint, remote, database, str(error))
        if time.monotonic() + _PAUSE > deadline:
            told = "; ".join(f"{remote}: {why}" for remote, why in failures.items())
            raise Unreachable(f"{database} is not reachable after {endpoint.timeout:g} s: {told}")
        time.sleep(_PAUSE)


class Refused(Exception):
    """The server answered with an error; the text is its own."""


def ask(endpoint: Endpoint, method: str, params: Sequence[Any]) -> Any:
    """One JSON-RPC call to an endpoint of a single remote, within its timeout; no replica is made.

    Raises Unreachable, Refused, and WrongDatabase for an endpoint that cannot be used.
    """
    (remote,) = split_remotes(endpoint.remotes)
    check_tls(endpoint)
    try:
        return _call(endpoint, remote, method, params, endpoint.timeout)
    except OSError as error:
        raise Unreachable(f"{remote}: {_why(remote, error)}") from error


def _why(remote: str, error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error}"
    # python-ovs passes a failed handshake on as the number of OpenSSL's error class.
    if remote.startswith("ssl:") and error.errno == ssl.SSL_ERROR_SSL:
        return "the TLS handshake failed (is its certificate signed by the configured CA certificate?)"
    return os.strerror(error.errno) if error.errno else str(error)


def _why_no_schema(endpoint: Endpoint, remote: str, database: str, error: str) -> str:
    """Why the remote does not serve the database; WrongDatabase when it serves others of this kind."""
    try:
        served = [name for name in _call(endpoint, remote, "list_dbs", [], 1.0) if name != "_Server"]
    except (OSError, Refused):
        return error
    if served and database not in served:
        raise WrongDatabase(f"{remote} has no database {database}; it serves {', '.join(sorted(served))}")
    return error


def _call(endpoint: Endpoint, remote: str, method: str, params: Sequence[Any], patience: float) -> Any:
    """One JSON-RPC call. Raises OSError (ETIMEDOUT after `patience` seconds) and Refused."""
    deadline = time.monotonic() + patience
    connection = adopt(jsonrpc.Connection(_open(endpoint, remote, deadline)))
    try:
        request = jsonrpc.Message.create_request(method, list(params))
        error = connection.send(request)
        while not error:
            connection.run()
            error, reply = connection.recv()
            if not error and reply is not None and reply.id == request.id:
                if reply.error:
                    raise Refused(_error_text(reply.error))
                return reply.result
            if error == errno.EAGAIN:
                error = _await(connection, deadline)
        raise OSError(max(error, 0) or errno.ECONNRESET, "")
    finally:
        connection.close()


def _error_text(error: Any) -> str:
    if isinstance(error, Mapping):
        return f"{error.get('error')}: {error.get('details', '')}"
    return str(error)


def _open(endpoint: Endpoint, remote: str, deadline: float) -> Any:
    """A connected stream."""
    with tls(endpoint):
        error, opened = stream.Stream.open(remote)
    while not error and (error := opened.connect()) == errno.EAGAIN:
        opened.run()
        waiter = Poller()
        opened.run_wait(waiter)
        opened.connect_wait(waiter)
        error = _block(waiter, deadline)
    if error:
        if opened is not None:
            opened.close()
        raise OSError(abs(error), os.strerror(abs(error)))
    return opened


def _await(connection: Any, deadline: float) -> int:
    """Wait until the connection may have something; ETIMEDOUT once the deadline has passed."""
    waiter = Poller()
    connection.wait(waiter)
    connection.recv_wait(waiter)
    return _block(waiter, deadline)


def _block(waiter: Poller, deadline: float) -> int:
    left = deadline - time.monotonic()
    if left <= 0:
        return errno.ETIMEDOUT
    waiter.timer_wait(int(left * 1000) + 1)
    waiter.block()
    return 0
