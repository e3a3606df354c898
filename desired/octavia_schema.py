"""Whether a database has the tables and columns that are read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy import exc

from ovnlb.desired.columns import COLUMNS
from ovnlb.desired.octavia_errors import DatabaseUnusable, connected, described

# The newest alembic revision that brought something we read: table additional_vip.
NEEDED_REVISION = "31f7653ded67"


def check_schema(engine: sa.Engine) -> None:
    """Raise DatabaseUnusable that names every missing table and column; DatabaseUnavailable when away."""
    found = _columns(engine)
    missing = [
        f"table {table}" if table not in found else f"column {table}.{column}"
        for table, columns in COLUMNS.items()
        for column in (columns if table in found else columns[:1])
        if column not in found.get(table, ())
    ]
    if not missing:
        return
    where = described(engine)
    if "load_balancer" not in found:
        raise DatabaseUnusable(f"{where} has no load_balancer table: it is not Octavia's, or not readable")
    raise DatabaseUnusable(
        f"{where} lacks {', '.join(missing)}: upgrade Octavia's schema (octavia-db-manage upgrade head; "
        f"revision {NEEDED_REVISION} or later), or grant SELECT on these tables"
    )


def _columns(engine: sa.Engine) -> Mapping[str, frozenset[str]]:
    """Table -> its columns, for the tables among COLUMNS that exist and may be read."""
    with connected(engine) as connection, warnings.catch_warnings():
        # Reflection warns of column types that it does not know; only names matter here.
        warnings.simplefilter("ignore", exc.SAWarning)
        inspector = sa.inspect(connection)
        tables = set(inspector.get_table_names()) & set(COLUMNS)
        return {
            table: frozenset(column["name"] for column in inspector.get_columns(table)) for table in tables
        }
