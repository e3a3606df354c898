"""JSON-RPC read in large pieces and parsed by the standard library.

python-ovs parses character by character in Python unless its C extension was built, which a wheel from
an index lacks without anybody noticing; a whole message through `json` takes a fifth of that. The
session must frame messages by itself then: two of them can meet in one read.

The first message of a large cloud is a hundred megabytes of rows. The rows of tables that are kept in
another form anyway are cut out of it one by one as they come in: never is all of it in memory.
"""

from __future__ import annotations

import codecs
import errno
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ovs import jsonrpc

from ovnlb.observed.row_cutter import RowCutter

_READ = 1 << 16
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_decode = json.JSONDecoder().raw_decode


Shape = Callable[[Mapping[str, Any]], Any]


class Framer:
    """Cuts a stream of JSON objects, fed in any pieces, into values.

    Outside of strings an object ends where the braces balance, and `}{` is the seam of two. Text that
    was looked at is not looked at again, so a message of any length costs its length. `shapes`: by
    table, what becomes of a row update; those rows are cut out while the message comes in.
    """

    def __init__(self, shapes: Mapping[str, Shape] | None = None) -> None:
        self._pieces: list[str] = []
        self._open_string, self._depth = "", 0
        self._rows = RowCutter(shapes) if shapes else None

    def feed(self, text: str) -> list[Any]:
        """The values that are complete now. ValueError when it is not JSON."""
        if self._rows is not None:
            text = self._rows.cut(text)
        self._pieces.append(text)
        bare = _STRING.sub("", self._open_string + text)
        head, quote, rest = bare.partition('"')
        self._open_string = quote + rest
        self._depth += head.count("{") - head.count("}")
        # A seam can lie between two pieces; then the first of them has ended with depth 0.
        if self._depth > 0 and "}{" not in head:
            return []
        return self._take("".join(self._pieces))

    def _take(self, text: str) -> list[Any]:
        found, at = [], 0
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            try:
                value, end = _decode(text, at)
            except json.JSONDecodeError as error:
                if self._depth <= 0 and not self._open_string:
                    raise ValueError(f"no JSON from the server: {error}") from error
                break
            found.append(value if self._rows is None else self._rows.put_back(value))
            at = end
        self._pieces = [text[at:]] if at < len(text) else []
        return found


class Connection(jsonrpc.Connection):  # type: ignore[misc]
    """python-ovs' connection with another way of receiving."""

    def begin(self, shapes: Mapping[str, Shape]) -> None:
        """Make up for the constructor, which an adopted connection has behind it already."""
        self._framer, self._ready = Framer(shapes), list[Any]()
        self._text = codecs.getincrementaldecoder("utf-8")()

    def recv(self) -> tuple[int, Any]:
        """(0, message), or (error, None); EAGAIN when nothing is complete."""
        while not self._ready:
            if self.status:
                return self.status, None
            error, data = self.stream.recv(_READ)
            if error == errno.EAGAIN:
                return error, None
            if error or not data:
                self.error(error or jsonrpc.EOF)
                return self.status, None
            self.received_bytes += len(data)
            try:
                self._ready = self._framer.feed(self._text.decode(data))
            except ValueError:
                self.error(errno.EPROTO)
                return self.status, None
        message = jsonrpc.Message.from_json(self._ready.pop(0))
        if isinstance(message, jsonrpc.Message):
            return 0, message
        self.error(errno.EPROTO)
        return self.status, None

    def recv_wait(self, poller: Any) -> None:
        """Wake at once when a message waits already."""
        if self.status or self._ready:
            poller.immediate_wake()
        else:
            self.stream.recv_wait(poller)


def adopt(connection: Any, shapes: Mapping[str, Shape] | None = None) -> Any:
    """Turn a python-ovs connection that has not received anything yet into ours."""
    if type(connection) is jsonrpc.Connection:
        connection.__class__ = Connection
        connection.begin(shapes or {})
    return connection


def adopt_session(session: Any, shapes: Mapping[str, Shape] | None = None) -> None:
    """Make all connections that the session will open ours, with these shapes of rows."""
    session.__class__ = Session
    session.shapes = shapes


class Session(jsonrpc.Session):  # type: ignore[misc]
    """python-ovs' session, whose connections are all adopted as soon as they exist."""

    shapes: Mapping[str, Shape] | None

    @property
    def rpc(self) -> Any:
        """The connection, None while there is none."""
        return self.__dict__.get("rpc")

    @rpc.setter
    def rpc(self, connection: Any) -> None:
        self.__dict__["rpc"] = connection if connection is None else adopt(connection, self.shapes)
