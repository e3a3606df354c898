"""Reading Octavia's database: only SELECT is needed, and every call is one transaction of its own.

With its neighbours `octavia_url`, `octavia_errors` and `octavia_schema` the only code that knows of
SQLAlchemy. Explicit columns only, so that columns which later releases add do no harm. All functions
raise DatabaseUnavailable and DatabaseUnusable. Source: octavia/db/models.py (19.0.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from ovnlb.desired.columns import COLUMNS, TIMES, Row
from ovnlb.desired.graph import Graph, assemble, collector_paused
from ovnlb.desired.jsonrows import to_dicts
from ovnlb.desired.model import PENDING, BrokenLoadBalancer, LoadBalancer, Provisioning
from ovnlb.desired.octavia_errors import DatabaseError as DatabaseError
from ovnlb.desired.octavia_errors import DatabaseUnavailable as DatabaseUnavailable
from ovnlb.desired.octavia_errors import DatabaseUnusable as DatabaseUnusable
from ovnlb.desired.octavia_errors import connected
from ovnlb.desired.octavia_rows import Reader, as_text, together
from ovnlb.desired.octavia_schema import check_schema as check_schema
from ovnlb.desired.octavia_url import open_engine as open_engine

CHUNK = 500  # ids in one IN list

Condition = sa.ColumnElement[bool]
Queries = Mapping[str, sa.Select[Any]]
Rows = dict[str, list[Row]]


def _table(name: str) -> sa.TableClause:
    columns = [sa.column(c, sa.DateTime() if c in TIMES else sa.String()) for c in COLUMNS[name]]
    return sa.table(name, *columns)


LB, VIP, ADDITIONAL, LISTENER, POOL, PERSISTENCE, MEMBER, MONITOR, POLICY, RULE = map(_table, COLUMNS)

WITH_POOL = MEMBER.c.pool_id == POOL.c.id
# A number: a bare EXISTS is text in MariaDB's JSON.
HAS_L7 = sa.case(
    (sa.exists(POLICY.c.id).where(POLICY.c.listener_id == LISTENER.c.id).correlate(LISTENER), 1), else_=0
)
L7_JOIN = POLICY.join(LISTENER, POLICY.c.listener_id == LISTENER.c.id).join(
    LB, LISTENER.c.load_balancer_id == LB.c.id
)


@dataclass(frozen=True)
class _Scope:
    """Statements that differ in parameters only: made once, since making costs more than a small read.

    together: all queries as one, for reads that are small.
    """

    queries: Queries
    l7_queries: Queries
    together: sa.CompoundSelect[Any] | None = None


def _queries(condition: Condition) -> Queries:
    """The six queries for the load balancers that a condition selects.

    `load_balancer` brings its VIP's columns along, `pool` those of its session persistence, and
    `listener` whether it has l7 policies.
    """
    pool_of_lb = POOL.c.load_balancer_id == LB.c.id
    return {
        "load_balancer": as_text(*LB.c, *VIP.c)
        .select_from(LB.outerjoin(VIP, VIP.c.load_balancer_id == LB.c.id))
        .where(condition),
        "additional_vip": as_text(*ADDITIONAL.c)
        .select_from(ADDITIONAL.join(LB, ADDITIONAL.c.load_balancer_id == LB.c.id))
        .where(condition),
        "listener": as_text(*LISTENER.c, HAS_L7)
        .select_from(LISTENER.join(LB, LISTENER.c.load_balancer_id == LB.c.id))
        .where(condition),
        "pool": as_text(*POOL.c, *PERSISTENCE.c)
        .select_from(POOL.join(LB, pool_of_lb).outerjoin(PERSISTENCE, PERSISTENCE.c.pool_id == POOL.c.id))
        .where(condition),
        "member": as_text(*MEMBER.c)
        .select_from(MEMBER.join(POOL, WITH_POOL).join(LB, pool_of_lb))
        .where(condition),
        "health_monitor": as_text(*MONITOR.c)
        .select_from(MONITOR.join(POOL, MONITOR.c.pool_id == POOL.c.id).join(LB, pool_of_lb))
        .where(condition),
    }


def _l7_queries(condition: Condition) -> Queries:
    return {
        "l7policy": as_text(*POLICY.c).select_from(L7_JOIN).where(condition),
        "l7rule": as_text(*RULE.c)
        .select_from(L7_JOIN.join(RULE, RULE.c.l7policy_id == POLICY.c.id))
        .where(condition),
    }


def _scope(condition: Condition, small: bool = False) -> _Scope:
    queries = _queries(condition)
    return _Scope(queries, _l7_queries(condition), together(queries) if small else None)


# As MariaDB's collation compares, on SQLite too.
PROVIDER = sa.func.lower(LB.c.provider)
ALIVE = sa.and_(
    PROVIDER.in_(sa.bindparam("providers", expanding=True)), LB.c.provisioning_status != "DELETED"
)
LIVING = _scope(ALIVE)
OF_PROJECT = _scope(sa.and_(ALIVE, LB.c.project_id == sa.bindparam("project")))
BY_ID = _scope(LB.c.id.in_(sa.bindparam("ids", expanding=True)), small=True)
Selection = tuple[_Scope, Mapping[str, Any]]
# Asked once a second and for every nudge: making a statement costs as much as sending it.
_OURS = PROVIDER.in_(sa.bindparam("providers", expanding=True))
_PENDING = (
    sa.select(LB.c.id, LB.c.provisioning_status)
    .where(LB.c.provisioning_status.in_(sorted(PENDING)), _OURS)
    .order_by(LB.c.id)
)
_STATUSES = sa.select(LB.c.id, LB.c.provisioning_status, LB.c.provider, LB.c.updated_at).where(
    LB.c.id.in_(sa.bindparam("ids", expanding=True))
)


def load_all(engine: sa.Engine, providers: Collection[str], project_id: str | None = None) -> Graph:
    """All load balancers of these providers (in any letter case) that are not DELETED: 6 queries."""
    with collector_paused(), connected(engine) as connection:
        return _graph(_read(connection, [_living(providers, project_id)]))


def load_many(engine: sa.Engine, ids: Collection[str]) -> Graph:
    """The load balancers of these ids, of any provider and status (DELETED too), from one snapshot.

    One query for every CHUNK ids, and two more for those with l7 policies.
    """
    with connected(engine) as connection:
        return _graph(_read(connection, _of_ids(ids)))


def load(engine: sa.Engine, lb_id: str) -> LoadBalancer | BrokenLoadBalancer | None:
    """One load balancer of any provider and status (DELETED too); None when there is no row."""
    return load_many(engine, [lb_id]).find(lb_id)


def read_tables(
    engine: sa.Engine,
    providers: Collection[str] = (),
    ids: Collection[str] | None = None,
    project_id: str | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """The rows behind `load_many(ids)`, or behind `load_all` without ids, as a bundle holds them."""
    conditions = [_living(providers, project_id)] if ids is None else _of_ids(ids)
    with connected(engine) as connection:
        rows = _read(connection, conditions)
    return {table: to_dicts(table, rows[table]) for table in COLUMNS}


def pending(engine: sa.Engine, providers: Collection[str]) -> list[tuple[str, str]]:
    """Id and provisioning status of every load balancer that waits for us: Octavia's work queue."""
    with connected(engine) as connection:
        found = connection.execute(_PENDING, {"providers": _lower(providers)}).all()
    return [(lb_id, status) for lb_id, status in found]


