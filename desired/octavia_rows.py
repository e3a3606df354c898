"""Rows that come as one JSON text each, made by the database and read by the C decoder.

PyMySQL takes every cell of a row apart in Python, a microsecond or more each: 1.7 s of CPU for the
members of 10,000 load balancers, against 0.5 s for the same rows as texts. Sources: MariaDB and MySQL
JSON_ARRAY, SQLite json_array: NULL is null, numbers are numbers, times are texts in ISO 8601.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ovnlb.desired.columns import TIMES, Row

# Names are their users' text: nothing in them is refused.
_decode = json.JSONDecoder(strict=False).decode
_TIMES_AT = "ovnlb_times"


def as_text(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """A SELECT of these columns as one text; where the times stand goes along as an annotation."""
    times = tuple(at for at, column in enumerate(columns) if getattr(column, "name", None) in TIMES)
    return sa.select(sa.func.json_array(*columns)).execution_options(**{_TIMES_AT: times})


def read_rows(connection: sa.Connection, query: sa.Select[Any], parameters: Mapping[str, Any]) -> list[Row]:
    """The rows of such a SELECT, each with its columns' values."""
    texts = connection.execute(query, parameters).scalars()
    rows: list[list[Any]] = list(map(_decode, texts))
    # A cloud's rows were made within few different seconds, or many share one.
    known: dict[str | None, datetime | None] = {None: None}
    for at in query.get_execution_options()[_TIMES_AT]:
        for row in rows:
            text = row[at]
            if text not in known:
                known[text] = datetime.fromisoformat(text)
            row[at] = known[text]
    return rows  # type: ignore[return-value]
