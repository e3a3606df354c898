"""Rows cut out of a message of OVSDB while it is still coming in.

A row update stands in a table update under the row's UUID: `"Logical_Switch_Port":{"<uuid>":{...},
...}`. The text of such a table update is replaced by a mark, its rows are decoded one by one and
given their final shape at once, and the whole is put back when the message around it is decoded.
Source: RFC 7047 section 4.1.6 (table-updates), ovsdb-server(7) sections 4.1.12 and 4.1.14.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_KEY = re.compile(rf'"({_UUID})":')
# A mark is no text that a database holds in a place where a table update can be.
_MARK = "\x00rows "
_UUID_KEY = 39
# What can come between the start of a table update and the end of its first key.
_PARTIAL = re.compile(r'(?:"[0-9a-f-]{0,36}(?:":?)?)?')
_decode = json.JSONDecoder().raw_decode


class RowCutter:
    """Cuts the rows of some tables out of a text that is fed in pieces."""

    def __init__(self, shapes: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> None:
        self._shapes = shapes
        self._keys = [f'"{table}":{{' for table in shapes]
        names = "|".join(map(re.escape, shapes))
        # A quote inside of a string is escaped, so this can only be a key and the start of its value.
        self._start = re.compile(rf'"({names})":\{{(?="{_UUID}":)')
        self._longest = max(map(len, shapes)) + len('"":{') + _UUID_KEY
        self._held = ""
        self._table: str | None = None
        self._rows: dict[str, Any] = {}
        self._cut: dict[str, dict[str, Any]] = {}
        self._marks = 0

    def cut(self, text: str) -> str:
        """What is left of the text; a part that may yet be the start of rows is held back."""
        text, self._held = self._held + text, ""
        left: list[str] = []
        at = 0
        while True:
            if self._table is not None:
                at = self._take_rows(text, at)
                if self._table is not None:
                    self._held = text[at:]
                    return "".join(left)
                left.append(self._mark())
            found = self._start.search(text, at)
            if found is None:
                end = self._safe_end(text, at)
                left.append(text[at:end])
                self._held = text[end:]
                return "".join(left)
            self._table, self._rows = found[1], {}
            left.append(text[at : found.end() - 1])
            at = found.end()

    def _safe_end(self, text: str, at: int) -> int:
        """Where the text ends that cannot be the beginning of a start of rows."""
        starts = range(max(at, len(text) - self._longest), len(text))
        return next((start for start in starts if self._may_start(text[start:])), len(text))

    def _may_start(self, tail: str) -> bool:
        """Whether a text that ends here may go on as a start of rows."""
        for key in self._keys:
            if key.startswith(tail) or (
                tail.startswith(key) and _PARTIAL.fullmatch(tail.removeprefix(key)) is not None
            ):
                return True
        return False

    def _take_rows(self, text: str, at: int) -> int:
        """Take the complete rows from `at` on; where to go on. `_table` is None when it was the last."""
        shape = self._shapes[self._table or ""]
        while True:
            key = _KEY.match(text, at)
            if key is None:
                if len(text) - at > _UUID_KEY:
                    raise ValueError(f"no row of {self._table}: {text[at : at + _UUID_KEY]!r}")
                return at
            try:
                value, end = _decode(text, key.end())
            except json.JSONDecodeError:
                return at
            if end >= len(text):
                return at
            if not isinstance(value, dict) or text[end] not in ",}":
                raise ValueError(f"no row of {self._table}: {text[at : at + 80]!r}")
            self._rows[key[1]] = shape(value)
            if text[end] == "}":
                self._table = None
                return end + 1
            at = end + 1

    def _mark(self) -> str:
        """The text that stands for the rows that were cut out last."""
        self._marks += 1
        mark = f"{_MARK}{self._marks}"
        self._cut[mark] = self._rows
        return json.dumps(mark)

    def put_back(self, message: Any) -> Any:
        """The message with the rows in the places of their marks."""
        if self._cut and isinstance(message, dict):
            for part in (message.get("result"), message.get("params")):
                for updates in (part, *(part if isinstance(part, list) else ())):
                    self._fill(updates)
        return message

    def _fill(self, updates: Any) -> None:
        if not isinstance(updates, dict):
            return
        for table in self._shapes:
            mark = updates.get(table)
            if isinstance(mark, str) and mark in self._cut:
                updates[table] = self._cut.pop(mark)
