"""The Octavia object graph of one load balancer, as frozen values.

Made by `ovnlb.desired.graph` from database rows (or from a bundle), read by everything else. Values
are as Octavia stores them, except that absent text is None; addresses are still as their users typed
them. Source of the columns: octavia/db/models.py (19.0.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Provisioning(StrEnum):
    """Octavia's provisioning statuses (lookup table `provisioning_status`), those that we meet."""

    ACTIVE = "ACTIVE"
    DELETED = "DELETED"
    ERROR = "ERROR"
    PENDING_CREATE = "PENDING_CREATE"
    PENDING_UPDATE = "PENDING_UPDATE"
    PENDING_DELETE = "PENDING_DELETE"


class Operating(StrEnum):
    """Octavia's operating statuses (lookup table `operating_status`)."""

    ONLINE = "ONLINE"
    OFFLINE = "OFFLINE"
    DEGRADED = "DEGRADED"
    ERROR = "ERROR"
    NO_MONITOR = "NO_MONITOR"
    DRAINING = "DRAINING"


PENDING = frozenset({"PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"})


@dataclass(frozen=True, slots=True)
class Vip:
    """The VIP or one additional VIP. `address`, `port_id` are None only before Octavia's commit."""

    address: str | None
    port_id: str | None
    subnet_id: str | None
    network_id: str | None


@dataclass(frozen=True, slots=True)
class Member:
    """One backend. `subnet_id` is None for ever when the user left it out; weight None counts as 1."""

    id: str
    pool_id: str
    address: str
    port: int
    subnet_id: str | None
    weight: int | None
    backup: bool
    enabled: bool
    provisioning_status: str
    operating_status: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class HealthMonitor:
    """`delay`, `timeout` in seconds; `rise` is max_retries, `fall` is max_retries_down."""

    id: str
    pool_id: str
    type: str
    delay: int
    timeout: int
    rise: int
    fall: int
    enabled: bool
    provisioning_status: str
    operating_status: str


@dataclass(frozen=True, slots=True)
class SessionPersistence:
    """`timeout` in seconds, None when the user gave none."""

    type: str
    timeout: int | None


@dataclass(frozen=True, slots=True)
class Pool:
    """`protocol` and `algorithm` in Octavia's spelling (TCP, SOURCE_IP_PORT)."""

    id: str
    protocol: str
    algorithm: str
    enabled: bool
    provisioning_status: str
    operating_status: str
    created_at: datetime | None
    persistence: SessionPersistence | None
    members: tuple[Member, ...]
    health_monitor: HealthMonitor | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class L7Object:
    """An l7policy or l7rule: OVN cannot serve it, but its status must not stay PENDING for ever."""

    id: str
    kind: str  # "l7policies" or "l7rules", the status message's word
    provisioning_status: str


@dataclass(frozen=True, slots=True)
class Listener:
    """`port` is the listener's protocol_port; `default_pool_id` may dangle in a damaged database."""

    id: str
    protocol: str
    port: int
    default_pool_id: str | None
    enabled: bool
    provisioning_status: str
    operating_status: str
    created_at: datetime | None
    l7: tuple[L7Object, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class LoadBalancer:
    """The whole graph of one load balancer, from one database snapshot.

    Children are in (created_at, id) order, additional VIPs by subnet id: the order of database rows
    never reaches the result.
    """

    id: str
    project_id: str | None
    name: str | None
    provider: str | None
    enabled: bool
    provisioning_status: str
    operating_status: str
    created_at: datetime | None
    updated_at: datetime | None
    vip: Vip
    additional_vips: tuple[Vip, ...]
    listeners: tuple[Listener, ...]
    pools: tuple[Pool, ...]

    @property
    def vips(self) -> tuple[Vip, ...]:
        """The VIP first, then the additional ones."""
        return (self.vip, *self.additional_vips)


@dataclass(frozen=True, slots=True)
class BrokenLoadBalancer:
    """A load balancer whose rows cannot be read as a graph: listed as an error, never planned.

    `lb`: what can be read of it, for its statuses.
    """

    id: str
    reason: str
    lb: LoadBalancer | None = None
