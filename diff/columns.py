"""Rows as JSON values, in the form of a bundle's `nb` part: maps as objects, sets as sorted lists."""

from __future__ import annotations

from typing import Any

from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow


def own(row: LoadBalancerRow) -> dict[str, Any]:
    """The columns of a Load_Balancer that hold its own values: no references to or from other rows."""
    return {
        "name": row.name,
        "protocol": row.protocol,
        "external_ids": dict(sorted(row.external_ids.items())),
        "vips": dict(sorted(row.vips.items())),
        "selection_fields": sorted(row.selection_fields),
        "options": dict(sorted(row.options.items())),
        "ip_port_mappings": dict(sorted(row.ip_port_mappings.items())),
    }


def load_balancer(row: LoadBalancerRow) -> dict[str, Any]:
    """All columns, `health_check` as the vips of its checks, and what the row is attached to."""
    return {
        **own(row),
        "health_check": sorted(check.vip for check in row.health_checks),
        "attached_switches": sorted(row.switches),
        "attached_routers": sorted(row.routers),
    }


def check(row: HealthCheckRow) -> dict[str, Any]:
    """The columns of a Load_Balancer_Health_Check."""
    return {
        "vip": row.vip,
        "options": dict(sorted(row.options.items())),
        "external_ids": dict(sorted(row.external_ids.items())),
    }
