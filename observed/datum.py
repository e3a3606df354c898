"""Column values of python-ovs rows as plain values, read past the slow attribute access.

`Row.__getattr__` merges an open transaction's changes and copies; reading the committed `_data` costs
an eighth of it. So these functions see the replica, never what a transaction under way would change.
Cells of `ovnlb.observed.plain_rows` are given out as they are: nobody may change them.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ovs.db.data import Atom
from ovs.db.types import UuidType

_SCALARS = frozenset({str, int})
_PLAIN = _SCALARS | {tuple, dict}


def mapping(row: Any, column: str) -> dict[str, str]:
    """A map column with text keys and values."""
    cell = row._data[column]
    if cell.__class__ is dict:
        return cell
    return {key.value: value.value for key, value in cell.values.items()}


def members(row: Any, column: str) -> list[Any]:
    """The members of a set (or the value of an optional or scalar column), in no order."""
    cell = row._data[column]
    if cell.__class__ is tuple:
        return list(cell)
    if cell.__class__ in _SCALARS:
        return [cell]
    return [key.value for key in cell.values]


def holds(row: Any, column: str, uuid: UUID) -> bool:
    """Whether a set of references has that one: without looking at the others."""
    cell = row._data[column]
    return uuid in cell if cell.__class__ is tuple else Atom(UuidType, uuid) in cell.values


def first(row: Any, column: str) -> Any:
    """The value of an optional or scalar column, None when empty."""
    cell = row._data[column]
    if cell.__class__ in _SCALARS:
        return cell
    for key in cell if cell.__class__ is tuple else cell.values:
        return key if cell.__class__ is tuple else key.value
    return None


def known_members(row: Any, column: str) -> list[Any]:
    """`members`, empty when the server's schema lacks the column."""
    return members(row, column) if column in row._table.columns else []


def plain(datum: Any) -> Any:
    """A datum as a JSON value: maps as objects, scalars as they are, all else as a sorted list."""
    if datum.__class__ in _PLAIN:
        return _plain_json(datum)
    if datum.type.is_map():
        return {key.value: value.value for key, value in datum.values.items()}
    found = sorted(str(key.value) if isinstance(key.value, UUID) else key.value for key in datum.values)
    return found[0] if datum.type.is_scalar() and found else found


def _plain_json(cell: Any) -> Any:
    if isinstance(cell, tuple):
        return sorted(str(item) if isinstance(item, UUID) else item for item in cell)
    return dict(cell) if isinstance(cell, dict) else cell


def row_values(row: Any) -> dict[str, Any]:
    """All columns of a row (of an update's old part: those that changed) as JSON values."""
    return {column: plain(row._data[column]) for column in row._data}
