"""Rows and columns that are only read, as plain Python values instead of python-ovs' atoms and datums.

A cloud has a hundred thousand Logical_Switch_Ports, and python-ovs makes some sixty objects of each.
Nothing of ours writes them, so their cells are a text (exactly one value), a tuple (a set) or a dict
(a map), made straight from the protocol's JSON. `ovnlb.observed.datum` reads both kinds.

Source: RFC 7047 section 5.1 (values), ovsdb-server(7) section 4.1.14 (update2: differences).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any
from uuid import UUID

from ovs.db import data, error, idl, types

_TRUE, _NOTHING = (True,), ()
_TEXT = types.StringType


@dataclass(frozen=True)
class Plain:
    """What is plain of one table: these columns, or all of them when `whole`.

    keys: by map column, the keys that are read; others are not kept. unique: keys whose texts differ
    from row to row; all other texts are kept once, however many rows have them.
    """

    columns: frozenset[str]
    whole: bool = False
    keys: Mapping[str, Collection[str]] = field(default_factory=dict)
    unique: Collection[str] = frozenset()


class PlainRow:
    """A row whose cells are all plain. It is its own `_data`: column -> cell."""

    __slots__ = ("_cells", "_table", "uuid")

    def __init__(self, table: PlainTable, uuid: Any, cells: tuple[Any, ...]) -> None:
        self._table, self.uuid, self._cells = table, uuid, cells

    @property
    def _data(self) -> PlainRow:
        return self

    def __getitem__(self, column: str) -> Any:
        return self._cells[self._table.place[column]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.place)


class _Former:
    """The cells that an update has replaced."""

    def __init__(self, table: PlainTable, uuid: Any, data: dict[str, Any]) -> None:
        self._table, self.uuid, self._data = table, uuid, data


class Ready(tuple[Any, ...]):
    """The cells of a whole row, made while the message was being received."""

    __slots__ = ()


class PlainTable:
    """A python-ovs table whose rows are plain."""

    def __init__(self, table: Any, plain: Plain) -> None:
        self.name, self.columns, self._table, self._plain = table.name, table.columns, table, plain
        self.place = {name: number for number, name in enumerate(table.columns)}
        self._defaults = {name: empty(column.type) for name, column in table.columns.items()}
        self._readers = {name: self._reader(name, column.type) for name, column in table.columns.items()}
        self._shared: dict[Any, Any] = {}

    def ready(self, update: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row update with the cells of a new row in place of its JSON."""
        for event in ("initial", "insert"):
            if event in update:
                return {event: self.cells(update[event])}
        return update

    def cells(self, values: Mapping[str, Any]) -> Ready:
        """The cells of a row; columns that the server leaves out have their default."""
        return Ready(
            reader(values[name]) if name in values else self._defaults[name]
            for name, reader in self._readers.items()
        )

    def _reader(self, name: str, kind: Any) -> Callable[[Any], Any]:
        if kind.is_map():
            wanted, unique = self._plain.keys.get(name), self._plain.unique
            return lambda value: self._map(value[1], wanted, unique)
        return lambda value: cell(kind, value)

    def _map(self, pairs: Any, wanted: Collection[str] | None, unique: Collection[str]) -> dict[str, str]:
        found = {
            intern(key): value if key in unique else intern(value)
            for key, value in pairs
            if wanted is None or key in wanted
        }
        if len(found) > 1 or not found.keys().isdisjoint(unique):
            return found
        # Most maps with a single entry are like thousands of others.
        return self._shared.setdefault(tuple(found.items()), found)  # type: ignore[no-any-return]

    def update2(self, uuid: Any, update: Mapping[str, Any]) -> Any:
        """Take in one row update (protocol version 2 or 3); the notice, or False."""
        rows = self._table.rows
        row = rows.get(uuid)
        if "delete" in update:
            return self._delete(uuid, row)
        if "modify" not in update:
            values = update["insert"] if "insert" in update else update["initial"]
            return self._create(uuid, values if isinstance(values, Ready) else self.cells(values))
        if row is None:
            raise error.Error("Modify non-existing row")
        known = {name: value for name, value in update["modify"].items() if name in self.place}
        new = {
            name: changed(self.columns[name].type, row[name], self._readers[name](value))
            for name, value in known.items()
        }
        return self._modify(row, new)

    def update1(self, uuid: Any, new: Mapping[str, Any] | None) -> Any:
        """The same for servers that only know `monitor`: whole new values, or none."""
        row = self._table.rows.get(uuid)
        if not new:
            return self._delete(uuid, row)
        if row is None:
            return self._create(uuid, self.cells(new))
        known = {name: value for name, value in new.items() if name in self.place}
        return self._modify(row, {name: self._readers[name](value) for name, value in known.items()})

    def _create(self, uuid: Any, cells: tuple[Any, ...]) -> Any:
        row = self._table.rows[uuid] = PlainRow(self, uuid, cells)
        return idl.Notice(idl.ROW_CREATE, row)

    def _delete(self, uuid: Any, row: Any) -> Any:
        if row is None:
            return False
        del self._table.rows[uuid]
        return idl.Notice(idl.ROW_DELETE, row)

    def _modify(self, row: PlainRow, new: Mapping[str, Any]) -> Any:
        old = {name: row[name] for name, value in new.items() if row[name] != value}
        if not old:
            return False
        row._cells = tuple(new.get(name, before) for name, before in zip(self.place, row._cells, strict=True))
        return idl.Notice(idl.ROW_UPDATE, row, _Former(self, row.uuid, old))


def cell(kind: Any, value: Any) -> Any:
    """The plain cell of a set or scalar column of that python-ovs type out of its JSON."""
    if isinstance(value, list):
        tag, content = value
        found = tuple(map(_atom, content)) if tag == "set" else (_atom(value),)
        return _TRUE if found == _TRUE else found or _NOTHING
    if kind.is_scalar():
        return value
    return _TRUE if value is True else (value,)


def _atom(value: Any) -> Any:
    return UUID(value[1]) if isinstance(value, list) else value


def datum_of(kind: Any, value: Any) -> Any:
    """python-ovs' datum of that type; maps of texts without its checks, which the server has made."""
    if kind.is_map() and isinstance(value, list) and _is_text(kind.key) and _is_text(kind.value):
        return data.Datum(kind, {data.Atom(_TEXT, key): data.Atom(_TEXT, item) for key, item in value[1]})
    return data.Datum.from_json(kind, value)


def _is_text(base: Any) -> bool:
    return base.type is _TEXT and base.enum is None


def empty(kind: Any) -> Any:
    """The cell of a column that the server leaves out: the default of its type."""
    if kind.is_map():
        return {}
    return kind.key.type.default_atom().value if kind.is_scalar() else ()


def changed(kind: Any, old: Any, new: Any) -> Any:
    """A cell after an update2 difference: a symmetric one for sets, by key for maps, else the value."""
    if kind.n_max <= 1:
        return new
    if isinstance(new, dict):
        kept = {key: value for key, value in old.items() if key not in new}
        return kept | {key: value for key, value in new.items() if old.get(key) != value}
    gone = set(new) & set(old)
    return (*(item for item in old if item not in gone), *(item for item in new if item not in gone))
