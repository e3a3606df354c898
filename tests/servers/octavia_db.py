"""Writing rows in scenario form into an Octavia database, on MariaDB and on SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa

# Parents first; MariaDB's foreign keys are checked.
TABLES = (
    "load_balancer",
    "vip",
    "additional_vip",
    "pool",
    "session_persistence",
    "listener",
    "member",
    "health_monitor",
    "l7policy",
    "l7rule",
)
EPOCH = datetime(2026, 1, 1, 12, 0, 0)

# What octavia-api would have filled in, for columns that are NOT NULL.
DEFAULTS: Mapping[str, Any] = {
    "enabled": True,
    "provisioning_status": "ACTIVE",
    "operating_status": "ONLINE",
    "backup": False,
    "vnic_type": "normal",
    "tls_enabled": False,
    "client_authentication": "NONE",
    "lb_algorithm": "SOURCE_IP_PORT",
    "protocol": "TCP",
    "delay": 5,
    "timeout": 3,
    "fall_threshold": 3,
    "rise_threshold": 2,
    "type": "TCP",
    "action": "REJECT",
    "position": 1,
    "compare_type": "STARTS_WITH",
    "value": "/",
    "invert": False,
}
OWN_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "l7rule": {"type": "PATH"},
    "session_persistence": {"type": "SOURCE_IP"},
}


@cache
def _metadata(url: str) -> sa.MetaData:
    engine = sa.create_engine(url)
    metadata = sa.MetaData()
    metadata.reflect(engine, only=TABLES)
    engine.dispose()
    return metadata


def writer(url: str) -> sa.Engine:
    """An engine that may write, to a database of the `octavia_mariadb` or `octavia_sqlite` fixture."""
    return sa.create_engine(url)


def _value(column: sa.Column[Any], given: Any) -> Any:
    if isinstance(column.type, sa.DateTime) and isinstance(given, str):
        return datetime.fromisoformat(given).replace(tzinfo=None)
    if isinstance(column.type, sa.LargeBinary) and isinstance(given, str):
        return given.encode()
    return given


def _row(table: sa.Table, given: Mapping[str, Any], created_at: datetime) -> dict[str, Any]:
    defaults = {**DEFAULTS, **OWN_DEFAULTS.get(table.name, {}), "created_at": created_at}
    row = {}
    for column in table.columns:
        if column.name in given:
            row[column.name] = _value(column, given[column.name])
        elif column.name == "created_at" or not column.nullable:
            row[column.name] = defaults.get(column.name)
    return row


def write_tables(
    engine: sa.Engine,
    octavia: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    replace: bool = True,
    created_at: bool = True,
) -> None:
    """Make the database hold these rows, in one transaction; with `replace`, only these.

    `octavia` has the form of scenarios and bundles: table -> rows, absent columns left to defaults.
    Rows without created_at get one a second apart in the order given, or NULL when `created_at` is
    false (a bundle has none then: the graphs are equal).
    """
    url = engine.url.render_as_string(hide_password=False)
    metadata = _metadata(url)
    with engine.begin() as connection:
        if replace:
            connection.execute(sa.update(metadata.tables["listener"]).values(default_pool_id=None))
            for name in reversed(TABLES):
                connection.execute(sa.delete(metadata.tables[name]))
        for name in TABLES:
            table = metadata.tables[name]
            rows = [
                _row(table, row, EPOCH + timedelta(seconds=i)) for i, row in enumerate(octavia.get(name, ()))
            ]
            if not created_at:
                given = octavia.get(name, ())
                rows = [
                    {k: v for k, v in row.items() if k != "created_at" or "created_at" in source}
                    for row, source in zip(rows, given, strict=True)
                ]
            for group in _same_columns(rows):
                connection.execute(sa.insert(table), group)


def _same_columns(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows grouped by the columns they have: what one executemany can insert."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row), []).append(row)
    return list(groups.values())
