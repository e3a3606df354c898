"""What is asked of Neutron to explain one load balancer: ports, security group rules, room in subnets.

Read on demand and never kept. Needs an openstacksdk connection (`SdkNeutron`): a bundle has none of it.
Source: Neutron API v2.0, security-group-rules, address-groups, network-ip-availabilities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ovnlb.desired.findings import PortSecurity, SecurityRule, SubnetSpace
from ovnlb.desired.security import rule_protocol
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.neutron_errors import NeutronRefused

# Ids in one query, as in `ovnlb.observed.neutron`.
_CHUNK = 50
_PORT_FIELDS = ["id", "status", "admin_state_up", "port_security_enabled", "security_groups"]


def port_security(neutron: SdkNeutron, port_ids: Collection[str]) -> dict[str, PortSecurity]:
    """The ports among these that exist, with the ingress rules of their groups.

    Raises NeutronUnavailable and NeutronRefused.
    """
    ports = list(_by_id(neutron, "ports", "id", port_ids, fields=_PORT_FIELDS))
    groups = {group for port in ports for group in port.get("security_groups") or ()}
    rows = [
        row
        for row in _by_id(neutron, "security_group_rules", "security_group_id", groups)
        if row.get("direction") == "ingress"
    ]
    addresses = _address_groups(neutron, rows)
    rules = [_rule(row, addresses) for row in rows]
    return {str(port["id"]): _port(port, rules) for port in ports}


def _by_id(
    neutron: SdkNeutron, kind: str, key: str, ids: Collection[str], **query: list[str]
) -> Iterator[Mapping[str, Any]]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), _CHUNK):
        yield from neutron.rows(kind, **{key: ordered[start : start + _CHUNK]}, **query)


def _address_groups(neutron: SdkNeutron, rows: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[str, ...]]:
    ids = {str(row["remote_address_group_id"]) for row in rows if row.get("remote_address_group_id")}
    found = _by_id(neutron, "address_groups", "id", ids)
    return {str(one["id"]): tuple(map(str, one.get("addresses") or ())) for one in found}


def _rule(row: Mapping[str, Any], addresses: Mapping[str, tuple[str, ...]]) -> SecurityRule:
    low, high = row.get("port_range_min"), row.get("port_range_max")
    group = row.get("remote_address_group_id")
    return SecurityRule(
        group_id=str(row.get("security_group_id") or ""),
        ethertype=str(row.get("ethertype") or "IPv4"),
        protocol=rule_protocol(None if row.get("protocol") is None else str(row["protocol"])),
        ports=(int(low), int(high)) if low is not None and high is not None else None,
        prefix=row.get("remote_ip_prefix") or None,
        remote_group=row.get("remote_group_id") or None,
        remote_addresses=addresses.get(str(group), ()) if group else None,
    )


def _port(port: Mapping[str, Any], rules: Sequence[SecurityRule]) -> PortSecurity:
    groups = tuple(sorted(map(str, port.get("security_groups") or ())))
    return PortSecurity(
        port_id=str(port["id"]),
        active=port.get("status") in ("ACTIVE", None),
        enabled=port.get("admin_state_up") is not False,
        enforced=port.get("port_security_enabled") is not False,
        groups=groups,
        rules=tuple(rule for rule in rules if rule.group_id in groups),
    )


def subnet_spaces(
    neutron: SdkNeutron, subnet_ids: Collection[str], network_ids: Collection[str]
) -> dict[str, SubnetSpace]:
    """The gateway and the free addresses of these subnets. Raises NeutronUnavailable."""
    free = _free(neutron, network_ids)
    rows = _by_id(neutron, "subnets", "id", subnet_ids, fields=["id", "gateway_ip"])
    return {
        str(row["id"]): SubnetSpace(row.get("gateway_ip") or None, free.get(str(row["id"]))) for row in rows
    }


def _free(neutron: SdkNeutron, network_ids: Collection[str]) -> dict[str, int]:
    """By subnet; none where the extension or the right to ask (admin by default) is missing."""
    try:
        found = list(_by_id(neutron, "network_ip_availabilities", "network_id", network_ids))
    except NeutronRefused:
        return {}
    return {
        str(one["subnet_id"]): max(0, int(one["total_ips"]) - int(one["used_ips"]))
        for row in found
        for one in row.get("subnet_ip_availability") or ()
    }