def updated_since(engine: sa.Engine, providers: Collection[str], since: datetime) -> list[str]:
    """Ids of the load balancers whose row was made or changed at `since` (UTC) or later, DELETED too."""
    moment = since.astimezone(UTC).replace(tzinfo=None) if since.tzinfo else since
    changed = sa.or_(LB.c.updated_at >= moment, LB.c.created_at >= moment)
    query = sa.select(LB.c.id).where(changed, _of_providers(providers)).order_by(LB.c.id)
    return [row[0] for row in _rows(engine, query)]


def statuses_of(engine: sa.Engine, ids: Collection[str]) -> dict[str, tuple[str, str, datetime | None]]:
    """Id -> provisioning status, provider ("" for NULL), updated_at, for those ids that have a row.

    Any provider, DELETED included: tells a DELETED load balancer from an absent one.
    """
    with connected(engine) as connection:
        chunks = ({"ids": chunk} for chunk in _chunks(ids))
        found = [row for chunk in chunks for row in connection.execute(_STATUSES, chunk)]
    return {lb_id: (status, provider or "", updated) for lb_id, status, provider, updated in found}


def living_ids(engine: sa.Engine, providers: Collection[str]) -> list[str]:
    """Ids of all load balancers of these providers that are not DELETED."""
    alive = LB.c.provisioning_status != Provisioning.DELETED
    return [row[0] for row in _rows(engine, sa.select(LB.c.id).where(alive, _of_providers(providers)))]


