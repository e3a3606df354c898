"""Catalogue faults of races, stale vips, legacy data and OVN releases that small values show."""

from __future__ import annotations

import gc
import inspect
import threading
from typing import Any

import pytest
from octavia_lib.api.drivers import provider_base

from graphs import NETWORK, POOL, SUBNET, balancer, listener, member, monitor, pool
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, Router, RouterInterface, Subnet, Switch, Topology
from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.reconciler.driver import OvnlbProviderDriver
from ovnlb.reconciler.driver_world import DriverWorld

TOPO = Topology(
    subnets={SUBNET: Subnet(SUBNET, NETWORK, "10.0.0.0/24")},
    switches={f"neutron-{NETWORK}": Switch(f"neutron-{NETWORK}", provider=False)},
    member_ports={(SUBNET, f"10.0.0.{20 + n}"): (f"port-{n}",) for n in range(1, 9)},
    hm_ports={SUBNET: "10.0.0.2"},
)


def row(lb: Any, topo: Topology = TOPO) -> LoadBalancerRow:
    """The one row of the load balancer."""
    (found,) = desired_state(lb, topo, Health()).state.rows
    return found


def test_disabled_listener_keeps_its_pool_L18() -> None:
    """The pool is in the disabled listener's value, so that enabling it brings the traffic back."""
    off, on = (row(balancer([listener(enabled=state)], [pool([member(1)])])) for state in (False, True))
    assert off.external_ids["listener_listener-1:D"] == f"80:pool_{POOL}"
    assert off.vips == {}
    assert on.external_ids["listener_listener-1"] == f"80:pool_{POOL}"
    assert on.vips == {"10.0.0.10:80": "10.0.0.21:80"}


@pytest.mark.parametrize(
    "members",
    [
        (),
        (member(1, enabled=False),),
        (member(1, weight=0),),
        (member(1, subnet_id=None, address="192.0.2.1"),),
    ],
    ids=["none", "disabled", "drained", "unreachable"],
)
def test_listener_without_usable_member_has_no_vips_key_B137(members: tuple[Any, ...]) -> None:
    """OVN loops or forwards what is sent to a load balancer with an empty or stale list."""
    assert row(balancer(pools=[pool(members)])).vips == {}


@pytest.mark.parametrize(
    ("algorithm", "fields"),
    [
        ("SOURCE_IP_PORT", {"ip_dst", "ip_src", "tp_dst", "tp_src"}),
        ("SOURCE_IP", {"ip_dst", "ip_src"}),
        (None, {"ip_dst", "ip_src", "tp_dst", "tp_src"}),
    ],
)
def test_hash_fields_are_always_written_B122(algorithm: str | None, fields: set[str]) -> None:
    """What OVN hashes without them differs between datapaths."""
    pools = [] if algorithm is None else [pool([member(1)], algorithm=algorithm)]
    listeners = [listener(default_pool_id=POOL if pools else None)]
    assert row(balancer(listeners, pools)).selection_fields == fields


@pytest.mark.parametrize("path", ["vip", "member", "router"])
def test_no_switch_with_a_localnet_port_whatever_the_release_B072(path: str) -> None:
    """No path leads to it; there is no rule by version, since fixes are backported."""
    public = {"public": Subnet("public", "public", "203.0.113.0/24")}
    switches = {**TOPO.switches, "neutron-public": Switch("neutron-public", provider=True)}
    interfaces = (
        RouterInterface("lrp-1", f"neutron-{NETWORK}", frozenset({SUBNET}), ("10.0.0.1/24",), False),
        RouterInterface("lrp-2", "neutron-public", frozenset({"public"}), ("203.0.113.1/24",), False),
    )
    topo = Topology(
        subnets={**TOPO.subnets, **public},
        switches=switches,
        routers=(Router("router", interfaces),),
        member_ports={("public", "203.0.113.9"): ("port-9",), **TOPO.member_ports},
    )
    lb = balancer(pools=[pool([member(1)])])
    if path == "vip":
        lb = balancer(
            pools=[pool([member(1)])], vip=type(lb.vip)("203.0.113.5", "vip-port", "public", "public")
        )
    if path == "member":
        lb = balancer(pools=[pool([member(1, "203.0.113.9", subnet_id="public")])])
    found = row(lb, topo)
    assert "neutron-public" not in found.switches
    assert "neutron-public" not in found.external_ids.get("ls_refs", "")
    assert found.routers == {"router"}


def test_probes_come_from_the_subnets_own_port_B129() -> None:
    """On every release: a router's address as the source was broken in some."""
    found = row(balancer(pools=[pool([member(1), member(2)], monitor())]))
    assert {value.partition(":")[2] for value in found.ip_port_mappings.values()} == {"10.0.0.2"}


def test_driver_takes_what_octavia_passes_B051_B052() -> None:
    """The methods that changed between releases, by the installed octavia-lib's own signatures."""
    for name in ("member_batch_update", "create_vip_port"):
        ours = inspect.signature(getattr(OvnlbProviderDriver, name))
        theirs = inspect.signature(getattr(provider_base.ProviderDriver, name))
        assert list(ours.parameters) == list(theirs.parameters)
    ours = inspect.signature(OvnlbProviderDriver.create_vip_port)
    assert ours.bind(None, "lb", "project", {}, [{}])


def test_driver_objects_hold_no_thread_and_no_destructor_B014() -> None:
    """octavia-api makes one a request: collecting them in a worker thread neither waits nor joins."""
    before = threading.active_count()
    made = [OvnlbProviderDriver(DriverWorld(None, None, lambda lb_id: None)) for _ in range(200)]  # type: ignore[arg-type]
    assert threading.active_count() == before
    assert not hasattr(OvnlbProviderDriver, "__del__")
    made.clear()
    worker = threading.Thread(target=gc.collect, daemon=True)
    worker.start()
    worker.join(10)
    assert not worker.is_alive()
