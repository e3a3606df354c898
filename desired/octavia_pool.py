"""One short read for octavia-api's driver: whose pool is this, and which VIPs does it have?"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from ovnlb.desired.octavia import ADDITIONAL, MEMBER, POOL, VIP
from ovnlb.desired.octavia_errors import connected


@dataclass(frozen=True, slots=True)
class PoolOwner:
    """A pool's load balancer, its VIPs as (address, subnet id), the VIP first, and member ids if asked."""

    lb_id: str
    vips: tuple[tuple[str | None, str | None], ...]
    member_ids: frozenset[str]


def owner_of_pool(engine: sa.Engine, pool_id: str, with_members: bool = False) -> PoolOwner | None:
    """What is committed of a pool's owner; None when there is no such pool. One query, two with members.

    Raises DatabaseUnavailable and DatabaseUnusable.
    """
    lb_id = POOL.c.load_balancer_id
    query = (
        sa.select(lb_id, VIP.c.ip_address, VIP.c.subnet_id, ADDITIONAL.c.ip_address, ADDITIONAL.c.subnet_id)
        .select_from(
            POOL.outerjoin(VIP, VIP.c.load_balancer_id == lb_id).outerjoin(
                ADDITIONAL, ADDITIONAL.c.load_balancer_id == lb_id
            )
        )
        .where(POOL.c.id == pool_id)
        .order_by(ADDITIONAL.c.subnet_id)
    )
    members: frozenset[str] = frozenset()
    with connected(engine) as connection:
        rows = connection.execute(query).all()
        if with_members:
            found = connection.execute(sa.select(MEMBER.c.id).where(MEMBER.c.pool_id == pool_id))
            members = frozenset(row[0] for row in found)
    if not rows or rows[0][0] is None:
        return None
    more = tuple((row[3], row[4]) for row in rows if row[4] is not None)
    return PoolOwner(rows[0][0], ((rows[0][1], rows[0][2]), *more), members)
