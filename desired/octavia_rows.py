"""Rows that come as one JSON text each, made by the database and read by the C decoder.

PyMySQL takes every cell of a row apart in Python, a microsecond or more each: 1.7 s of CPU for the
members of 10,000 load balancers, against 0.5 s for the same rows as texts. Sources: MariaDB and MySQL
JSON_ARRAY, SQLite json_array: NULL is null, numbers are numbers, times are texts in ISO 8601.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ovnlb.desired.columns import BOOLEANS, INTEGERS, TIMES, Row

# Names are their users' text: nothing in them is refused.
_decode = json.JSONDecoder(strict=False).decode
_TIMES_AT, _SHARED_AT = "ovnlb_times", "ovnlb_shared"
# Columns whose texts are nobody else's. Every other text is kept once in a graph, however often it comes.
_UNIQUE = frozenset({"member.id", "member.ip_address", "health_monitor.id"})


def as_text(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """A SELECT of these columns as one text; what is done with each column goes along as an annotation."""
    names = [(at, getattr(column, "name", ""), str(column)) for at, column in enumerate(columns)]
    times = tuple(at for at, name, _ in names if name in TIMES)
    plain = TIMES | INTEGERS | BOOLEANS | {"name", ""}
    shared = tuple(at for at, name, full in names if name not in plain and full not in _UNIQUE)
    query = sa.select(sa.func.json_array(*columns))
    return query.execution_options(**{_TIMES_AT: times, _SHARED_AT: shared})


def together(queries: Mapping[str, sa.Select[Any]]) -> sa.CompoundSelect[Any]:
    """All of these SELECTs as one, each row's text with the name of its table.

    One round trip in place of six: of a single load balancer they cost more than all of its rows.
    """
    parts: list[Any] = []
    for table, query in queries.items():
        (text,) = query.selected_columns
        # A cast text has the connection's collation: tables of different ones can be put together.
        parts.append(query.with_only_columns(sa.literal_column(f"'{table}'"), sa.cast(text, sa.Text())))
    return sa.union_all(*parts)


class Reader:
    """Reads such SELECTs over one connection; texts that repeat are the same object in all of them."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._texts: dict[str | None, str | None] = {}
        self._times: dict[str | None, datetime | None] = {None: None}

    def rows(self, query: sa.Select[Any], parameters: Mapping[str, Any]) -> list[Row]:
        """The rows, each with its columns' values."""
        # The texts of a large cloud are decoded as they come in, not kept together.
        options = {"stream_results": True, "max_row_buffer": 1000}
        texts = self._connection.execute(query, parameters, execution_options=options).scalars()
        return self._values(query, texts)

    def tables(
        self,
        queries: Mapping[str, sa.Select[Any]],
        whole: sa.CompoundSelect[Any],
        parameters: Mapping[str, Any],
    ) -> dict[str, list[Row]]:
        """The rows of each of the queries, by `whole`: what `together` made of them."""
        texts: dict[str, list[str]] = {table: [] for table in queries}
        for table, text in self._connection.execute(whole, parameters):
            texts[table].append(text)
        return {table: self._values(query, texts[table]) for table, query in queries.items()}

    def _values(self, query: sa.Select[Any], texts: Iterable[str]) -> list[Row]:
        found: list[list[Any]] = list(map(_decode, texts))
        options, keep, times = query.get_execution_options(), self._texts.setdefault, self._times
        for at in options[_SHARED_AT]:
            for row in found:
                row[at] = keep(row[at], row[at])
        for at in options[_TIMES_AT]:
            for row in found:
                text = row[at]
                if text not in times:
                    times[text] = datetime.fromisoformat(text)
                row[at] = times[text]
        return found  # type: ignore[return-value]
