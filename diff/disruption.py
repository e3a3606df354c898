"""What each change of a plan does to traffic while it happens. Pure.

Statements about OVN were observed on a data path: an established connection goes on when its member
leaves a `vips` value and stalls when the Load_Balancer goes; a member of a checked key without a
mapping gets no traffic; the first connection of an affinity window is dropped. What was not observed is
said with "may". Columns that northd makes no flow of (external_ids) disturb nobody.
"""

from __future__ import annotations

from ovnlb.diff import canon
from ovnlb.diff.disruption_columns import check_disruption, column_disruption
from ovnlb.diff.effects import REFRESH_FIP
from ovnlb.diff.impact import UNDISTURBED, Disruption, Impact, PlannedRows, backends_of, begins
from ovnlb.diff.plan import Change, Effect, Op, Plan


def disruptions(plan: Plan) -> tuple[Disruption, ...]:
    """The disruption of each change of the plan, in the order of its changes."""
    if not plan.changes:
        return ()
    gone = {item.row for item in plan.changes if item.op is Op.DELETE}
    come = {item.row for item in plan.changes if item.op is Op.INSERT}
    world = PlannedRows(
        {row.uuid: row for row in plan.have.rows if row.uuid},
        {canon.protocol(row.protocol): row for row in plan.want.rows},
        frozenset(gone),
        frozenset(come),
    )
    return tuple(_of(item, world) for item in plan.changes)


def effect_disruption(effect: Effect) -> Disruption:
    """The disruption of an effect in Neutron."""
    if effect.kind == REFRESH_FIP:
        address = effect.details.get("address", effect.target)
        return Disruption(
            Impact.PATH_MOVES,
            f"floating IP {address} goes back to its member's own chassis: established connections over "
            "it may stall",
            members=(str(address),),
        )
    return UNDISTURBED


def _of(item: Change, world: PlannedRows) -> Disruption:
    match item.table, item.op:
        case "Load_Balancer", Op.INSERT:
            return begins((item.after or {}).get("vips") or {})
        case "Load_Balancer", Op.DELETE:
            return _row_deleted(item, world)
        case "Load_Balancer", _:
            return column_disruption(item, world)
        case "Load_Balancer_Health_Check", _:
            return check_disruption(item, world)
        case (("Logical_Switch" | "Logical_Router"), Op.ATTACH):
            return _attached(item, world)
        case (("Logical_Switch" | "Logical_Router"), Op.DETACH):
            return _detached(item, world)
        case "NAT", _:
            return Disruption(
                Impact.PATH_MOVES,
                "a member's own floating IP is served by the gateway chassis from now on: established "
                "connections over it may stall",
                members=(str(item.before),) if item.column == "logical_port" else (),
            )
        case _:
            return UNDISTURBED


# Whole rows


def _row_deleted(item: Change, world: PlannedRows) -> Disruption:
    row = world.found(item.row)
    vips = row.vips if row is not None else (item.before or {}).get("vips") or {}
    served = tuple(sorted(key for key, value in vips.items() if value))
    if not served:
        return Disruption(text="it serves nothing")
    members = backends_of(vips, served)
    if row is not None and world.twin_serves(row):
        return Disruption(
            Impact.NEW_CONNECTIONS_MOVE,
            "the other row of the same endpoints serves alone: new connections may get other members",
            served,
            members,
        )
    return Disruption(
        Impact.VIP_UNSERVED,
        f"{', '.join(served)} is no longer served: established connections stall, new ones get no answer",
        served,
        members,
    )


def _attached(item: Change, world: PlannedRows) -> Disruption:
    row = world.wanted(item.key or "")
    if item.key in world.inserted:
        return Disruption(text="part of the new row")
    if row is None or not any(row.vips.values()):
        return Disruption(text="it serves nothing yet")
    return Disruption(
        Impact.SERVICE_BEGINS,
        f"clients on {item.row} begin to be served",
        tuple(sorted(row.vips)),
    )


def _detached(item: Change, world: PlannedRows) -> Disruption:
    row = world.found(item.key or "")
    if row is None or not any(row.vips.values()):
        return Disruption(text="it serves nothing")
    served = tuple(sorted(key for key, value in row.vips.items() if value))
    return Disruption(
        Impact.CONNECTIONS_END,
        f"the load balancer no longer acts on {item.row}: connections balanced there to "
        f"{', '.join(backends_of(row.vips, served))} may stall",
        served,
        backends_of(row.vips, served),
    )