def newest_created_at(engine: sa.Engine) -> datetime | None:
    """When the newest load balancer of any provider was made (naive UTC); None without any."""
    found: datetime | None = _rows(engine, sa.select(sa.func.max(LB.c.created_at)))[0][0]
    return found


def lb_of_pool(engine: sa.Engine, pool_id: str) -> str | None:
    """The id of the load balancer that a pool belongs to."""
    return _first(engine, sa.select(POOL.c.load_balancer_id).where(POOL.c.id == pool_id))


def lb_of_listener(engine: sa.Engine, listener_id: str) -> str | None:
    """The id of the load balancer that a listener belongs to."""
    return _first(engine, sa.select(LISTENER.c.load_balancer_id).where(LISTENER.c.id == listener_id))


def _rows(engine: sa.Engine, query: sa.Select[Any]) -> Sequence[Any]:
    with connected(engine) as connection:
        return connection.execute(query).all()


def _first(engine: sa.Engine, query: sa.Select[Any]) -> str | None:
    rows = _rows(engine, query)
    return rows[0][0] if rows else None


def _of_providers(providers: Collection[str]) -> Condition:
    return PROVIDER.in_(_lower(providers))


def _lower(providers: Collection[str]) -> list[str]:
    return sorted({name.lower() for name in providers})


def _living(providers: Collection[str], project_id: str | None) -> Selection:
    wanted = _lower(providers)
    if project_id is None:
        return LIVING, {"providers": wanted}
    return OF_PROJECT, {"providers": wanted, "project": project_id}


def _chunks(ids: Collection[str]) -> list[list[str]]:
    wanted = sorted(set(ids))
    return [wanted[start : start + CHUNK] for start in range(0, len(wanted), CHUNK)]


def _of_ids(ids: Collection[str]) -> list[Selection]:
    """One selection for every CHUNK ids."""
    return [(BY_ID, {"ids": chunk}) for chunk in _chunks(ids)]


def _read(connection: sa.Connection, selections: Sequence[Selection]) -> Rows:
    """The rows of every table, each with its COLUMNS, for the load balancers of these selections."""
    rows: Rows = {table: [] for table in COLUMNS}
    reader = Reader(connection)
    for scope, parameters in selections:
        has_l7 = False
        for table, found in _found(reader, scope, parameters):
            has_l7 = has_l7 or (table == "listener" and any(row[-1] for row in found))
            _sort_in(rows, table, found)
        if has_l7:
            for table, query in scope.l7_queries.items():
                rows[table].extend(reader.rows(query, parameters))
    return rows


def _found(
    reader: Reader, scope: _Scope, parameters: Mapping[str, Any]
) -> Iterator[tuple[str, list[Row]]]:
    """Table -> rows as the queries of the scope give them, one table after the other."""
    if scope.together is not None:
        yield from reader.tables(scope.queries, scope.together, parameters).items()
        return
    for table, query in scope.queries.items():
        yield table, reader.rows(query, parameters)


def _graph(rows: Rows) -> Graph:
    """The graph of the rows. Those of members are used up, so that there are never two of a large cloud's."""
    members = rows["member"]
    return assemble({**rows, "member": (members.pop() for _ in range(len(members)))})


def _sort_in(rows: Rows, table: str, found: Iterable[Row]) -> None:
    """Append query results to the tables that their columns belong to."""
    width = len(COLUMNS[table])
    if table not in ("load_balancer", "pool", "listener"):
        rows[table].extend(found)
        return
    rows[table].extend(row[:width] for row in found)
    if table != "listener":
        joined = "vip" if table == "load_balancer" else "session_persistence"
        rows[joined].extend(row[width:] for row in found if row[width] is not None)
