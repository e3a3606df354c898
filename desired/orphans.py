"""What is left in OVN and Neutron of load balancers that Octavia no longer has, as values.

Made by `ovnlb.observed.orphans`, judged by `ovnlb.diff.orphans`. Source: architecture.md section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ovnlb.desired.rows import LoadBalancerRow


class OrphanKind(StrEnum):
    """A Load_Balancer row, or a Neutron port of a kind that only a provider makes."""

    ROW = "row"
    VIP_PORT = "vip_port"
    HM_PORT = "hm_port"


class Evidence(StrEnum):
    """Why an object is an orphan. Only `deleted` is proof; the others must be seen twice.

    deleted: Octavia's row says so. absent: Octavia has no row of that id (a create may not be committed
    yet, a replica may lag, a backup may have been restored). unmapped: a health-monitor port from which
    no row sends probes, on a subnet where no load balancer monitors members.
    """

    DELETED = "deleted"
    ABSENT = "absent"
    UNMAPPED = "unmapped"


@dataclass(frozen=True, slots=True)
class Orphan:
    """One object. `id`: the row's or port's UUID; `lb_id`: None for a health-monitor port.

    born: when its VIP port (or it, a port) was made in Neutron, naive UTC; None when nobody knows.
    held: why it must stay whatever the evidence says. row: of the kind ROW. subnet_id, addresses and
    switch: of a port.
    """

    kind: OrphanKind
    id: str
    evidence: Evidence
    lb_id: str | None = None
    name: str = ""
    born: datetime | None = None
    held: str = ""
    row: LoadBalancerRow | None = None
    subnet_id: str = ""
    addresses: tuple[str, ...] = ()
    switch: str | None = None
    project_id: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same object in two readings."""
        return str(self.kind), self.id


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one complete reading of all databases found.

    at: seconds on a monotonic clock, when Octavia's database was read. ours: how many rows and ports
    there are that only a provider makes, orphans included. newest: when the newest load balancer in
    Octavia's database was made, naive UTC. foreign: Load_Balancer rows of somebody else.
    """

    at: float
    orphans: tuple[Orphan, ...] = ()
    ours: int = 0
    newest: datetime | None = None
    foreign: int = 0
