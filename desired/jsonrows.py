"""Octavia rows as JSON (bundles, scenario files) and back.

A table is a list of objects, an object maps column to value; times are ISO 8601 strings in UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ovnlb.desired.columns import BOOLEANS, COLUMNS, INTEGERS, TIMES, Row

# What an absent column of a JSON row stands for; any other one for NULL.
DEFAULTS: Mapping[str, Any] = {
    "enabled": True,
    "backup": False,
    "provisioning_status": "ACTIVE",
    "operating_status": "ONLINE",
    "lb_algorithm": "SOURCE_IP_PORT",
    "protocol": "TCP",
    "delay": 5,
    "timeout": 3,
    "rise_threshold": 3,
    "fall_threshold": 3,
}
NEEDED = frozenset({"protocol_port"})
# Tables whose first column is not their whole key.
_SHARED_FIRST = frozenset({"additional_vip"})


class MalformedRow(ValueError):
    """A row of a bundle or scenario file that is no row of its table; the text names both."""


def to_dicts(table: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Database rows of a table as JSON objects with exactly its COLUMNS, by the first column and value."""
    columns = COLUMNS[table]
    objects = [
        {column: _json(column, value) for column, value in zip(columns, row, strict=True)} for row in rows
    ]
    return sorted(objects, key=lambda row: tuple(str(value) for value in row.values()))


def _json(column: str, value: Any) -> Any:
    if value is None:
        return None
    if column in BOOLEANS:
        return bool(value)
    return value.isoformat() if isinstance(value, datetime) else value


def to_tuples(table: str, rows: Any) -> list[Row]:
    """JSON objects of a table as database rows; unknown columns ignored, absent ones DEFAULTS or None.

    Raises MalformedRow.
    """
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise MalformedRow(f"octavia table {table} is no list of rows")
    found = [_tuple(table, number, row) for number, row in enumerate(rows)]
    if table not in _SHARED_FIRST:
        counts = Counter(row[0] for row in found)
        for key in (key for key, count in counts.items() if count > 1):
            raise MalformedRow(f"octavia table {table} has several rows with {COLUMNS[table][0]} {key}")
    return found


def _tuple(table: str, number: int, row: Any) -> Row:
    if not isinstance(row, Mapping):
        raise MalformedRow(f"row {number} of octavia table {table} is no object")
    columns = COLUMNS[table]
    where = f"row {number} of octavia table {table}"
    if not isinstance(row.get(columns[0]), str):
        raise MalformedRow(f"{where} has no {columns[0]}")
    return tuple(_value(where, column, row) for column in columns)


def _value(where: str, column: str, row: Mapping[str, Any]) -> Any:
    """A JSON value as the database driver would have given it."""
    given = row.get(column, DEFAULTS.get(column))
    if given is None:
        if column in NEEDED:
            raise MalformedRow(f"{where} ({row.get('id')}) has no {column}")
        return DEFAULTS.get(column)
    try:
        if column in INTEGERS:
            return int(given)
        if column in TIMES:
            return _time(given)
    except (TypeError, ValueError, OverflowError):
        raise MalformedRow(f"{where}: {column} cannot be {given!r}") from None
    if column not in BOOLEANS and not isinstance(given, str):
        raise MalformedRow(f"{where}: {column} cannot be {given!r}")
    return given


def _time(given: Any) -> datetime:
    """Naive UTC, as Octavia stores times."""
    read = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    return read.astimezone(UTC).replace(tzinfo=None) if read.tzinfo else read
