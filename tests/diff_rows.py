"""Rows of one load balancer for tests of the diff: a small one that is right, and edits of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow, NbState
from ovnlb.diff.compare import plan
from ovnlb.diff.plan import Change, Plan

LB = "1b000000-0000-4000-8000-000000000001"
L1, L2 = "11500000-0000-4000-8000-000000000001", "11500000-0000-4000-8000-000000000002"
P1, P2 = "b0010000-0000-4000-8000-000000000001", "b0010000-0000-4000-8000-000000000002"
M1, M2 = "3e3be000-0000-4000-8000-000000000001", "3e3be000-0000-4000-8000-000000000002"
HM = "4ea17000-0000-4000-8000-000000000001"
ROW = "aaaaaaaa-0000-4000-8000-000000000001"
CHECK = "cccccccc-0000-4000-8000-000000000001"
VIP = "10.0.0.10:80"


def member(member_id: str, address: str = "10.0.0.21", subnet: str | None = "sub") -> str:
    """A member entry on port 8080."""
    return f"member_{member_id}_{address}:8080" + (f"_{subnet}" if subnet else "")


def check(vip: str = VIP, **more: Any) -> HealthCheckRow:
    """The health check of HM for a vip."""
    ids = {
        "octavia:healthmonitor": HM,
        "octavia:pool_id": P1,
        "octavia:vip": vip.rpartition(":")[0].strip("[]"),
    }
    return HealthCheckRow(vip, {"interval": "5", "timeout": "3"}, more.pop("external_ids", ids), **more)


RIGHT = LoadBalancerRow(
    name=LB,
    protocol="tcp",
    external_ids={
        "enabled": "True",
        "neutron:vip": "10.0.0.10",
        "neutron:vip_port_id": "port",
        "ls_refs": '{"neutron-net": 3}',
        "lr_ref": "neutron-router",
        f"listener_{L1}": f"80:pool_{P1}",
        f"pool_{P1}": f"{member(M1)},{member(M2, '10.0.0.22')}",
        "neutron:member_status": f'{{"{M1}": "ONLINE", "{M2}": "ONLINE"}}',
        "octavia:healthmonitors": f'["{HM}"]',
    },
    vips={VIP: "10.0.0.21:8080,10.0.0.22:8080"},
    selection_fields=frozenset({"ip_dst", "ip_src"}),
    ip_port_mappings={"10.0.0.21": "port1:10.0.0.2", "10.0.0.22": "port2:10.0.0.2"},
    health_checks=(check(),),
    switches=frozenset({"neutron-net"}),
    routers=frozenset({"neutron-router"}),
)


def edited(
    row: LoadBalancerRow, ids: Mapping[str, str | None] | None = None, **columns: Any
) -> LoadBalancerRow:
    """A row with other external_ids (None removes a key) and columns."""
    merged = {**row.external_ids, **(ids or {})}
    return replace(row, external_ids={k: v for k, v in merged.items() if v is not None}, **columns)


def observed(row: LoadBalancerRow, uuid: str = ROW) -> LoadBalancerRow:
    """The row with UUIDs, as the database holds it."""
    checks = tuple(
        replace(item, uuid=item.uuid or f"{CHECK[:-1]}{number}")
        for number, item in enumerate(row.health_checks)
    )
    return replace(row, uuid=row.uuid or uuid, health_checks=checks)


def compared(
    want: LoadBalancerRow | tuple[LoadBalancerRow, ...],
    have: LoadBalancerRow | tuple[LoadBalancerRow, ...],
    pending: Mapping[str, str] | None = None,
    **more: Any,
) -> Plan:
    """The plan from these observed rows to these desired ones."""
    wanted = want if isinstance(want, tuple) else (want,)
    found = have if isinstance(have, tuple) else (have,)
    state = NbState(tuple(observed(row) for row in found))
    return plan(NbState(wanted), state, lb_id=LB, pending=pending, **more)


def told(made: Plan) -> dict[str, str]:
    """What a plan does, as `op table column key` -> reason, tables and ids left short."""
    return {_label(change): str(change.reason) for change in made.changes}


def _label(change: Change) -> str:
    parts = [str(change.op), "".join(word[0] for word in change.table.split("_"))]
    if change.column == "load_balancer":
        return " ".join((*parts, change.row))
    key = (change.key or "").replace(L1, "L1").replace(L2, "L2").replace(P1, "P1").replace(P2, "P2")
    return " ".join(part for part in (*parts, change.column, key) if part)
