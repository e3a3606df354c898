"""What NB must say for a load balancer, computed from the public API alone: an oracle independent of any
provider's code.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from stack.cloud import Cloud

Vips = dict[str, dict[str, frozenset[str]]]


def endpoint(address: str, port: int) -> str:
    """``address:port`` in OVN's form."""
    ip = ipaddress.ip_address(address)
    return f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"


def _addresses(cloud: Cloud, lb: Any) -> list[str]:
    """VIP, additional VIPs and the floating IPs on their ports."""
    extra = lb.additional_vips or []
    ports = [lb.vip_port_id, *(each["port_id"] for each in extra)]
    fips = [
        fip.floating_ip_address
        for port in dict.fromkeys(ports)
        for fip in cloud.network.ips(port_id=port)
    ]
    return [lb.vip_address, *(each["ip_address"] for each in extra), *fips]


def _backends(cloud: Cloud, pool_id: str | None, drain: bool) -> list[str]:
    if pool_id is None:
        return []
    if not cloud.octavia.get_pool(pool_id).is_admin_state_up:
        return []
    return [
        endpoint(member.address, member.protocol_port)
        for member in cloud.octavia.members(pool_id)
        if member.is_admin_state_up and not (drain and member.weight == 0)
    ]


def expected_vips(cloud: Cloud, lb_id: str, drain: bool = True) -> Vips:
    """protocol -> ``address:port`` -> backends, without entries that have no backend."""
    lb = cloud.octavia.get_load_balancer(lb_id)
    vips: Vips = defaultdict(dict)
    if not lb.is_admin_state_up:
        return {}
    for listener in cloud.octavia.listeners(load_balancer_id=lb_id):
        backends = _backends(cloud, listener.default_pool_id, drain) if listener.is_admin_state_up else []
        for address in _addresses(cloud, lb):
            family = ipaddress.ip_address(address).version
            same = frozenset(b for b in backends if (family == 6) == b.startswith("["))
            if same:
                vips[listener.protocol.lower()][endpoint(address, listener.protocol_port)] = same
    return dict(vips)


def rows_of(cloud: Cloud, lb_id: str) -> list[Mapping[str, Any]]:
    """NB Load_Balancer rows of a load balancer."""
    return list(cloud.stack.ovn.rows("nb", "Load_Balancer", name=lb_id))


def found_vips(cloud: Cloud, lb_id: str) -> Vips:
    """What NB says, in the form of :func:`expected_vips`."""
    vips: Vips = defaultdict(dict)
    for row in rows_of(cloud, lb_id):
        for vip, backends in row["vips"].items():
            listed = frozenset(filter(None, backends.split(",")))
            if listed:
                vips[row["protocol"] or "tcp"][vip] = listed
    return dict(vips)


def attached(cloud: Cloud, lb_id: str, table: str) -> set[str]:
    """Names of the switches or routers (``Logical_Switch`` or ``Logical_Router``) that all rows of it are
    attached to.
    """
    rows = {row["_uuid"] for row in rows_of(cloud, lb_id)}
    return {
        each["name"]
        for each in cloud.stack.ovn.rows("nb", table)
        if rows
        & set(
            each["load_balancer"] if isinstance(each["load_balancer"], list) else [each["load_balancer"]]
        )
    }
