"""The search for orphans in the Northbound database and in Neutron's ports.

The one walk over the Load_Balancer table and over all ports that providers make; what Octavia's
database says of the ids comes in as values. Source: architecture.md section 6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from ovnlb.desired.orphans import Evidence, Orphan, OrphanKind
from ovnlb.desired.port_facts import HM_PORT_OWNERS, HM_PORT_PREFIX, VIP_PORT_PREFIX, vip_device_id
from ovnlb.desired.rows import VIP_PORT_ID
from ovnlb.observed import neutron_rows
from ovnlb.observed.nb import unclaimed
from ovnlb.observed.ownership import Ownership
from ovnlb.observed.port_facts import mapping_users
from ovnlb.observed.source import NeutronPort, NorthboundSource

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LB_ID = re.compile(rf"{VIP_PORT_PREFIX}(?:additional-\d+-)?({_UUID})")
# The owners that VIP ports have: ours, none at all in older releases, Octavia's own mark.
_VIP_OWNERS = frozenset({"", "ovn-lb:vip", "Octavia"})


class OrphanNorthbound(NorthboundSource, Protocol):
    """A Northbound database that can list the ports of providers, and count rows."""

    def provider_ports(self) -> dict[str, str]:
        """LSP name -> Neutron name of the VIP and health-monitor ports."""

    def row_count(self, name: str) -> int:
        """How many Load_Balancer rows have that name."""


@dataclass(frozen=True, slots=True)
class Register:
    """What Octavia's database says. living: ids of ours that are not DELETED.

    deleted: DELETED ids of ours. others: ids of other providers. monitored: subnets whose
    health-monitor port a living load balancer uses, or may use. All for the ids that were asked about.
    """

    living: Collection[str] = frozenset()
    deleted: Collection[str] = frozenset()
    others: Collection[str] = frozenset()
    monitored: Collection[str] = frozenset()

    def evidence(self, lb_id: str) -> Evidence | None:
        """What speaks against a load balancer's leavings; None when it lives or is another provider's."""
        if lb_id in self.living or lb_id in self.others:
            return None
        return Evidence.DELETED if lb_id in self.deleted else Evidence.ABSENT


def vip_port_lb(name: str) -> str | None:
    """The load balancer that a VIP port of this name was made for; None for a user's own port."""
    found = _LB_ID.fullmatch(name)
    return found[1] if found else None


def asked_ids(nb: NorthboundSource, ports: Sequence[NeutronPort], living: Collection[str]) -> set[str]:
    """The ids that Octavia's database must be asked about: named by a row or a VIP port, and not living."""
    named = {name for name in nb.load_balancer_names() if name}
    named |= {lb_id for port in ports if (lb_id := vip_port_lb(port.name)) is not None}
    return named - set(living)


def row_orphans(
    nb: NorthboundSource, register: Register, port: Callable[[str], NeutronPort | None]
) -> tuple[list[Orphan], int]:
    """The Load_Balancer rows that are ours without a load balancer, and how many rows are foreign.

    `port` gives a Neutron port by id: the VIP port tells how old the row is.
    """
    found, foreign = [], 0
    ours = {*register.living, *register.deleted}
    rows = [*unclaimed(nb, ours, register.others)]
    rows += [
        (row, Ownership.OURS)
        for lb_id in sorted(register.deleted)
        for row in nb.load_balancers(lb_id)
        if neutron_rows.DEVICE_OWNER not in row.external_ids
    ]
    for row, owner in rows:
        foreign += owner is Ownership.FOREIGN
        evidence = register.evidence(row.name)
        if owner is not Ownership.OURS or evidence is None:
            continue
        made = port(row.external_ids.get(VIP_PORT_ID, "")) if evidence is Evidence.ABSENT else None
        # A user's own port may be much older than the load balancer: it tells nothing.
        dated = made is not None and vip_port_lb(made.name) == row.name
        found.append(
            Orphan(
                OrphanKind.ROW,
                row.uuid or "",
                evidence,
                lb_id=row.name,
                name=row.name,
                born=born(made) if made is not None and dated else None,
                row=row,
                project_id=None if made is None else made.project_id,
            )
        )
    return found, foreign


def vip_port_orphans(
    ports: Sequence[NeutronPort], register: Register, fips: Mapping[str, str]
) -> Iterator[Orphan]:
    """The VIP ports, by name, of load balancers that are gone. `fips`: port id -> floating IP."""
    for port in ports:
        lb_id = vip_port_lb(port.name)
        evidence = None if lb_id is None else register.evidence(lb_id)
        if lb_id is None or evidence is None:
            continue
        yield Orphan(
            OrphanKind.VIP_PORT,
            port.id,
            evidence,
            lb_id=lb_id,
            name=port.name,
            born=born(port),
            held=vip_port_held(port, lb_id, fips.get(port.id)),
            addresses=tuple(address for _, address in port.addresses),
            project_id=port.project_id,
        )


def vip_port_held(port: NeutronPort, lb_id: str, fip: str | None) -> str:
    """Why a VIP port must not be deleted whatever became of its load balancer; empty when it may."""
    if port.device_id not in ("", vip_device_id(lb_id)) or port.device_owner not in _VIP_OWNERS:
        return f"device {port.device_id or '(none)'} (owner {port.device_owner or '(none)'}) uses it"
    if port.host_bound:
        return "it is bound to a host"
    return f"floating IP {fip} is on it" if fip else ""


def hm_port_orphans(
    nb: NorthboundSource, ports: Sequence[NeutronPort], register: Register
) -> Iterator[Orphan]:
    """The health-monitor ports from which no row sends probes and that nobody is going to use."""
    for port in ports:
        subnet_id = port.name.removeprefix(HM_PORT_PREFIX)
        if subnet_id == port.name or port.device_owner not in HM_PORT_OWNERS:
            continue
        lsp, addresses = nb.port(port.id), tuple(address for _, address in port.addresses)
        switch = None if lsp is None else lsp.switch
        mapped = any(next(mapping_users(nb, address, switch), None) for address in addresses)
        if mapped or subnet_id in register.monitored:
            continue
        yield Orphan(
            OrphanKind.HM_PORT,
            port.id,
            Evidence.UNMAPPED,
            name=port.name,
            born=born(port),
            held="" if lsp else "Neutron has not written its LSP: the Northbound database is not complete",
            subnet_id=subnet_id,
            addresses=addresses,
            switch=switch,
            project_id=port.project_id,
        )


def born(port: NeutronPort) -> datetime | None:
    """When Neutron made the port, naive UTC; None when it does not say."""
    try:
        moment = datetime.fromisoformat(port.created_at or "")
    except ValueError:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
