"""Indexes over the Northbound replica, kept from row notices so that no lookup scans a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar
from uuid import UUID

from ovnlb.desired.addresses import canonical
from ovnlb.observed import datum, neutron_rows

DELETE = "delete"
K = TypeVar("K", bound=Hashable)


class KeyIndex(Generic[K]):
    """Key -> rows, many to many; a row's keys are replaced as a whole, at the cost of the difference.

    Most keys have one row and most rows one key: those are kept without a set around them.
    """

    def __init__(self) -> None:
        self._rows: dict[K, UUID | set[UUID]] = {}
        self._keys: dict[UUID, tuple[K, ...]] = {}

    def put(self, row: UUID, keys: Iterable[K]) -> frozenset[K]:
        """Make `keys` the row's keys; those that it gained or lost."""
        new, old = tuple(keys), self._keys.get(row, ())
        if len(new) > 1:
            new = tuple(dict.fromkeys(new))
        if new == old:
            return frozenset()
        if not old:
            for key in new:
                self._add(key, row)
            self._keys[row] = new
            return frozenset(new)
        changed = frozenset(new) ^ frozenset(old)
        for key in old:
            if key in changed:
                self._remove(key, row)
        for key in new:
            if key in changed:
                self._add(key, row)
        if new:
            self._keys[row] = new
        else:
            self._keys.pop(row, None)
        return changed

    def _add(self, key: K, row: UUID) -> None:
        found = self._rows.setdefault(key, row)
        if found is row:
            return
        if isinstance(found, set):
            found.add(row)
        else:
            self._rows[key] = {found, row}

    def _remove(self, key: K, row: UUID) -> None:
        found = self._rows[key]
        if not isinstance(found, set):
            del self._rows[key]
            return
        found.discard(row)
        if len(found) == 1:
            self._rows[key] = next(iter(found))

    def rows(self, key: K) -> frozenset[UUID] | set[UUID]:
        """The rows that have the key."""
        found = self._rows.get(key)
        if found is None:
            return frozenset()
        return found if isinstance(found, set) else frozenset((found,))

    def row(self, key: K) -> UUID | None:
        """The lowest of the rows that have the key."""
        found = self._rows.get(key)
        return min(found) if isinstance(found, set) else found

    def keys_of(self, row: UUID) -> tuple[K, ...]:
        """The keys that the row has."""
        return self._keys.get(row, ())

    def __contains__(self, row: UUID) -> bool:
        return row in self._keys

    def keys(self) -> list[K]:
        """All keys that some row has."""
        return list(self._rows)

    def clear(self) -> None:
        """Forget all rows."""
        self._rows.clear()
        self._keys.clear()


