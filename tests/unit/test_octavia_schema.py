"""The SQLite form of Octavia's schema is true to the real one."""

from __future__ import annotations

import sqlalchemy as sa

from ovnlb.desired.columns import COLUMNS


def described(url: str) -> dict[str, dict[str, tuple[bool, bool]]]:
    """Table -> column -> (nullable, part of the primary key)."""
    inspector = sa.inspect(sa.create_engine(url))
    tables = {}
    for table in COLUMNS:
        key = set(inspector.get_pk_constraint(table)["constrained_columns"])
        tables[table] = {
            column["name"]: (bool(column["nullable"]), column["name"] in key)
            for column in inspector.get_columns(table)
        }
    return tables


def uniques(url: str) -> set[tuple[str, tuple[str, ...]]]:
    inspector = sa.inspect(sa.create_engine(url))
    return {
        (table, tuple(constraint["column_names"]))
        for table in COLUMNS
        for constraint in inspector.get_unique_constraints(table)
    }


def test_same_columns_keys_and_nullability(octavia_mariadb: str, octavia_sqlite: str) -> None:
    assert described(octavia_sqlite) == described(octavia_mariadb)


def test_same_unique_constraints(octavia_mariadb: str, octavia_sqlite: str) -> None:
    assert uniques(octavia_sqlite) == uniques(octavia_mariadb)


def test_every_read_column_exists(octavia_mariadb: str) -> None:
    real = described(octavia_mariadb)
    assert {t: set(columns) - set(real[t]) for t, columns in COLUMNS.items()} == {t: set() for t in COLUMNS}
