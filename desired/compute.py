"""From the graph and the world to the rows that must exist: the whole of it, as one pure function.

Source: architecture.md section 3. Nothing here knows what the database holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ovnlb.desired import extids
from ovnlb.desired.addresses import canonical, is_v6
from ovnlb.desired.affinity import affinity_options, affinity_warnings, selection_fields
from ovnlb.desired.attach import Attachment, attachment
from ovnlb.desired.facts import Health, MonitorKey, Topology
from ovnlb.desired.health import HealthRows, expected_monitors, health_rows
from ovnlb.desired.intent import RowIntent, is_gone, row_intents
from ovnlb.desired.model import LoadBalancer, Operating, Vip
from ovnlb.desired.notes import PlanWarning
from ovnlb.desired.rows import (
    ADDITIONAL_VIP_FIPS,
    ADDITIONAL_VIP_PORT_IDS,
    ADDITIONAL_VIPS,
    ENABLED,
    HEALTH_MONITORS,
    LR_REF,
    LS_REFS,
    MEMBER_STATUS,
    VIP,
    VIP_FIP,
    VIP_PORT_ID,
    LoadBalancerRow,
    NbState,
)
from ovnlb.desired.statuses import member_statuses
from ovnlb.desired.vips import served_vips


@dataclass(frozen=True, slots=True)
class Desired:
    """What must be for one load balancer.

    members: member id -> operating status. monitors: the Service_Monitors OVN must have, with their
    interval in seconds. hm_subnets: subnets whose health-monitor port the rows use. waiting: what
    Neutron has to make first.
    """

    state: NbState = field(default_factory=NbState)
    members: Mapping[str, str] = field(default_factory=dict)
    monitors: Mapping[MonitorKey, int] = field(default_factory=dict)
    hm_subnets: tuple[str, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    row: LoadBalancerRow
    members: Mapping[str, str]
    monitors: Mapping[MonitorKey, int]
    health: HealthRows
    attached: Attachment


def desired_state(lb: LoadBalancer, topo: Topology, health: Health, *, drain: bool = True) -> Desired:
    """The rows of one load balancer; none when it is being deleted.

    `drain`: members of weight 0 leave `vips` (option drain_on_zero_weight).
    """
    if is_gone(lb):
        return Desired()
    intents = row_intents(lb, topo.subnets)
    rows = [_row(lb, intent, topo, health, drain) for intent in intents]
    return Desired(
        state=NbState(tuple(row.row for row in rows)),
        members={member: status for row in rows for member, status in row.members.items()},
        monitors={key: interval for row in rows for key, interval in row.monitors.items()},
        hm_subnets=tuple(dict.fromkeys(subnet for row in rows for subnet in row.health.hm_subnets)),
        warnings=tuple(dict.fromkeys(_warnings(lb, intents, rows, topo))),
        waiting=tuple(dict.fromkeys(name for row in rows for name in row.attached.waiting)),
    )


def _row(lb: LoadBalancer, intent: RowIntent, topo: Topology, health: Health, drain: bool) -> _Row:
    attached = attachment(lb, intent, topo)
    external_ids = dict(_vip_ids(lb, topo))
    external_ids |= dict(_child_ids(intent))
    external_ids |= dict(_attachment_ids(attached))
    vips = served_vips(intent, external_ids, _excluded(intent, drain))
    checks = health_rows(intent, lb.enabled, _addresses(external_ids), topo)
    expected = expected_monitors(intent, checks, vips)
    members = member_statuses(intent, expected, health, drain)
    if checks.monitors:
        external_ids[HEALTH_MONITORS] = extids.dump_ids(checks.monitors)
    if statuses := _row_statuses(intent, members):
        external_ids[MEMBER_STATUS] = extids.dump_statuses(statuses)
    row = LoadBalancerRow(
        name=lb.id,
        protocol=intent.protocol,
        external_ids=external_ids,
        vips=vips,
        selection_fields=selection_fields(intent.pools, topo.ipv6_hash and _has_v6(lb)),
        options=affinity_options(intent.pools),
        ip_port_mappings=checks.mappings or {},
        health_checks=checks.checks,
        switches=attached.switches,
        routers=attached.routers,
    )
    monitors = {key: interval for key, interval in expected.values() if key is not None}
    return _Row(row, members, monitors, checks, attached)


def _vip_ids(lb: LoadBalancer, topo: Topology) -> Iterator[tuple[str, str]]:
    yield ENABLED, str(lb.enabled)
    yield VIP, _text(lb.vip)
    yield VIP_PORT_ID, lb.vip.port_id or ""
    if lb.additional_vips:
        yield ADDITIONAL_VIPS, ",".join(_text(vip) for vip in lb.additional_vips)
        yield ADDITIONAL_VIP_PORT_IDS, ",".join(vip.port_id or "" for vip in lb.additional_vips)
    if fip := topo.fips.get(lb.vip.port_id or ""):
        yield VIP_FIP, fip
    fips = [topo.fips.get(vip.port_id or "") for vip in lb.additional_vips]
    if any(fips):
        yield ADDITIONAL_VIP_FIPS, ",".join(fip for fip in fips if fip)


def _text(vip: Vip) -> str:
    return (canonical(vip.address) or vip.address) if vip.address else ""


def _child_ids(intent: RowIntent) -> Iterator[tuple[str, str]]:
    for listener in intent.listeners:
        key = extids.listener_key(listener.id, listener.enabled)
        yield key, extids.listener_value(listener.port, listener.default_pool_id)
    for served in intent.pools:
        yield (
            extids.pool_key(served.pool.id, served.pool.enabled),
            ",".join(
                extids.member_entry(
                    backend.member.id, backend.address, backend.member.port, backend.subnet_id
                )
                for backend in served.backends
            ),
        )


def _attachment_ids(attached: Attachment) -> Iterator[tuple[str, str]]:
    if attached.routers:
        yield LR_REF, ",".join(sorted(attached.routers))
    if attached.counts:
        yield LS_REFS, extids.dump_counts(attached.counts)


def _excluded(intent: RowIntent, drain: bool) -> set[str]:
    return {
        backend.member.id
        for backend in intent.backends()
        if not backend.member.enabled or (drain and backend.member.weight == 0)
    }


def _row_statuses(intent: RowIntent, members: Mapping[str, str]) -> dict[str, str]:
    # A drained member is OFFLINE in the row: the original then keeps it out after a roll-back.
    return {
        backend.member.id: Operating.OFFLINE
        if members[backend.member.id] == Operating.DRAINING
        else members[backend.member.id]
        for backend in intent.backends()
    }


def _addresses(external_ids: Mapping[str, str]) -> tuple[str, ...]:
    vips = [external_ids[VIP], *extids.split_list(external_ids.get(ADDITIONAL_VIPS))]
    fips = [external_ids.get(VIP_FIP, ""), *extids.split_list(external_ids.get(ADDITIONAL_VIP_FIPS))]
    return tuple(address for address in (*vips, *(fip for fip in fips if not is_v6(fip))) if address)


def _has_v6(lb: LoadBalancer) -> bool:
    return any(vip.address and is_v6(vip.address) for vip in lb.vips)


def _warnings(
    lb: LoadBalancer, intents: tuple[RowIntent, ...], rows: list[_Row], topo: Topology
) -> Iterator[PlanWarning]:
    for intent, row in zip(intents, rows, strict=True):
        yield from affinity_warnings(intent.pools)
        yield from row.health.warnings
        yield from row.attached.warnings
        yield from _member_warnings(lb, intent)
    if _has_v6(lb) and not topo.ipv6_hash and any(intent.pools for intent in intents):
        yield PlanWarning(
            "ipv6_not_hashed", "this OVN cannot hash IPv6 addresses (selection_fields has no ipv6_src)"
        )


def _member_warnings(lb: LoadBalancer, intent: RowIntent) -> Iterator[PlanWarning]:
    families = {is_v6(vip.address) for vip in lb.vips if vip.address}
    for served in intent.pools:
        for member in served.unplaced:
            yield PlanWarning(
                "member_unplaced",
                f"member {member.id} ({member.address}) has no subnet and is in no VIP subnet: left out",
            )
        for backend in served.backends:
            if backend.member.backup:
                yield PlanWarning("backup_ignored", f"member {backend.member.id} is a backup: OVN has none")
            if is_v6(backend.address) not in families:
                yield PlanWarning(
                    "family_unserved", f"member {backend.member.id} ({backend.address}): no VIP of its family"
                )
