"""Whether two states are equal as they stand: the fast answer for a database that is right.

Plain comparison of values, text by text; nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Iterable

from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow, NbState


def equal(want: NbState, have: NbState) -> bool:
    """Whether both hold the same rows under plain comparison; False says nothing."""
    if len(want.rows) != len(have.rows):
        return False
    if len(want.rows) == 1:
        return _equal_row(want.rows[0], have.rows[0])
    found = {row.protocol: row for row in have.rows}
    return len(found) == len(want.rows) and all(
        row.protocol in found and _equal_row(row, found[row.protocol]) for row in want.rows
    )


def sharing(want: NbState, have: NbState) -> NbState:
    """Desired rows that are equal to the observed ones, with the observed rows' maps in place of their own.

    A pass over ten thousand load balancers keeps both states of each, and the replica has the texts of
    the observed ones anyway.
    """
    found = {row.protocol: row for row in have.rows}
    return NbState(tuple(_with_maps_of(found[row.protocol], row) for row in want.rows))


def _with_maps_of(have: LoadBalancerRow, want: LoadBalancerRow) -> LoadBalancerRow:
    # Written out: dataclasses.replace takes four times as long, for every load balancer of a pass.
    return LoadBalancerRow(
        name=want.name,
        protocol=want.protocol,
        external_ids=have.external_ids,
        vips=have.vips,
        selection_fields=want.selection_fields,
        options=have.options,
        ip_port_mappings=have.ip_port_mappings,
        health_checks=want.health_checks,
        switches=have.switches,
        routers=have.routers,
    )


def _equal_row(want: LoadBalancerRow, have: LoadBalancerRow) -> bool:
    return (
        want.protocol == have.protocol
        and want.vips == have.vips
        and want.external_ids == have.external_ids
        and want.switches == have.switches
        and want.routers == have.routers
        and want.selection_fields == have.selection_fields
        and want.options == have.options
        and want.ip_port_mappings == have.ip_port_mappings
        and len(want.health_checks) == len(have.health_checks)
        and (not want.health_checks or _equal_checks(want.health_checks, have.health_checks))
    )


def _equal_checks(want: Iterable[HealthCheckRow], have: Iterable[HealthCheckRow]) -> bool:
    found = {check.vip: check for check in have}
    for check in want:
        other = found.get(check.vip)
        if other is None or other.external_ids != check.external_ids or other.options != check.options:
            return False
    return True
