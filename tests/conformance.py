"""Recorded states of the original held against ours: what differs, as flat (row, column, key) items.

Used by the conformance tests. A recorded row and a desired row are both flattened to canonical
values, so that only real differences remain.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ovnlb.desired import extids
from ovnlb.desired.compute import Desired, desired_state
from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.graph import from_dicts
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.rows import LoadBalancerRow, is_managed_key
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.observed.topology import topology
from scenario_files import Step, load_scenario

Item = tuple[str, str, str]  # protocol, column, key


# Steps whose recorded outcome proves nothing: a repair that breaks, and a hand-made damage.
NOT_COMPARED = ("driver.do_sync", "nb.tamper")


@dataclass(frozen=True)
class State:
    """One load balancer at one step, with what ovnlb wants there."""

    step: Step
    lb: LoadBalancer
    desired: Desired


def states(scenario: str) -> Iterator[State]:
    """Every living or dying load balancer at every step that has Octavia rows.

    The recordings were made without northd: their backends are taken as alive until a recorded
    Service_Monitor event says otherwise.
    """
    monitors: dict[MonitorKey, str] = {}
    for step in load_scenario(scenario).steps:
        monitors.update(_monitor_event(step))
        if step.octavia is None:
            continue
        for lb in from_dicts(step.octavia).load_balancers:
            if lb.provisioning_status != "DELETED":
                yield State(step, lb, _desired(step, lb, monitors))


def _desired(step: Step, lb: LoadBalancer, monitors: Mapping[MonitorKey, str]) -> Desired:
    topo = topology(BundleNorthbound(step.nb()), BundleNeutron(step.neutron), lb)
    expected = desired_state(lb, topo, Health()).monitors
    health = Health({key: monitors.get(key, "online") for key in expected}, complete=True)
    return desired_state(lb, topo, health)


def _monitor_event(step: Step) -> dict[MonitorKey, str]:
    if not step.call.startswith("event.ServiceMonitor"):
        return {}
    row = step.args
    key = MonitorKey(row["logical_port"], row["ip"], int(row["port"]), row["protocol"][0])
    return {key: "" if step.call.endswith("(delete)") else row["status"][0]}


def recorded_items(step: Step, lb_id: str) -> dict[Item, Any]:
    """The recorded rows of a load balancer, flat."""
    rows = BundleNorthbound(step.nb()).load_balancers(lb_id)
    return {item: value for row in rows for item, value in flat(row)}


def desired_items(desired: Desired) -> dict[Item, Any]:
    """The desired rows, flat."""
    return {item: value for row in desired.state.rows for item, value in flat(row)}


def flat(row: LoadBalancerRow) -> Iterator[tuple[Item, Any]]:
    """A row as canonical (protocol, column, key) -> value items."""
    protocol = row.protocol or ""
    for key, value in row.external_ids.items():
        if is_managed_key(key):
            yield (protocol, "external_ids", key), _external_id(key, value)
    for key, value in row.vips.items():
        yield (protocol, "vips", key), sorted(value.split(","))
    for key, value in row.options.items():
        yield (protocol, "options", key), value
    for key, value in row.ip_port_mappings.items():
        yield (protocol, "ip_port_mappings", key), value
    yield (protocol, "selection_fields", ""), sorted(row.selection_fields)
    for check in row.health_checks:
        pool = check.external_ids.get("octavia:pool_id", "")
        key = f"{check.vip} {check.external_ids.get('octavia:healthmonitor')}"
        yield (protocol, "health_check", key), {"pool": pool, **check.options, **check.external_ids}
    yield (protocol, "switches", ""), sorted(row.switches)
    yield (protocol, "routers", ""), sorted(row.routers)


def _external_id(key: str, value: str) -> Any:
    if key in ("ls_refs", "neutron:member_status"):
        return json.loads(value)
    if key == "octavia:healthmonitors":
        return sorted(json.loads(value))
    if key.startswith("pool_") or key in ("lr_ref", "neutron:additional_vips"):
        return sorted(extids.split_list(value))
    return value


def differences(recorded: Mapping[Item, Any], ours: Mapping[Item, Any]) -> Iterator[tuple[Item, Any, Any]]:
    """(item, recorded value, our value) where they differ; None where absent."""
    for item in sorted(recorded.keys() | ours.keys()):
        if recorded.get(item) != ours.get(item):
            yield item, recorded.get(item), ours.get(item)
