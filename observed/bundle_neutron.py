"""Neutron out of a bundle: `networks`, `subnets`, `ports`, `floatingips` as the API gives them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import Subnet
from ovnlb.observed.bundle_form import Row, tables
from ovnlb.observed.neutron_rows import lowest_ipv4
from ovnlb.observed.source import NeutronPort


class BundleNeutron:
    """`NeutronSource` over the `neutron` part of a bundle. Raises BundleError on a malformed part."""

    def __init__(self, neutron: Mapping[str, Any] | None) -> None:
        self._tables = tables("neutron", neutron, "id")

    @cached_property
    def _subnets(self) -> Mapping[str, Subnet]:
        return {row["id"]: subnet_value(row) for row in self._tables.get("subnets", [])}

    @cached_property
    def _ports(self) -> Mapping[str, NeutronPort]:
        return {row["id"]: port_value(row) for row in self._tables.get("ports", [])}

    @cached_property
    def _floating_ips(self) -> Mapping[str, str]:
        return fips_by_port(
            (str(row.get("port_id") or ""), str(row.get("floating_ip_address") or ""))
            for row in self._tables.get("floatingips", [])
        )

    def subnets(self, ids: Collection[str]) -> Mapping[str, Subnet]:
        """The subnets among these ids that exist."""
        return {one: self._subnets[one] for one in ids if one in self._subnets}

    def floating_ips(self, port_ids: Collection[str]) -> Mapping[str, str]:
        """Port id -> floating IP address, for those of these ports that have one."""
        return {one: self._floating_ips[one] for one in port_ids if one in self._floating_ips}

    def port(self, port_id: str) -> NeutronPort | None:
        """The port of that id."""
        return self._ports.get(port_id)

    def ports(
        self,
        network_id: str | None = None,
        name: str | None = None,
        device_owner: str | None = None,
    ) -> tuple[NeutronPort, ...]:
        """The ports with all of the given properties, by id."""
        wanted = {"network_id": network_id, "name": name, "device_owner": device_owner}
        asked = {key: value for key, value in wanted.items() if value is not None}
        return tuple(
            port
            for _, port in sorted(self._ports.items())
            if all(getattr(port, key) == value for key, value in asked.items())
        )


def subnet_value(row: Row) -> Subnet:
    """A subnet of the API as a value."""
    return Subnet(str(row["id"]), str(row.get("network_id") or ""), str(row.get("cidr") or ""))


def port_value(row: Row) -> NeutronPort:
    """A port of the API as a value; unreadable fixed addresses are left out."""
    fixed = row.get("fixed_ips") or ()
    return NeutronPort(
        id=str(row["id"]),
        name=str(row.get("name") or ""),
        network_id=str(row.get("network_id") or ""),
        device_owner=str(row.get("device_owner") or ""),
        device_id=str(row.get("device_id") or ""),
        mac_address=str(row.get("mac_address") or ""),
        addresses=tuple(
            (str(one.get("subnet_id") or ""), address)
            for one in fixed
            if isinstance(one, Mapping) and (address := canonical(str(one.get("ip_address") or "")))
        ),
        project_id=row.get("project_id") or row.get("tenant_id"),
        created_at=row.get("created_at"),
        host_bound=bool(row.get("binding:host_id") or row.get("binding_host_id")),
    )


def fips_by_port(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Port id -> its floating IP, of several the numerically lowest (see `lowest_ipv4`)."""
    found: dict[str, list[str]] = defaultdict(list)
    for port_id, address in pairs:
        if port_id:
            found[port_id].append(address)
    return {port: fip for port, addresses in found.items() if (fip := lowest_ipv4(addresses))}
