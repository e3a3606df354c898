"""The Northbound database as a live, indexed `NorthboundSource`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar
from uuid import UUID

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import NatEntry, Router, RouterInterface, Switch
from ovnlb.desired.port_facts import hm_port_name
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.observed import datum, neutron_rows
from ovnlb.observed.connection import Replica, ReplicaIdl
from ovnlb.observed.indexes import KeyIndex, NorthboundIndexes
from ovnlb.observed.source import MappingUse, MemberUse, SwitchPort

T = TypeVar("T")


class NbReplica(Replica):
    """`NorthboundSource` over the live replica. Every call is an indexed lookup under the guard."""

    def __init__(
        self, api: Any, made: ReplicaIdl, indexes: NorthboundIndexes, persistent_uuids: bool
    ) -> None:
        super().__init__(api, made.endpoint)
        self._indexes = indexes
        self._kept: tuple[int, dict[Any, Any]] = (indexes.topology, {})
        self._last_port: tuple[tuple[int, str], SwitchPort | None] = ((-1, ""), None)
        self.persistent_uuids = persistent_uuids
        enum = self._tables["Load_Balancer"].columns["selection_fields"].type.key.enum
        self._ipv6_hash = enum is not None and "ipv6_src" in enum.as_list()

    def _row(self, table: str, uuid: UUID | None) -> Any:
        return None if uuid is None else self._tables[table].rows.get(uuid)

    def _known(self, question: str, about: str, answer: Callable[[str], T]) -> T:
        """An answer about the topology, kept until that changes: many load balancers share it."""
        with self._idl.guard:
            if self._kept[0] != self._indexes.topology:
                self._kept = (self._indexes.topology, {})
            key, kept = (question, about), self._kept[1]
            if key not in kept:
                kept[key] = answer(about)
            return kept[key]  # type: ignore[no-any-return]

    def table(self, table: str) -> Any:
        """The python-ovs table of that name. For the guard's holder only."""
        return self._tables[table]

    def uuid_in_use(self, uuid: str, lb_id: str) -> bool:
        """Whether a Load_Balancer or a health check that is not this load balancer's has that UUID."""
        wanted = UUID(uuid)
        with self._idl.guard:
            row = self._row("Load_Balancer", wanted)
            if row is not None:
                return str(datum.first(row, "name")) != lb_id
            if self._row("Load_Balancer_Health_Check", wanted) is None:
                return False
            return not any(wanted in datum.members(row, "health_check") for row in self.balancer_rows(lb_id))

    def row(self, table: str, uuid: UUID) -> Any:
        """The python-ovs row of that UUID, None when there is none. For the guard's holder only."""
        return self._row(table, uuid)

    def named(self, table: str, name: str) -> Any:
        """The python-ovs row of a Logical_Switch or Logical_Router. For the guard's holder only."""
        index = self._indexes.switches if table == "Logical_Switch" else self._indexes.routers
        return self._row(table, index.row(name))

    def balancer_rows(self, name: str) -> list[Any]:
        """The python-ovs rows of all Load_Balancers of that name. For the guard's holder only."""
        return self._rows("Load_Balancer", self._indexes.load_balancers, name)

    def _rows(self, table: str, index: KeyIndex[Any], key: Any) -> list[Any]:
        rows = self._tables[table].rows
        return [rows[uuid] for uuid in sorted(index.rows(key)) if uuid in rows]

    def _names(self, table: str, uuids: Iterable[UUID]) -> frozenset[str]:
        rows = self._tables[table].rows
        return frozenset(str(datum.first(rows[uuid], "name")) for uuid in uuids if uuid in rows)

    def cfg(self) -> tuple[int, int]:
        """NB_Global nb_cfg and sb_cfg: northd is behind while they differ. (0, 0) without a row."""
        with self._idl.guard:
            for row in self._tables["NB_Global"].rows.values():
                return int(datum.first(row, "nb_cfg")), int(datum.first(row, "sb_cfg"))
        return 0, 0

    # NorthboundSource: load balancers

    def load_balancers(self, name: str) -> tuple[LoadBalancerRow, ...]:
        """All Load_Balancer rows of that name, with health checks and attachments, by uuid."""
        with self._idl.guard:
            return tuple(self._balancer(row) for row in self.balancer_rows(name))

    def _balancer(self, row: Any) -> LoadBalancerRow:
        indexes = self._indexes
        return LoadBalancerRow(
            name=str(datum.first(row, "name")),
            protocol=str(datum.first(row, "protocol") or "").lower() or None,
            external_ids=datum.mapping(row, "external_ids"),
            vips=datum.mapping(row, "vips"),
            selection_fields=frozenset(datum.members(row, "selection_fields")),
            options=datum.mapping(row, "options"),
            ip_port_mappings=datum.mapping(row, "ip_port_mappings"),
            health_checks=self._checks(row),
            switches=self._names("Logical_Switch", indexes.switch_of_balancer.rows(row.uuid)),
            routers=self._names("Logical_Router", indexes.router_of_balancer.rows(row.uuid)),
            uuid=str(row.uuid),
        )

    def _checks(self, row: Any) -> tuple[HealthCheckRow, ...]:
        uuids = datum.members(row, "health_check")
        rows = (self._row("Load_Balancer_Health_Check", uuid) for uuid in uuids)
        found = [
            HealthCheckRow(
                vip=str(datum.first(check, "vip")),
                options=datum.mapping(check, "options"),
                external_ids=datum.mapping(check, "external_ids"),
                uuid=str(check.uuid),
            )
            for check in rows
            if check is not None
        ]
        return tuple(sorted(found, key=lambda check: (check.vip, check.uuid or "")))

    def row_count(self, name: str) -> int:
        """How many Load_Balancer rows have that name."""
        with self._idl.guard:
            return len(self._indexes.load_balancers.rows(name))

    def load_balancer_names(self) -> Iterator[str]:
        """The names of all Load_Balancer rows, each once."""
        with self._idl.guard:
            return iter(self._indexes.load_balancers.keys())

    # NorthboundSource: switches and their ports

    def switch(self, name: str) -> Switch | None:
        """The Logical_Switch of that name."""
        return self._known("switch", name, self._switch)

    def _switch(self, name: str) -> Switch | None:
        row = self.named("Logical_Switch", name)
        if row is None:
            return None
        localnet = bool(self._indexes.localnet_switches.rows(name))
        return Switch(name, neutron_rows.provider_switch(datum.mapping(row, "external_ids"), localnet))

    def port(self, name: str) -> SwitchPort | None:
        """The LSP of that name."""
        with self._idl.guard:
            # A walk asks for a VIP port several times in a row.
            asked = (self._idl.change_seqno, name)
            if self._last_port[0] != asked:
                row = self._row("Logical_Switch_Port", self._indexes.ports.row(name))
                self._last_port = (asked, None if row is None else self._port(row))
            return self._last_port[1]

    def _port(self, row: Any) -> SwitchPort:
        external_ids = datum.mapping(row, "external_ids")
        mac, addresses = neutron_rows.port_addresses(sorted(datum.members(row, "addresses")), external_ids)
        return SwitchPort(
            name=str(datum.first(row, "name")),
            type=str(datum.first(row, "type") or ""),
            switch=self._indexes.port_switch(row),
            addresses=addresses,
            mac=mac,
            external_ids=external_ids,
            options=datum.mapping(row, "options"),
            enabled=datum.first(row, "enabled") is not False,
        )

    def ports_with_address(self, switch: str, address: str) -> tuple[str, ...]:
        """Names of the LSPs on that switch holding that canonical address, sorted."""
        with self._idl.guard:
            uuids = self._indexes.addresses.rows((switch, address))
            if not uuids:
                return ()
            rows = self._tables["Logical_Switch_Port"].rows
            return tuple(sorted({str(datum.first(rows[uuid], "name")) for uuid in uuids if uuid in rows}))

    def hm_port(self, subnet_id: str) -> SwitchPort | None:
        """The health-monitor LSP of a subnet; of several the one with the lowest name."""
        return self._known("hm_port", subnet_id, self._hm_port)

    def _hm_port(self, subnet_id: str) -> SwitchPort | None:
        key = hm_port_name(subnet_id)
        rows = self._rows("Logical_Switch_Port", self._indexes.hm_ports, key)
        found = [self._port(row) for row in rows]
        return min(found, key=lambda port: port.name, default=None)

    def provider_ports(self) -> dict[str, str]:
        """LSP name -> Neutron name of the VIP and health-monitor ports."""
        with self._idl.guard:
            rows = self._rows("Logical_Switch_Port", self._indexes.provider_ports, True)
            return {
                str(datum.first(row, "name")): datum.mapping(row, "external_ids")[neutron_rows.PORT_NAME]
                for row in rows
            }

    # NorthboundSource: routers

    def routers_on(self, switch: str) -> tuple[str, ...]:
        """Names of the routers with any interface on that switch, sorted."""
        return self._known("routers_on", switch, self._routers_on)

    def _routers_on(self, switch: str) -> tuple[str, ...]:
        if self._indexes.switches.row(switch) is None:
            return ()
        interfaces = set(self._indexes.interfaces_on.rows(switch))
        for port in self._rows("Logical_Switch_Port", self._indexes.peers_on, switch):
            interfaces |= self._indexes.interfaces.rows(self._peer_name(port))
        found: set[str] = set()
        for uuid in interfaces:
            row = self._row("Logical_Router_Port", uuid)
            if row is not None and self._interface_switch(row) == switch:
                found |= self._names("Logical_Router", self._indexes.router_of_port.rows(uuid))
        return tuple(sorted(found))

    @staticmethod
    def _peer_name(port: Any) -> str:
        return datum.mapping(port, "options")[neutron_rows.ROUTER_PORT]

    def _interface_switch(self, row: Any) -> str | None:
        """The switch on the other side: of its Neutron network, else of the LSP that is its peer."""
        network = datum.mapping(row, "external_ids").get(neutron_rows.NETWORK_NAME)
        if network and self._indexes.switches.row(network) is not None:
            return network
        peer = self._row("Logical_Switch_Port", self._indexes.peers.row(str(datum.first(row, "name"))))
        switch = None if peer is None else self._indexes.port_switch(peer)
        return switch if switch and self._indexes.switches.row(switch) is not None else None

    def router(self, name: str) -> Router | None:
        """The Logical_Router of that name with all its interfaces."""
        return self._known("router", name, self._router)

    def _router(self, name: str) -> Router | None:
        row = self.named("Logical_Router", name)
        if row is None:
            return None
        ports = (self._row("Logical_Router_Port", uuid) for uuid in datum.members(row, "ports"))
        found = [self._interface(port) for port in ports if port is not None]
        return Router(name, tuple(sorted(found, key=lambda one: one.name)))

    def _interface(self, row: Any) -> RouterInterface:
        external_ids = datum.mapping(row, "external_ids")
        return RouterInterface(
            name=str(datum.first(row, "name")),
            switch=self._interface_switch(row),
            subnet_ids=neutron_rows.interface_subnets(external_ids),
            networks=tuple(sorted(datum.members(row, "networks"))),
            gateway=neutron_rows.gateway_interface(
                external_ids,
                bool(datum.known_members(row, "gateway_chassis")),
                bool(datum.known_members(row, "ha_chassis_group")),
            ),
        )

    # NorthboundSource: floating IPs and the database itself

    def nat_entries(self, external_ip: str) -> tuple[NatEntry, ...]:
        """The dnat_and_snat rows of a floating IP."""
        return self._nat(self._indexes.nat_external, external_ip)

    def nat_entries_of(self, logical_ip: str) -> tuple[NatEntry, ...]:
        """The dnat_and_snat rows that lead to a fixed address."""
        return self._nat(self._indexes.nat_logical, logical_ip)

    def _nat(self, index: KeyIndex[str], address: str) -> tuple[NatEntry, ...]:
        with self._idl.guard:
            return tuple(self._entry(row) for row in self._rows("NAT", index, canonical(address) or address))

    def _entry(self, row: Any) -> NatEntry:
        external_ids = datum.mapping(row, "external_ids")
        external_ip, logical_ip = (str(datum.first(row, column)) for column in ("external_ip", "logical_ip"))
        owner = self._row("Logical_Router", self._indexes.router_of_nat.row(row.uuid))
        named = external_ids.get("neutron:router_name", "")
        return NatEntry(
            uuid=str(row.uuid),
            router=named if owner is None else str(datum.first(owner, "name")),
            external_ip=canonical(external_ip) or external_ip,
            logical_ip=canonical(logical_ip) or logical_ip,
            distributed=bool(datum.first(row, "external_mac") or datum.first(row, "logical_port")),
            fip_id=external_ids.get(neutron_rows.FIP_ID) or None,
            fip_port_id=external_ids.get(neutron_rows.FIP_PORT_ID) or None,
            external_mac=datum.first(row, "external_mac"),
            logical_port=datum.first(row, "logical_port"),
        )

    def mapping_sources(self, address: str) -> tuple[MappingUse, ...]:
        """The ip_port_mappings entries whose source is exactly this canonical address, sorted."""
        found: set[MappingUse] = set()
        with self._idl.guard:
            for row in self._rows("Load_Balancer", self._indexes.mapping_sources, address):
                for value in datum.mapping(row, "ip_port_mappings").values():
                    port, source = neutron_rows.mapping_source(value)
                    if source == address:
                        found.add(MappingUse(str(datum.first(row, "name")), port))
        return tuple(sorted(found))

    def fip_member_uses(self, address: str) -> tuple[MemberUse, ...]:
        """The Load_Balancers with a floating IP that have a member of this canonical address, sorted."""
        found: set[MemberUse] = set()
        with self._idl.guard:
            for row in self._rows("Load_Balancer", self._indexes.fip_members, address):
                for member, subnet_id in neutron_rows.fip_members(datum.mapping(row, "external_ids")):
                    if member == address:
                        found.add(MemberUse(str(datum.first(row, "name")), subnet_id))
        return tuple(sorted(found))

    def ipv6_hash(self) -> bool:
        """Whether the schema's selection_fields enum has ipv6_src and ipv6_dst."""
        return self._ipv6_hash

    def monitor_mac(self) -> str | None:
        """NB_Global options:svc_monitor_mac."""
        return self._global("svc_monitor_mac")

    def northd_version(self) -> str | None:
        """NB_Global options:northd_internal_version."""
        return self._global("northd_internal_version")

    def _global(self, option: str) -> str | None:
        with self._idl.guard:
            for row in self._tables["NB_Global"].rows.values():
                return datum.mapping(row, "options").get(option)
        return None

    def answers_for_down_ports(self) -> bool:
        """Whether OVN answers ARP for ports that are not up."""
        with self._idl.guard:
            options = [datum.mapping(row, "options") for row in self._tables["NB_Global"].rows.values()]
        return any(neutron_rows.ignores_lsp_down(one) for one in options)
