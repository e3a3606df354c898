"""A load balancer with something of everything that a report explains, in a world of its own.

Two networks behind router r1, whose gateway leads outside, and a third one without a router. The names
are what a hostile user would choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphs import LB, NETWORK, SUBNET, VIP_PORT, balancer, listener, member, monitor, pool
from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.desired.model import LoadBalancer, SessionPersistence
from ovnlb.desired.rows import NbState
from ovnlb.observed.bundle import BundleNeutron, BundleNorthbound
from ovnlb.reconciler.walk import Pass, Walked, World, walk
from port_world import lsp, rows_of
from small_cloud import hm_port, nat, port, vip_port

FIP = "203.0.113.10"
HOSTILE = "<script>alert(1)</script>\"'&\x00\x1b[31m\u202e]]>--><img src=http://evil.example/x>"
ROUTED, APART = "sub-2", "sub-3"
ONLINE = MonitorKey("port-1", "10.0.0.21", 80, "tcp")
OFFLINE = MonitorKey("port-2", "10.0.0.22", 80, "tcp")
SWITCHED_OFF = MonitorKey("port-4", "10.0.0.24", 80, "tcp")
HEALTH = Health({ONLINE: "online", OFFLINE: "offline", SWITCHED_OFF: "offline"}, complete=True)


def everything(**more: Any) -> LoadBalancer:
    """Members of every kind in one pool, another pool that no listener uses."""
    members = [
        member(1, name=HOSTILE),
        member(2, name="web-2"),
        member(3),
        member(4),
        member(5, "10.3.0.25", subnet_id=APART),
        member(6, "192.0.2.9", subnet_id=None),
        member(7, "10.2.0.27", subnet_id=ROUTED, weight=0),
        member(8, "10.0.0.28", enabled=False),
    ]
    idle = pool((), id="pool-2", name="nobody's", protocol="TCP")
    first = pool(members, monitor(), name=HOSTILE, persistence=SessionPersistence("SOURCE_IP", 360))
    listeners = [listener(name=HOSTILE), listener(id="listener-2", port=443, name="shared")]
    return balancer(listeners, [first, idle], name=HOSTILE, **more)


def neutron_rows() -> dict[str, Any]:
    """Neutron's part of the world."""
    networks = {SUBNET: NETWORK, ROUTED: "net-2", APART: "net-3"}
    cidrs = {SUBNET: "10.0.0.0/24", ROUTED: "10.2.0.0/24", APART: "10.3.0.0/24"}
    return {
        "networks": [{"id": network} for network in networks.values()],
        "subnets": [
            {"id": subnet, "network_id": network, "cidr": cidrs[subnet], "gateway_ip": _gateway(subnet)}
            for subnet, network in networks.items()
        ],
        "ports": [
            vip_port(),
            hm_port(),
            port("port-1", "10.0.0.21", status="ACTIVE"),
            port("port-2", "10.0.0.22", status="ACTIVE"),
            port("port-4", "10.0.0.24", status="DOWN"),
            _elsewhere("port-5", "net-3", APART, "10.3.0.25"),
            _elsewhere("port-7", "net-2", ROUTED, "10.2.0.27"),
        ],
        "floatingips": [{"id": "fip", "floating_ip_address": FIP, "port_id": VIP_PORT}],
    }


def _gateway(subnet: str) -> str | None:
    return "10.0.0.1" if subnet == SUBNET else None


def _elsewhere(port_id: str, network: str, subnet: str, address: str) -> dict[str, Any]:
    fixed = [{"subnet_id": subnet, "ip_address": address}]
    return port(port_id, address, network_id=network, fixed_ips=fixed)


def northbound(state: NbState | None = None, version: str = "23.03.1-20.27.0-70.6") -> BundleNorthbound:
    """The Northbound tables with these Load_Balancer rows."""
    ports = [lsp(one) for one in neutron_rows()["ports"]]
    for row in ports:
        row["enabled"] = row["name"] != "port-4"
    tables = {
        "Logical_Switch": [_switch(network, ports) for network in (NETWORK, "net-2", "net-3")],
        "Logical_Switch_Port": ports,
        "Logical_Router": [{"_uuid": "lr", "name": "neutron-r1", "ports": ["lrp-1", "lrp-2", "lrp-g"]}],
        "Logical_Router_Port": [
            _interface("lrp-1", NETWORK, SUBNET, "10.0.0.1/24"),
            _interface("lrp-2", "net-2", ROUTED, "10.2.0.1/24"),
            {**_interface("lrp-g", "net-ext", "sub-ext", "203.0.113.2/24"), "gateway_chassis": ["c1"]},
        ],
        "NAT": [nat(FIP, VIP_PORT, "10.0.0.10")],
        "NB_Global": [{"_uuid": "global", "options": {"northd_internal_version": version}}],
    }
    return BundleNorthbound({**tables, **(rows_of({LB: state}) if state is not None else {})})


def _switch(network: str, ports: list[dict[str, Any]]) -> dict[str, Any]:
    name = f"neutron-{network}"
    mine = [row["_uuid"] for row in ports if row["external_ids"]["neutron:network_name"] == name]
    return {"_uuid": f"ls-{network}", "name": name, "ports": mine}


def _interface(name: str, network: str, subnet: str, address: str) -> dict[str, Any]:
    ids = {"neutron:network_name": f"neutron-{network}", "neutron:subnet_ids": subnet}
    return {"_uuid": name, "name": name, "networks": [address], "external_ids": ids}


def world(state: NbState | None = None, health: Health = HEALTH, version: str = "23.03.1-1") -> World:
    """The world with these rows."""
    return World(northbound(state, version), BundleNeutron(neutron_rows()), lambda: health)


def walked(lb: LoadBalancer | None = None, around: World | None = None) -> Walked:
    """The load balancer, walked in a world where it has no rows yet, or in `around`."""
    return walk(lb or everything(), around or world(), {VIP_PORT: FIP})


def settled(lb: LoadBalancer | None = None) -> NbState:
    """The rows that this load balancer must have, as the database would hold them."""
    want = walked(lb).desired.state
    rows = tuple(
        replace(
            row,
            uuid=f"aaaaaaaa-0000-4000-8000-00000000000{number}",
            health_checks=tuple(
                replace(one, uuid=f"cccccccc-0000-4000-8000-{number:06}{count:06}")
                for count, one in enumerate(row.health_checks)
            ),
        )
        for number, row in enumerate(want.rows)
    )
    return NbState(rows)


def drifted(lb: LoadBalancer | None = None, **external_ids: str) -> NbState:
    """Its rows after somebody wrote into them."""
    (row,) = settled(lb).rows
    vips = {key: value for key, value in row.vips.items() if not key.startswith(FIP)}
    ids: Mapping[str, str] = {**row.external_ids, "enabled": HOSTILE, **external_ids}
    return NbState((replace(row, vips=vips, external_ids=ids, switches=frozenset({"neutron-net-3"})),))


def one_pass(*walks: Walked) -> Pass:
    """A pass of these."""
    return Pass(walks)