class NorthboundIndexes:
    """What `NbReplica` looks up. `tables` is the IDL's; fed by `changed` and `cleared`, under its guard."""

    def __init__(self, tables: Any) -> None:
        self._tables = tables
        # Grows whenever what a lookup of switches, routers or health-monitor ports says may be another.
        self.topology = 0
        self.load_balancers: KeyIndex[str] = KeyIndex()
        self.switches: KeyIndex[str] = KeyIndex()
        self.switch_of_balancer: KeyIndex[UUID] = KeyIndex()
        self.switch_of_port: KeyIndex[UUID] = KeyIndex()
        self.provider_switches: KeyIndex[bool] = KeyIndex()
        self.localnet_switches: KeyIndex[str] = KeyIndex()
        self.ports: KeyIndex[str] = KeyIndex()
        self.addresses: KeyIndex[tuple[str, str]] = KeyIndex()
        self.hm_ports: KeyIndex[str] = KeyIndex()
        self.provider_ports: KeyIndex[bool] = KeyIndex()
        self.peers: KeyIndex[str] = KeyIndex()
        # Ports that are in one of the indexes of few ports.
        self._special: set[UUID] = set()
        self.peers_on: KeyIndex[str] = KeyIndex()
        self.routers: KeyIndex[str] = KeyIndex()
        self.router_of_balancer: KeyIndex[UUID] = KeyIndex()
        self.router_of_port: KeyIndex[UUID] = KeyIndex()
        self.router_of_nat: KeyIndex[UUID] = KeyIndex()
        self.interfaces: KeyIndex[str] = KeyIndex()
        self.interfaces_on: KeyIndex[str] = KeyIndex()
        self.mapping_sources: KeyIndex[str] = KeyIndex()
        self.fip_members: KeyIndex[str] = KeyIndex()
        self.nat_external: KeyIndex[str] = KeyIndex()
        self.nat_logical: KeyIndex[str] = KeyIndex()
        self._by_table: dict[str, tuple[Callable[[Any], None], tuple[KeyIndex[Any], ...]]] = {
            "Load_Balancer": (
                self._load_balancer,
                (self.load_balancers, self.mapping_sources, self.fip_members),
            ),
            "Logical_Switch": (
                self._switch,
                (self.switches, self.switch_of_balancer, self.provider_switches, self.switch_of_port),
            ),
            "Logical_Switch_Port": (
                self._port,
                (
                    self.ports,
                    self.addresses,
                    self.localnet_switches,
                    self.hm_ports,
                    self.provider_ports,
                    self.peers,
                    self.peers_on,
                ),
            ),
            "Logical_Router": (
                self._router,
                (self.routers, self.router_of_balancer, self.router_of_port, self.router_of_nat),
            ),
            "Logical_Router_Port": (self._interface, (self.interfaces, self.interfaces_on)),
            "NAT": (self._nat, (self.nat_external, self.nat_logical)),
        }

    def changed(self, event: str, row: Any) -> None:
        """Take in one notice of the IDL: `row` as it is now, as it was when it is gone."""
        entry = self._by_table.get(row._table.name)
        if entry is None:
            return
        put, indexes = entry
        if event != DELETE:
            put(row)
            return
        self._special.discard(row.uuid)
        orphans = [index.put(row.uuid, ()) for index in indexes]
        self.topology += 1
        if row._table.name == "Logical_Switch":
            self._moved(orphans[-1])

    def cleared(self, table: str) -> None:
        """Forget a table whose rows are about to be loaded anew."""
        self.topology += 1
        if table == "Logical_Switch_Port":
            self._special.clear()
        for index in self._by_table.get(table, (None, ()))[1]:
            index.clear()

    def port_switch(self, port: Any) -> str | None:
        """The switch that lists the port, else the one of its Neutron network."""
        switch = self._tables["Logical_Switch"].rows.get(self.switch_of_port.row(port.uuid))
        if switch is not None:
            return str(datum.first(switch, "name"))
        return datum.mapping(port, "external_ids").get(neutron_rows.NETWORK_NAME) or None

    def _load_balancer(self, row: Any) -> None:
        self.load_balancers.put(row.uuid, datum.members(row, "name"))
        mappings = set(datum.mapping(row, "ip_port_mappings").values())
        self.mapping_sources.put(row.uuid, (neutron_rows.mapping_source(value)[1] for value in mappings))
        members = neutron_rows.fip_members(datum.mapping(row, "external_ids"))
        self.fip_members.put(row.uuid, (address for address, _ in members))

    def _switch(self, row: Any) -> None:
        renamed = self.switches.put(row.uuid, datum.members(row, "name"))
        self.switch_of_balancer.put(row.uuid, datum.members(row, "load_balancer"))
        physical = datum.mapping(row, "external_ids").get(neutron_rows.PHYSICAL_NETWORK)
        marked = self.provider_switches.put(row.uuid, (True,) if physical else ())
        ports = datum.members(row, "ports")
        moved = self.switch_of_port.put(row.uuid, ports)
        # Our own writes attach load balancers, and change none of these.
        self.topology += bool(renamed or moved or marked)
        self._moved(ports if renamed else moved)

    def _moved(self, ports: Iterable[UUID]) -> None:
        """Index ports again whose switch is another one now (a port yet to be noticed comes by itself)."""
        rows = self._tables["Logical_Switch_Port"].rows
        for uuid in ports:
            if uuid in self.ports and (port := rows.get(uuid)) is not None and self._is_elsewhere(port):
                self._port(port)

    def _is_elsewhere(self, port: Any) -> bool:
        """Whether a port is indexed for another switch. While loading, its network's name told already."""
        known = self.addresses.keys_of(port.uuid)
        return not known or known[0][0] != self.port_switch(port)

    def _port(self, row: Any) -> None:
        external_ids, uuid = datum.mapping(row, "external_ids"), row.uuid
        switch, kind = self.port_switch(row), datum.first(row, "type")
        self.ports.put(uuid, datum.members(row, "name"))
        _, addresses = neutron_rows.port_addresses(datum.members(row, "addresses"), external_ids)
        self.addresses.put(uuid, ((switch, address) for address in addresses) if switch else ())
        name = external_ids.get(neutron_rows.PORT_NAME, "")
        peer = datum.mapping(row, "options").get(neutron_rows.ROUTER_PORT)
        # Nearly all ports are machines', and in none of these.
        special = bool(peer or kind == neutron_rows.LOCALNET or name.startswith(neutron_rows.PROVIDER_PORTS))
        if not special and uuid not in self._special:
            return
        (self._special.add if special else self._special.discard)(uuid)
        for index, key, applies in (
            (self.localnet_switches, switch, switch and kind == neutron_rows.LOCALNET),
            (self.hm_ports, name, name and neutron_rows.is_hm_port(external_ids)),
            (self.provider_ports, True, name.startswith(neutron_rows.PROVIDER_PORTS)),
            (self.peers, peer, peer and switch),
            (self.peers_on, switch, peer and switch),
        ):
            if applies or uuid in index:
                self.topology += 1
                index.put(uuid, (key,) if applies else ())  # type: ignore[arg-type]

    def _router(self, row: Any) -> None:
        renamed = self.routers.put(row.uuid, datum.members(row, "name"))
        self.router_of_balancer.put(row.uuid, datum.members(row, "load_balancer"))
        moved = self.router_of_port.put(row.uuid, datum.members(row, "ports"))
        self.topology += bool(renamed or moved)
        self.router_of_nat.put(row.uuid, datum.members(row, "nat"))

    def _interface(self, row: Any) -> None:
        self.topology += 1
        network = datum.mapping(row, "external_ids").get(neutron_rows.NETWORK_NAME)
        self.interfaces.put(row.uuid, datum.members(row, "name"))
        self.interfaces_on.put(row.uuid, (network,) if network else ())

    def _nat(self, row: Any) -> None:
        floating = datum.first(row, "type") == neutron_rows.DNAT_AND_SNAT
        for index, column in ((self.nat_external, "external_ip"), (self.nat_logical, "logical_ip")):
            address = str(datum.first(row, column))
            index.put(row.uuid, (canonical(address) or address,) if floating else ())
