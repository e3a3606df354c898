"""Health checks of a row: `health_check`, `ip_port_mappings`, and the monitors OVN makes of them.

OVN monitors a vips key only when a check has exactly that `vip`, and sends nothing to a member of a
checked key that has no mapping (ovn-facts.md). Source: architecture.md section 3; ovn-nb(5)
Load_Balancer_Health_Check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ovnlb.desired.addresses import bracketed, join_host_port
from ovnlb.desired.facts import MonitorKey, Topology
from ovnlb.desired.intent import Backend, RowIntent, ServedPool
from ovnlb.desired.notes import PlanWarning
from ovnlb.desired.rows import CHECK_MONITOR, CHECK_POOL, CHECK_VIP, HealthCheckRow

MONITORED_PROTOCOLS = frozenset({"tcp", "udp"})


@dataclass(frozen=True, slots=True)
class Mapped:
    """A member that a mapping of the row serves: its LSP, and the monitor's key."""

    backend: Backend
    port: str


@dataclass(frozen=True, slots=True)
class HealthRows:
    """What a row needs for its checks.

    mapped: by member id, those whose LSP is known, with the LSP that their address is mapped to.
    portless: ids of the checked members without one. hm_subnets: the subnets whose health-monitor port
    the mappings use.
    """

    checks: tuple[HealthCheckRow, ...] = ()
    mappings: Mapping[str, str] | None = None
    mapped: Mapping[str, Mapped] | None = None
    portless: frozenset[str] = frozenset()
    hm_subnets: tuple[str, ...] = ()
    monitors: tuple[str, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()


PLACEHOLDER = "(address of the new HM port on "


def placeholder(subnet_id: str) -> str:
    """Stands in a plan for the address of a health-monitor port that does not exist yet."""
    return f"{PLACEHOLDER}{subnet_id})"


def health_rows(row: RowIntent, enabled: bool, addresses: Sequence[str], topo: Topology) -> HealthRows:
    """The checks and mappings of a row. `addresses`: VIPs, then IPv4 floating IPs, canonical."""
    monitored = [pool for pool in row.pools if pool.monitor is not None]
    if not monitored:
        return HealthRows()
    monitors = tuple(sorted(pool.monitor.id for pool in monitored if pool.monitor))
    active = [pool for pool in monitored if enabled and _checks(pool)]
    listened = [pool for pool in active if _listeners(row, pool, False)]
    mapped, warnings = _mapped(listened, topo)
    mappings, subnets, clashes = _mappings(mapped, topo)
    mapped = {member_id: _as_mapped(entry, mappings) for member_id, entry in mapped.items()}
    portless = frozenset(
        backend.member.id
        for pool in listened
        for backend in _enabled(pool)
        if backend.member.id not in mapped
    )
    return HealthRows(
        checks=tuple(_check_rows(row, active, addresses)),
        mappings=mappings,
        mapped=mapped,
        portless=portless,
        hm_subnets=subnets,
        monitors=monitors,
        warnings=(*warnings, *clashes, *_protocol_warnings(row, active)),
    )


def _checks(served: ServedPool) -> bool:
    return served.pool.enabled and served.monitor is not None and served.monitor.enabled


def _listeners(row: RowIntent, served: ServedPool, only_enabled: bool) -> list[int]:
    return [
        listener.port
        for listener in row.listeners
        if listener.default_pool_id == served.pool.id and (listener.enabled or not only_enabled)
    ]


def _enabled(served: ServedPool) -> Iterator[Backend]:
    return (backend for backend in served.backends if backend.member.enabled)


def _check_rows(
    row: RowIntent, pools: Iterable[ServedPool], addresses: Sequence[str]
) -> Iterator[HealthCheckRow]:
    for served in pools:
        monitor = served.monitor
        if monitor is None:
            continue
        options = {
            "interval": str(monitor.delay),
            "timeout": str(monitor.timeout),
            "success_count": str(monitor.rise),
            "failure_count": str(monitor.fall),
        }
        for port in _listeners(row, served, True):
            for address in addresses:
                yield HealthCheckRow(
                    vip=join_host_port(address, port),
                    options=options,
                    external_ids={
                        CHECK_MONITOR: monitor.id,
                        CHECK_POOL: served.pool.id,
                        CHECK_VIP: address,
                    },
                )


def _mapped(pools: Iterable[ServedPool], topo: Topology) -> tuple[dict[str, Mapped], list[PlanWarning]]:
    mapped: dict[str, Mapped] = {}
    warnings = []
    for served in pools:
        for backend in _enabled(served):
            names = topo.member_ports.get((backend.subnet_id, backend.address), ())
            if not names:
                continue
            mapped[backend.member.id] = Mapped(backend, names[0])
            if len(names) > 1:
                warnings.append(
                    PlanWarning(
                        "member_ports_ambiguous",
                        f"ports {', '.join(names)} all hold {backend.address} of member "
                        f"{backend.member.id}; {names[0]} is monitored",
                    )
                )
    return mapped, warnings


def _mappings(
    mapped: Mapping[str, Mapped], topo: Topology
) -> tuple[dict[str, str], tuple[str, ...], list[PlanWarning]]:
    mappings: dict[str, str] = {}
    owner: dict[str, str] = {}
    subnets: dict[str, None] = {}
    warnings = []
    for member_id in sorted(mapped):
        entry = mapped[member_id]
        key = bracketed(entry.backend.address)
        subnet_id = entry.backend.subnet_id
        source = topo.hm_ports.get(subnet_id)
        value = f"{entry.port}:{bracketed(source) if source else placeholder(subnet_id)}"
        if mappings.setdefault(key, value) != value:
            warnings.append(
                PlanWarning(
                    "mapping_ambiguous",
                    f"members {owner[key]} and {member_id} have {entry.backend.address} on different ports; "
                    f"that of {owner[key]} is monitored",
                )
            )
            continue
        owner.setdefault(key, member_id)
        subnets[subnet_id] = None
    return mappings, tuple(subnets), warnings


def _as_mapped(entry: Mapped, mappings: Mapping[str, str]) -> Mapped:
    """The member with the LSP that OVN monitors for its address, which may be that of another member."""
    return replace(entry, port=mappings[bracketed(entry.backend.address)].partition(":")[0])


def _protocol_warnings(row: RowIntent, pools: Sequence[ServedPool]) -> Iterator[PlanWarning]:
    if pools and row.protocol not in MONITORED_PROTOCOLS:
        yield PlanWarning("monitor_unsupported", f"OVN runs no health checks on {row.protocol}")


def monitor_key(entry: Mapped, protocol: str) -> MonitorKey:
    """The Service_Monitor that OVN makes for a mapped member of a row."""
    return MonitorKey(entry.port, entry.backend.address, entry.backend.member.port, protocol)


def expected_monitors(
    row: RowIntent, health: HealthRows, vips: Mapping[str, str]
) -> Mapping[str, tuple[MonitorKey | None, int]]:
    """By member id: the monitor OVN must have and its interval in seconds.

    A member counts when `vips` has it under a key with a check, on a tcp or udp row. The key is None
    when its port is not known: such a member gets no traffic.
    """
    if row.protocol not in MONITORED_PROTOCOLS or not health.checks or health.mapped is None:
        return {}
    checked = {check.vip for check in health.checks}
    served = {backend for key, value in vips.items() if key in checked for backend in value.split(",")}
    expected: dict[str, tuple[MonitorKey | None, int]] = {}
    for pool in row.pools:
        if pool.monitor is None or not _checks(pool):
            continue
        for backend in pool.backends:
            if join_host_port(backend.address, backend.member.port) not in served:
                continue
            entry = health.mapped.get(backend.member.id)
            key = monitor_key(entry, row.protocol) if entry else None
            expected[backend.member.id] = (key, pool.monitor.delay)
    return expected
