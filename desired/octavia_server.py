"""What there is to know of Octavia's database as a server, for people: version, revision, rights.

Nothing here decides anything; only `check-config` asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import exc

from ovnlb.desired.octavia import LB, PROVIDER
from ovnlb.desired.octavia_errors import connected

_READING = frozenset({"SELECT", "USAGE", "SHOW VIEW"})
_GRANT = re.compile(r"^GRANT (.+?) ON (\S+) TO ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DatabaseServer:
    """`revision`: alembic's, empty when it cannot be read. `rights`: rights beyond reading, as granted."""

    product: str
    revision: str
    rights: tuple[str, ...] = ()


def database_server(engine: sa.Engine) -> DatabaseServer:
    """Which server this is. Raises DatabaseUnavailable and DatabaseUnusable."""
    sqlite = engine.dialect.name == "sqlite"
    with connected(engine) as connection:
        version = connection.scalar(sa.text(f"SELECT {'sqlite_version()' if sqlite else 'VERSION()'}"))
    if sqlite:
        return DatabaseServer(
            f"SQLite {version}", _optional(engine, "SELECT version_num FROM alembic_version")
        )
    product = str(version) if "maria" in str(version).lower() else f"MySQL {version}"
    return DatabaseServer(
        product, _optional(engine, "SELECT version_num FROM alembic_version"), _rights(engine)
    )


def living_by_provider(engine: sa.Engine) -> dict[str, int]:
    """Provider in lower case ("" for none) -> how many load balancers of it are not DELETED."""
    query = (
        sa.select(PROVIDER, sa.func.count()).where(LB.c.provisioning_status != "DELETED").group_by(PROVIDER)
    )
    with connected(engine) as connection:
        return {str(provider or ""): int(count) for provider, count in connection.execute(query)}


def count_of(counts: dict[str, int], providers: Collection[str]) -> int:
    """How many of these load balancers are of these providers, in any letter case."""
    return sum(counts.get(name, 0) for name in {provider.lower() for provider in providers})


def _optional(engine: sa.Engine, statement: str) -> str:
    try:
        with engine.connect() as connection:
            return str(connection.scalar(sa.text(statement)) or "")
    except exc.SQLAlchemyError:
        return ""


def _rights(engine: sa.Engine) -> tuple[str, ...]:
    """`INSERT, UPDATE on octavia.*` for each grant that allows more than reading."""
    try:
        with engine.connect() as connection:
            grants = [str(row[0]) for row in connection.execute(sa.text("SHOW GRANTS"))]
    except exc.SQLAlchemyError:
        return ()
    return tuple(right for grant in grants if (right := _beyond_reading(grant)))


def _beyond_reading(grant: str) -> str:
    found = _GRANT.match(grant)
    if found is None:
        return ""
    # SELECT may come with columns: SELECT (`id`, `name`).
    names = [name.strip() for name in re.sub(r"\([^)]*\)", "", found[1]).split(",")]
    more = [name for name in names if name.upper() not in _READING]
    return f"{', '.join(more)} on {found[2].replace('`', '')}" if more else ""
