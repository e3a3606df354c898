"""Row events as names of what moved: which load balancers that means is looked up elsewhere.

No decision is made here, and no event says what to do: `Touched` only names switches, routers, ports,
addresses, rows and monitors that are not as they were. Source: architecture.md section 2, ovn-nb(5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ovnlb.desired.facts import MonitorKey
from ovnlb.desired.port_facts import HM_PORT_PREFIX
from ovnlb.desired.rows import CHECK_POOL
from ovnlb.observed import neutron_rows
from ovnlb.observed.connection import RELOADED, RowEvent
from ovnlb.observed.sb import monitor_key

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Touched:
    """What one event names.

    balancers: names of Load_Balancer rows. rows: UUIDs of Load_Balancer rows that were attached or
    detached. subnets: those whose health-monitor port moved. interface_ports: names of router ports.
    everything: the replica was received anew.
    """

    balancers: frozenset[str] = NONE
    rows: frozenset[str] = NONE
    pools: frozenset[str] = NONE
    switches: frozenset[str] = NONE
    routers: frozenset[str] = NONE
    ports: frozenset[str] = NONE
    addresses: frozenset[str] = NONE
    subnets: frozenset[str] = NONE
    interface_ports: frozenset[str] = NONE
    monitors: frozenset[MonitorKey] = frozenset()
    everything: bool = False


NOTHING = Touched()


def touched(event: RowEvent) -> Touched:
    """What the event names; NOTHING for what no load balancer depends on."""
    if event.event == RELOADED:
        return Touched(everything=True)
    of_table = _TABLES.get(event.table)
    return NOTHING if of_table is None else of_table(event)


def _balancer(event: RowEvent) -> Touched:
    return Touched(balancers=_both(event, "name"))


def _check(event: RowEvent) -> Touched:
    pools = (side.get("external_ids", {}).get(CHECK_POOL, "") for side in (event.new, event.old))
    return Touched(pools=frozenset(pools) - {""})


def _switch(event: RowEvent) -> Touched:
    if event.event != "update":
        return Touched(switches=_both(event, "name"))
    moved = frozenset(event.old) & {"name", "external_ids"}
    return Touched(switches=_both(event, "name") if moved else NONE, rows=_attached(event))


def _router(event: RowEvent) -> Touched:
    if event.event != "update":
        return Touched(routers=_both(event, "name"))
    moved = frozenset(event.old) & {"name", "external_ids", "ports"}
    return Touched(routers=_both(event, "name") if moved else NONE, rows=_attached(event))


def _interface(event: RowEvent) -> Touched:
    networks = (
        side.get("external_ids", {}).get(neutron_rows.NETWORK_NAME, "") for side in (event.new, event.old)
    )
    return Touched(switches=frozenset(networks) - {""}, interface_ports=_both(event, "name"))


def _port(event: RowEvent) -> Touched:
    addresses: set[str] = set()
    subnets: set[str] = set()
    interfaces: set[str] = set()
    for side in (event.new, {**event.new, **event.old}):
        external_ids = side.get("external_ids", {})
        addresses.update(neutron_rows.port_addresses(_several(side.get("addresses")), external_ids)[1])
        name = external_ids.get(neutron_rows.PORT_NAME, "")
        if name.startswith(HM_PORT_PREFIX):
            subnets.add(name.removeprefix(HM_PORT_PREFIX))
        if peer := side.get("options", {}).get(neutron_rows.ROUTER_PORT):
            interfaces.add(peer)
    return Touched(
        ports=_both(event, "name"),
        addresses=frozenset(addresses),
        subnets=frozenset(subnets),
        interface_ports=frozenset(interfaces),
    )


def _nat(event: RowEvent) -> Touched:
    return Touched(addresses=_both(event, "logical_ip") | _both(event, "external_ip"))


def _monitor(event: RowEvent) -> Touched:
    keys = (monitor_key(side) for side in (event.new, {**event.new, **event.old}))
    return Touched(monitors=frozenset(key for key in keys if key is not None))


_TABLES: Mapping[str, Callable[[RowEvent], Touched]] = {
    "Load_Balancer": _balancer,
    "Load_Balancer_Health_Check": _check,
    "Logical_Switch": _switch,
    "Logical_Router": _router,
    "Logical_Router_Port": _interface,
    "Logical_Switch_Port": _port,
    "NAT": _nat,
    "Service_Monitor": _monitor,
}


def _both(event: RowEvent, column: str) -> frozenset[str]:
    """The column's values before and after."""
    values = (*_several(event.new.get(column)), *_several(event.old.get(column)))
    return frozenset(str(value) for value in values if value)


def _attached(event: RowEvent) -> frozenset[str]:
    """The Load_Balancer rows that a switch or router gained or lost."""
    if "load_balancer" not in event.old:
        return NONE
    before, after = (_several(side.get("load_balancer")) for side in (event.old, event.new))
    return frozenset(map(str, before)) ^ frozenset(map(str, after))


def _several(value: Any) -> Iterable[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)
