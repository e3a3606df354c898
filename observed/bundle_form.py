"""How a bundle writes tables, rows and columns; reading tolerates every form that OVSDB dumps have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
OVSDB_KEY = "_uuid"


class BundleError(ValueError):
    """A part of a bundle that is not of the documented form; the text names table and row."""


def tables(part: str, content: Any, keyed_by: str) -> dict[str, list[Row]]:
    """The tables of one part of a bundle, checked: lists of objects that have the key as text.

    None is an empty part. Values that are objects (`attached_switches`) are left out here.
    """
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise BundleError(f"bundle: {part!r} must be an object of tables, not {type(content).__name__}")
    found: dict[str, list[Row]] = {}
    for table, rows in content.items():
        if isinstance(rows, Mapping):
            _check_columns(f"{part}.{table}", rows)
            continue
        if not isinstance(rows, list):
            raise BundleError(f"bundle: {part}.{table} must be a list of rows")
        for index, row in enumerate(rows):
            if not isinstance(row, Mapping) or not isinstance(row.get(keyed_by), str):
                raise BundleError(f"bundle: {part}.{table}[{index}] must be an object with {keyed_by!r}")
            if keyed_by == OVSDB_KEY:
                _check_columns(f"{part}.{table}[{index}]", row)
        found[table] = rows
    return found


def _check_columns(where: str, row: Row) -> None:
    """No column of OVSDB holds anything inside the members of a set."""
    for column, value in row.items():
        if isinstance(value, list) and any(isinstance(item, list | Mapping) for item in value):
            raise BundleError(f"bundle: {where}.{column} must be a value, a list of values or an object")


def values(column: Any) -> tuple[Any, ...]:
    """A set or optional column as a tuple: [], [x, y], x and null are all accepted, an object is not."""
    if column is None:
        return ()
    if isinstance(column, Mapping):
        raise BundleError(f"bundle: {str(dict(column))[:80]} stands where a value or a list belongs")
    return tuple(column) if isinstance(column, list | tuple) else (column,)


def first(column: Any) -> Any:
    """The value of an optional column, None when empty."""
    found = values(column)
    return found[0] if found else None


def text(column: Any) -> str:
    """The value of an optional text column, empty when absent."""
    found = first(column)
    return "" if found is None else str(found)


def mapping(column: Any) -> dict[str, str]:
    """A map column with text keys and values; anything that is no object is an empty map."""
    return {str(key): str(value) for key, value in column.items()} if isinstance(column, Mapping) else {}
