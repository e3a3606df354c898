"""Facts from Neutron over an openstacksdk connection: few listings, kept for as long as they hold.

Answers `NeutronSource`. Effects and the authenticated connection are made elsewhere. Every failure is
`NeutronUnavailable` (try later) or `NeutronRefused` (a 4xx), see `ovnlb.observed.neutron_errors`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import openstack.exceptions

from ovnlb.desired.facts import Subnet
from ovnlb.observed.bundle_neutron import fips_by_port, port_value, subnet_value
from ovnlb.observed.neutron_errors import NeutronRefused, NeutronUnavailable, neutron_errors
from ovnlb.observed.source import NeutronPort

# Ids in one query: 50 uuids are about 2 kB of URL, which every proxy in front of an API takes.
_CHUNK = 50


class SdkNeutron:
    """`NeutronSource` over an `openstack.connection.Connection`, first used at the first question.

    A subnet's network and CIDR never change, so subnets are kept until `recheck_subnets` finds them
    deleted; those that Neutron does not have, and the floating IPs, until `refresh`. Thread-safe.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._subnets: dict[str, Subnet] = {}
        self._absent: set[str] = set()
        self._fips: Mapping[str, str] | None = None
        self._fip_ports: frozenset[str] | None = None

    def refresh(self, fip_ports: Collection[str] | None = None) -> None:
        """A new pass begins: ask again for floating IPs and for subnets that were missing.

        `fip_ports`: the only ports whose floating IPs the pass will ask for (a pass over few LBs);
        None lists all.
        """
        with self._lock:
            self._absent.clear()
            self._fips = None
            self._fip_ports = None if fip_ports is None else _listable(frozenset(fip_ports))

    def subnets(self, ids: Collection[str]) -> Mapping[str, Subnet]:
        """The subnets among these ids that exist; one listing for many unknown ones."""
        with self._lock:
            missing = sorted({one for one in ids if one not in self._subnets and one not in self._absent})
            if missing:
                self._subnets.update((one.id, one) for one in self._list_subnets(missing))
                self._absent.update(one for one in missing if one not in self._subnets)
            return {one: self._subnets[one] for one in ids if one in self._subnets}

    def recheck_subnets(self) -> None:
        """List the known subnets once more and forget those that have been deleted since."""
        with self._lock:
            known = sorted(self._subnets)
            if known:
                present = {one.id for one in self._list_subnets(known)}
                self._subnets = {key: subnet for key, subnet in self._subnets.items() if key in present}

    def _list_subnets(self, missing: Sequence[str]) -> Iterator[Subnet]:
        query = {"id": list(missing)} if len(missing) <= _CHUNK else {}
        for row in self._listing("subnets", fields=["id", "network_id", "cidr"], **query):
            yield subnet_value(row)

    def floating_ips(self, port_ids: Collection[str]) -> Mapping[str, str]:
        """Port id -> floating IP address, from the one listing of this pass."""
        with self._lock:
            fips, scope = self._fips, self._fip_ports
            if fips is None or (scope is not None and not scope.issuperset(port_ids)):
                scope = None if scope is None else _listable(scope.union(port_ids))
                fips = fips_by_port(self._list_fips(scope))
                self._fips, self._fip_ports = fips, scope
            return {one: fips[one] for one in port_ids if one in fips}

    def floating_ip_now(self, port_id: str) -> str | None:
        """The floating IP of one port, asked anew: for when the listing of the pass is doubted."""
        with self._lock:
            now = fips_by_port(self._list_fips(_listable(frozenset((port_id,))))).get(port_id)
            if self._fips is not None:
                others = {port: fip for port, fip in self._fips.items() if port != port_id}
                self._fips = others if now is None else {**others, port_id: now}
            return now

    def _list_fips(self, ports: frozenset[str] | None) -> Iterator[tuple[str, str]]:
        """(port id, address) of all floating IPs, or of those of these ports."""
        if ports is not None and not ports:
            return
        query = {} if ports is None else {"port_id": sorted(ports)}
        for row in self._listing("floatingips", fields=["id", "port_id", "floating_ip_address"], **query):
            yield str(row.get("port_id") or ""), str(row.get("floating_ip_address") or "")

    def port(self, port_id: str) -> NeutronPort | None:
        """The port of that id, never cached; None when Neutron has none (or hides it)."""
        try:
            return port_value(self._get(f"GET port {port_id}", f"/ports/{port_id}", (), "port")["port"])
        except NeutronRefused as error:
            if error.missing:
                return None
            raise

    def ports(
        self,
        network_id: str | None = None,
        name: str | None = None,
        device_owner: str | None = None,
    ) -> tuple[NeutronPort, ...]:
        """The ports with all of the given properties, by id; one listing, never cached."""
        wanted = {"network_id": network_id, "name": name, "device_owner": device_owner}
        query = {key: value for key, value in wanted.items() if value is not None}
        found = [port_value(row) for row in self._listing("ports", **query)]
        return tuple(sorted(found, key=lambda port: port.id))

    def ports_of(self, ids: Collection[str]) -> tuple[NeutronPort, ...]:
        """The ports among these ids that exist, by id; a listing for every 50, never cached."""
        wanted = sorted(set(ids))
        chunks = (wanted[start : start + _CHUNK] for start in range(0, len(wanted), _CHUNK))
        return tuple(port_value(row) for chunk in chunks for row in self._listing("ports", id=chunk))

    def rows(self, kind: str, **query: str | list[str]) -> list[Mapping[str, Any]]:
        """All rows of one listing as the API gives them, never cached; `kind` as the answer names it."""
        return self._listing(kind, **query)

    def _listing(self, kind: str, **query: str | list[str]) -> list[Mapping[str, Any]]:
        """All rows of one listing, complete or an error: a part of it is never an answer.

        Rows stay as the API gives them: openstacksdk's own listing spends a millisecond of CPU on
        each row, which is ten seconds for the floating IPs of a large cloud.
        """
        shown = ", ".join(sorted(key for key in query if key != "fields"))
        call = f"list {kind}" + (f" by {shown}" if shown else "")
        page = [(key, one) for key, value in query.items() for one in _several(value)]
        rows: list[Mapping[str, Any]] = []
        while True:
            answer = self._get(call, f"/{kind.replace('_', '-')}", page, kind)
            rows += answer[kind]
            following = _next_page(answer.get(f"{kind}_links") or ())
            if following is None or not answer[kind]:
                return rows
            if following == page:
                raise NeutronUnavailable(call, "the next page is the same page again")
            page = following

    def _get(self, call: str, path: str, query: Sequence[tuple[str, str]], key: str) -> dict[str, Any]:
        """One GET through the SDK's proxy, which knows endpoint, token and timeout.

        The answer is an object that has `key`: a proxy's or another service's 200 is no answer.
        """
        with neutron_errors(call):
            response = self._connection.network.get(path, params=list(query))
            openstack.exceptions.raise_from_response(response)
            answer = response.json()
        if not isinstance(answer, dict) or key not in answer:
            raise NeutronUnavailable(call, f"the answer has no {key!r}: is this endpoint Neutron's?")
        return answer


def _listable(ports: frozenset[str]) -> frozenset[str] | None:
    """The ports as one query can name them; None (list everything) when there are too many."""
    return ports if len(ports) <= _CHUNK else None


def _several(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _next_page(links: Iterable[Mapping[str, str]]) -> list[tuple[str, str]] | None:
    """The query of the next page. Its host and path are not followed: proxies get them wrong."""
    for link in links:
        if link.get("rel") == "next":
            return parse_qsl(urlsplit(link["href"]).query)
    return None
