"""Which tables and columns a replica has, held against the schema that the server has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ovs.db import idl

from ovnlb.observed.remotes import WrongDatabase, fetch_schema
from ovnlb.observed.source import Endpoint


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one table: those that must be there, and those that newer schemas have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


def column_gaps(schema: Mapping[str, Any], tables: Mapping[str, Columns]) -> list[str]:
    """The required tables and columns that the schema lacks, as TABLE or TABLE.COLUMN."""
    known = schema["tables"]
    return [
        f"{table}.{column}" if table in known else table
        for table, columns in tables.items()
        for column in (columns.required if table in known else columns.required[:1])
        if table not in known or column not in known[table]["columns"]
    ]


def schema_helper(endpoint: Endpoint, database: str, tables: Mapping[str, Columns]) -> Any:
    """python-ovs' helper for these columns. Raises Unreachable, and WrongDatabase naming what lacks."""
    schema = fetch_schema(endpoint, database)
    if gaps := column_gaps(schema, tables):
        raise WrongDatabase(
            f"{database} at {endpoint.remotes} (schema version {schema.get('version')}) lacks "
            + ", ".join(gaps)
        )
    helper = idl.SchemaHelper(None, schema)
    for table, columns in tables.items():
        present = schema["tables"][table]["columns"]
        optional = [column for column in columns.optional if column in present]
        helper.register_columns(table, [*columns.required, *optional])
    return helper
