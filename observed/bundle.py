"""A Northbound database out of a bundle, indexed once (Neutron's part is `BundleNeutron`).

The form is that of `ovnlb snapshot` and of the scenario files: `{table: [rows with "_uuid"]}`, maps as
objects, sets as lists, an optional value as [], [x], x or null. References are "_uuid" strings.
Attachments are the `load_balancer` columns, or `attached_switches` and `attached_routers` (name ->
row uuids). `schema` may hold `selection_fields`, the members of that column's enum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import NatEntry, Router, RouterInterface, Switch
from ovnlb.desired.port_facts import hm_port_name
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.observed import neutron_rows
from ovnlb.observed.bundle_form import BundleError, Row, first, mapping, tables, text, values
from ovnlb.observed.bundle_neutron import BundleNeutron
from ovnlb.observed.source import MappingUse, MemberUse, SwitchPort

__all__ = ["BundleError", "BundleNeutron", "BundleNorthbound"]

_ATTACHED = {"Logical_Switch": "attached_switches", "Logical_Router": "attached_routers"}


class BundleNorthbound:
    """`NorthboundSource` over the `nb` part of a bundle. Raises BundleError on a malformed part."""

    def __init__(self, nb: Mapping[str, Any] | None) -> None:
        self._tables = tables("nb", nb, "_uuid")
        self._content: Mapping[str, Any] = nb or {}

    def _rows(self, table: str) -> list[Row]:
        return self._tables.get(table, [])

    def _by_uuid(self, table: str) -> dict[str, Row]:
        return {row["_uuid"]: row for row in self._rows(table)}

    # Load balancers

    @cached_property
    def _load_balancers(self) -> Mapping[str, tuple[LoadBalancerRow, ...]]:
        switches, routers = self._attached("Logical_Switch"), self._attached("Logical_Router")
        checks = self._by_uuid("Load_Balancer_Health_Check")
        found: dict[str, list[LoadBalancerRow]] = defaultdict(list)
        for row in self._rows("Load_Balancer"):
            uuid = row["_uuid"]
            found[text(row.get("name"))].append(
                LoadBalancerRow(
                    name=text(row.get("name")),
                    protocol=text(row.get("protocol")).lower() or None,
                    external_ids=mapping(row.get("external_ids")),
                    vips=mapping(row.get("vips")),
                    selection_fields=frozenset(map(str, values(row.get("selection_fields")))),
                    options=mapping(row.get("options")),
                    ip_port_mappings=mapping(row.get("ip_port_mappings")),
                    health_checks=_health_checks(checks, values(row.get("health_check"))),
                    switches=frozenset(switches.get(uuid, ())),
                    routers=frozenset(routers.get(uuid, ())),
                    uuid=uuid,
                )
            )
        return {name: tuple(sorted(rows, key=lambda row: row.uuid or "")) for name, rows in found.items()}

    def _attached(self, table: str) -> Mapping[str, set[str]]:
        """Load_Balancer uuid -> names of the rows of this table that refer to it."""
        found: dict[str, set[str]] = defaultdict(set)
        for row in self._rows(table):
            for uuid in values(row.get("load_balancer")):
                found[uuid].add(text(row.get("name")))
        named = self._content.get(_ATTACHED[table])
        for name, uuids in named.items() if isinstance(named, Mapping) else ():
            for uuid in values(uuids):
                found[uuid].add(name)
        return found

    def load_balancers(self, name: str) -> tuple[LoadBalancerRow, ...]:
        """All Load_Balancer rows of that name, by uuid."""
        return self._load_balancers.get(name, ())

    @cached_property
    def _uuids(self) -> frozenset[str]:
        tables = ("Load_Balancer", "Load_Balancer_Health_Check")
        return frozenset(row["_uuid"] for table in tables for row in self._rows(table))

    def uuid_in_use(self, uuid: str, lb_id: str) -> bool:
        """Whether a Load_Balancer or health check that is not this load balancer's has this UUID."""
        own = self.load_balancers(lb_id)
        mine = {row.uuid for row in own} | {check.uuid for row in own for check in row.health_checks}
        return uuid in self._uuids and uuid not in mine

    def load_balancer_names(self) -> Iterator[str]:
        """The names of all Load_Balancer rows, each once."""
        return iter(self._load_balancers)

    # Switches and their ports

    @cached_property
    def _port_switch(self) -> Mapping[str, str]:
        """Logical_Switch_Port uuid -> name of the switch that lists it."""
        return {
            uuid: text(row.get("name"))
            for row in self._rows("Logical_Switch")
            for uuid in values(row.get("ports"))
        }

    @cached_property
    def _ports(self) -> Mapping[str, SwitchPort]:
        return {port.name: port for port in map(self._port, self._rows("Logical_Switch_Port"))}

    def _port(self, row: Row) -> SwitchPort:
        external_ids = mapping(row.get("external_ids"))
        mac, addresses = neutron_rows.port_addresses(map(str, values(row.get("addresses"))), external_ids)
        return SwitchPort(
            name=text(row.get("name")),
            type=text(row.get("type")),
            switch=self._port_switch.get(row["_uuid"]) or external_ids.get(neutron_rows.NETWORK_NAME) or None,
            addresses=addresses,
            mac=mac,
            external_ids=neutron_rows.kept(external_ids, neutron_rows.PORT_KEYS),
            options=neutron_rows.kept(mapping(row.get("options")), neutron_rows.PORT_OPTIONS),
            enabled=first(row.get("enabled")) is not False,
        )

    @cached_property
    def _switches(self) -> Mapping[str, Switch]:
        localnet = {port.switch for port in self._ports.values() if port.type == neutron_rows.LOCALNET}
        return {
            (name := text(row.get("name"))): Switch(
                name, neutron_rows.provider_switch(mapping(row.get("external_ids")), name in localnet)
            )
            for row in self._rows("Logical_Switch")
        }

    @cached_property
    def _holders(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """(switch, canonical address) -> names of the ports that hold it."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for port in self._ports.values():
            for address in port.addresses if port.switch else ():
                found[port.switch or "", address].append(port.name)
        return {key: tuple(sorted(names)) for key, names in found.items()}

    @cached_property
    def _hm_ports(self) -> Mapping[str, SwitchPort]:
        """Neutron port name -> port; of several with one name the lowest LSP name."""
        return {
            port.external_ids[neutron_rows.PORT_NAME]: port
            for _, port in sorted(self._ports.items(), reverse=True)
            if neutron_rows.is_hm_port(port.external_ids)
        }

    def switch(self, name: str) -> Switch | None:
        """The Logical_Switch of that name."""
        return self._switches.get(name)

    def port(self, name: str) -> SwitchPort | None:
        """The Logical_Switch_Port of that name."""
        return self._ports.get(name)

    def ports_with_address(self, switch: str, address: str) -> tuple[str, ...]:
        """Names of the ports on that switch holding that canonical address, sorted."""
        return self._holders.get((switch, address), ())

    def hm_port(self, subnet_id: str) -> SwitchPort | None:
        """The health-monitor port of a subnet."""
        return self._hm_ports.get(hm_port_name(subnet_id))

    # Routers

    @cached_property
    def _routers(self) -> Mapping[str, Router]:
        interfaces = {row["_uuid"]: self._interface(row) for row in self._rows("Logical_Router_Port")}
        found: dict[str, Router] = {}
        for row in self._rows("Logical_Router"):
            mine = [interfaces[uuid] for uuid in values(row.get("ports")) if uuid in interfaces]
            name = text(row.get("name"))
            found[name] = Router(name, tuple(sorted(mine, key=lambda one: one.name)))
        return found

    @cached_property
    def _peers(self) -> Mapping[str, str]:
        """Logical_Router_Port name -> switch of the port that is its other side."""
        return {
            port.options[neutron_rows.ROUTER_PORT]: port.switch
            for port in self._ports.values()
            if port.switch and neutron_rows.ROUTER_PORT in port.options
        }

    def _interface(self, row: Row) -> RouterInterface:
        external_ids, name = mapping(row.get("external_ids")), text(row.get("name"))
        sides = (external_ids.get(neutron_rows.NETWORK_NAME), self._peers.get(name))
        return RouterInterface(
            name=name,
            switch=next((side for side in sides if side in self._switches), None),
            subnet_ids=neutron_rows.interface_subnets(external_ids),
            networks=tuple(map(str, values(row.get("networks")))),
            gateway=neutron_rows.gateway_interface(
                external_ids,
                bool(values(row.get("gateway_chassis"))),
                bool(values(row.get("ha_chassis_group"))),
            ),
        )

    @cached_property
    def _routers_on(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, set[str]] = defaultdict(set)
        for router in self._routers.values():
            for interface in router.interfaces:
                if interface.switch is not None:
                    found[interface.switch].add(router.name)
        return {switch: tuple(sorted(names)) for switch, names in found.items()}

    def routers_on(self, switch: str) -> tuple[str, ...]:
        """Names of the routers with any interface on that switch, sorted."""
        return self._routers_on.get(switch, ())

    def router(self, name: str) -> Router | None:
        """The Logical_Router of that name with all its interfaces."""
        return self._routers.get(name)

    # Floating IPs and the database itself

    @cached_property
    def _nat(self) -> Mapping[str, Mapping[str, tuple[NatEntry, ...]]]:
        """The dnat_and_snat rows by external_ip and by logical_ip, both canonical."""
        owners = {
            uuid: text(row.get("name"))
            for row in self._rows("Logical_Router")
            for uuid in values(row.get("nat"))
        }
        found: dict[str, dict[str, list[NatEntry]]] = {"external": {}, "logical": {}}
        for row in self._rows("NAT"):
            if text(row.get("type")) == neutron_rows.DNAT_AND_SNAT:
                entry = _nat_entry(row, owners)
                found["external"].setdefault(entry.external_ip, []).append(entry)
                found["logical"].setdefault(entry.logical_ip, []).append(entry)
        return {
            side: {ip: tuple(sorted(rows, key=lambda row: row.uuid)) for ip, rows in by_ip.items()}
            for side, by_ip in found.items()
        }

    def nat_entries(self, external_ip: str) -> tuple[NatEntry, ...]:
        """The dnat_and_snat rows of a floating IP."""
        return self._nat["external"].get(canonical(external_ip) or external_ip, ())

    def nat_entries_of(self, logical_ip: str) -> tuple[NatEntry, ...]:
        """The dnat_and_snat rows that lead to a fixed address."""
        return self._nat["logical"].get(canonical(logical_ip) or logical_ip, ())

    # Who uses an address

    @cached_property
    def _mapping_uses(self) -> Mapping[str, tuple[MappingUse, ...]]:
        found: dict[str, list[MappingUse]] = defaultdict(list)
        for row in self._rows("Load_Balancer"):
            for value in mapping(row.get("ip_port_mappings")).values():
                port, source = neutron_rows.mapping_source(value)
                found[source].append(MappingUse(text(row.get("name")), port))
        return {source: tuple(sorted(set(uses))) for source, uses in found.items()}

    def mapping_sources(self, address: str) -> tuple[MappingUse, ...]:
        """The ip_port_mappings entries whose source is exactly this canonical address, sorted."""
        return self._mapping_uses.get(address, ())

    @cached_property
    def _fip_members(self) -> Mapping[str, tuple[MemberUse, ...]]:
        found: dict[str, set[MemberUse]] = defaultdict(set)
        for row in self._rows("Load_Balancer"):
            for address, subnet_id in neutron_rows.fip_members(mapping(row.get("external_ids"))):
                found[address].add(MemberUse(text(row.get("name")), subnet_id))
        return {address: tuple(sorted(uses)) for address, uses in found.items()}

    def fip_member_uses(self, address: str) -> tuple[MemberUse, ...]:
        """The Load_Balancers with a floating IP that have a member of this canonical address, sorted."""
        return self._fip_members.get(address, ())

    def ipv6_hash(self) -> bool:
        """Whether the bundle's `schema` object lists ipv6_src among its `selection_fields`."""
        schema = self._content.get("schema")
        return isinstance(schema, Mapping) and "ipv6_src" in values(schema.get("selection_fields"))

    def monitor_mac(self) -> str | None:
        """NB_Global options:svc_monitor_mac."""
        return self._global("svc_monitor_mac")

    def northd_version(self) -> str | None:
        """NB_Global options:northd_internal_version."""
        return self._global("northd_internal_version")

    def _global(self, option: str) -> str | None:
        for row in self._rows("NB_Global"):
            value = mapping(row.get("options")).get(option)
            if value:
                return value
        return None

    def answers_for_down_ports(self) -> bool:
        """Whether OVN answers ARP for ports that are not up."""
        return any(
            neutron_rows.ignores_lsp_down(mapping(row.get("options"))) for row in self._rows("NB_Global")
        )


def _health_checks(checks: Mapping[str, Row], uuids: tuple[Any, ...]) -> tuple[HealthCheckRow, ...]:
    found = [
        HealthCheckRow(
            vip=text(row.get("vip")),
            options=mapping(row.get("options")),
            external_ids=mapping(row.get("external_ids")),
            uuid=uuid,
        )
        for uuid in uuids
        if (row := checks.get(uuid)) is not None
    ]
    return tuple(sorted(found, key=lambda check: (check.vip, check.uuid or "")))


def _nat_entry(row: Row, owners: Mapping[str, str]) -> NatEntry:
    external_ids = mapping(row.get("external_ids"))
    external_ip, logical_ip = text(row.get("external_ip")), text(row.get("logical_ip"))
    return NatEntry(
        uuid=row["_uuid"],
        router=owners.get(row["_uuid"]) or external_ids.get("neutron:router_name", ""),
        external_ip=canonical(external_ip) or external_ip,
        logical_ip=canonical(logical_ip) or logical_ip,
        distributed=bool(text(row.get("external_mac")) or text(row.get("logical_port"))),
        fip_id=external_ids.get(neutron_rows.FIP_ID) or None,
        fip_port_id=external_ids.get(neutron_rows.FIP_PORT_ID) or None,
        external_mac=text(row.get("external_mac")) or None,
        logical_port=text(row.get("logical_port")) or None,
    )
