"""The daemon's end of the nudge socket, and how other processes of the host ask it things.

One unix datagram socket, mode 0660, bound only while we write. A datagram is a nudge
(`ovnlb.reconciler.nudge`), or a question: a JSON object with `ask`. An answer is one JSON datagram to
the asking socket. Questions:

`{"ask": "show", "lb": ID}` -> what the service thinks of it; without `lb`: of itself.
`{"ask": "reconcile", "lb": [ID, ...]}` -> `{"queued": N}`; the keys run as if they had been nudged.
`{"ask": "prune", "objects": [[KIND, ID], ...], "max_count": N, "max_percent": P}` -> `{"queued": N}`; what
is still an orphan goes (`ovnlb.reconciler.orphan_keeper`).
"""

from __future__ import annotations

import json
import logging
import os
import socket
import stat
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ovnlb.reconciler.nudge import decode

LOG = logging.getLogger(__name__)

MODE = 0o660
_LARGEST = 65536
# A burst of nudges must find room: the kernel's default of 10 datagrams (net.unix.max_dgram_qlen)
# cannot be raised here, so the reader never does work of its own between two reads.

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class NudgeSocket:
    """nudged: told of each nudge (None: look at everything). answer: a question's answer."""

    def __init__(self, path: str, nudged: Callable[[str | None], None], answer: Answer) -> None:
        self._path, self._nudged, self._answer = path, nudged, answer
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._inode: tuple[int, int] | None = None

    @property
    def is_open(self) -> bool:
        """Whether nudges can come."""
        return self._socket is not None

    def open(self) -> None:
        """Bind, taking the place of a dead process' socket. A failure is logged: the poll serves."""
        with self._lock:
            if self._socket is not None:
                return
            made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            try:
                self._bind(made)
            except OSError as error:
                made.close()
                LOG.error("no nudges, the poll finds the work: %s: %s", self._path, error)
                return
            made.settimeout(0.5)
            self._socket = made
            threading.Thread(target=self._read, args=(made,), name="nudges", daemon=True).start()

    def _bind(self, made: socket.socket) -> None:
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.stat(self._path).st_mode):
                raise OSError("the path exists and is no socket")
            os.unlink(self._path)
        made.bind(self._path)
        os.chmod(self._path, MODE)
        found = os.stat(self._path)
        self._inode = (found.st_dev, found.st_ino)

    def close(self) -> None:
        """Stop reading and remove the socket, unless another process has taken its place."""
        with self._lock:
            made, self._socket = self._socket, None
            if made is None:
                return
            made.close()
            with suppress(OSError):
                found = os.stat(self._path)
                if (found.st_dev, found.st_ino) == self._inode:
                    os.unlink(self._path)

    def _read(self, made: socket.socket) -> None:
        while self._socket is made:
            try:
                datagram, sender = made.recvfrom(_LARGEST)
            except TimeoutError:
                continue
            except OSError:
                return  # closed
            try:
                self._take(made, datagram, sender)
            except Exception:  # anybody may write to a socket
                LOG.exception("a datagram of %d bytes could not be dealt with", len(datagram))

    def _take(self, made: socket.socket, datagram: bytes, sender: Any) -> None:
        question = _question(datagram)
        if question is None:
            nudge = decode(datagram)
            if nudge is not None:
                self._nudged(nudge.lb_id)
            return
        reply = json.dumps(self._answer(question), default=str).encode()
        if sender:
            with suppress(OSError):
                made.sendto(reply, socket.MSG_DONTWAIT, sender)


def _question(datagram: bytes) -> Mapping[str, Any] | None:
    if b'"ask"' not in datagram:
        return None
    try:
        content = json.loads(datagram)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and isinstance(content.get("ask"), str) else None


def ask(path: str, question: Mapping[str, Any], timeout: float = 2.0) -> dict[str, Any] | None:
    """Ask the daemon of this host; None when there is none, or it does not answer in time.

    The asking socket gets an abstract name of its own (Linux autobind), so nothing is left behind.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as made:
            made.settimeout(timeout)
            made.bind("")
            made.sendto(json.dumps(question).encode(), path)
            reply = json.loads(made.recv(_LARGEST))
    except (OSError, ValueError):
        return None
    return reply if isinstance(reply, dict) else None
