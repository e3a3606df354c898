"""One read for the search for orphans: the subnets where members are monitored."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from ovnlb.desired.octavia import ADDITIONAL, ALIVE, LB, MEMBER, MONITOR, POOL, VIP
from ovnlb.desired.octavia_errors import connected

_MONITORED = MEMBER.join(POOL, MEMBER.c.pool_id == POOL.c.id).join(MONITOR, MONITOR.c.pool_id == POOL.c.id)
_OF_LB = _MONITORED.join(LB, POOL.c.load_balancer_id == LB.c.id)


def monitored_subnets(engine: sa.Engine, providers: Collection[str]) -> frozenset[str]:
    """The subnets of every monitored member of a living load balancer, however disabled it may be.

    A member without a subnet may be on any subnet of its load balancer's VIPs: all of them count.
    Raises DatabaseUnavailable and DatabaseUnusable.
    """
    parameters = {"providers": sorted({name.lower() for name in providers})}
    anywhere = sa.and_(ALIVE, MEMBER.c.subnet_id.is_(None))
    queries: tuple[sa.Select[Any], ...] = (
        sa.select(MEMBER.c.subnet_id).select_from(_OF_LB).where(ALIVE),
        *(
            sa.select(table.c.subnet_id)
            .select_from(_OF_LB.join(table, table.c.load_balancer_id == LB.c.id))
            .where(anywhere)
            for table in (VIP, ADDITIONAL)
        ),
    )
    with connected(engine) as connection:
        found = {row[0] for query in queries for row in connection.execute(query.distinct(), parameters)}
    return frozenset(found - {None})
