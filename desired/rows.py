"""The vocabulary of the Northbound rows we own, shared by desired and observed.

Names and formats: architecture.md section 3, ovn-nb(5) tables Load_Balancer and
Load_Balancer_Health_Check. A `LoadBalancerRow` holds its attachments too: in the database they are
weak references from Logical_Switch and Logical_Router, but they are part of what the row must be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID, uuid5

# Keys of Load_Balancer.external_ids.
ENABLED = "enabled"
VIP = "neutron:vip"
VIP_PORT_ID = "neutron:vip_port_id"
VIP_FIP = "neutron:vip_fip"
ADDITIONAL_VIPS = "neutron:additional_vips"
ADDITIONAL_VIP_PORT_IDS = "neutron:additional_vip_port_ids"
ADDITIONAL_VIP_FIPS = "neutron:additional_vip_fips"
LR_REF = "lr_ref"
LS_REFS = "ls_refs"
MEMBER_STATUS = "neutron:member_status"
HEALTH_MONITORS = "octavia:healthmonitors"
DEVICE_OWNER = "neutron:device_owner"
LISTENER_PREFIX = "listener_"
POOL_PREFIX = "pool_"
DISABLED_SUFFIX = ":D"

MANAGED_KEYS = frozenset(
    {
        ENABLED,
        VIP,
        VIP_PORT_ID,
        VIP_FIP,
        ADDITIONAL_VIPS,
        ADDITIONAL_VIP_PORT_IDS,
        ADDITIONAL_VIP_FIPS,
        LR_REF,
        LS_REFS,
        MEMBER_STATUS,
        HEALTH_MONITORS,
    }
)

# Keys of Load_Balancer_Health_Check.external_ids.
CHECK_MONITOR = "octavia:healthmonitor"
CHECK_POOL = "octavia:pool_id"
CHECK_VIP = "octavia:vip"

AFFINITY_TIMEOUT = "affinity_timeout"
MANAGED_OPTIONS = frozenset({AFFINITY_TIMEOUT})

# A fixed name space, so that every process computes the same row UUIDs (architecture.md section 5).
ROW_NAMESPACE = UUID("6f766e6c-6200-5000-8000-6c6f61646261")


def load_balancer_row_uuid(lb_id: str, protocol: str | None) -> UUID:
    """The UUID under which we insert the row of one LB and protocol (lower case, None for empty)."""
    return uuid5(ROW_NAMESPACE, f"{lb_id}/{protocol or ''}")


def health_check_row_uuid(monitor_id: str, vip: str) -> UUID:
    """The UUID under which we insert the check of one health monitor and `address:port`."""
    return uuid5(ROW_NAMESPACE, f"{monitor_id}/{vip}")


def is_managed_key(key: str) -> bool:
    """Whether an external_ids key of a row of ours is ours to write and to remove."""
    return key in MANAGED_KEYS or key.startswith((LISTENER_PREFIX, POOL_PREFIX))


@dataclass(frozen=True, slots=True)
class HealthCheckRow:
    """One Load_Balancer_Health_Check. `uuid` is None in desired rows."""

    vip: str
    options: Mapping[str, str]
    external_ids: Mapping[str, str]
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class LoadBalancerRow:
    """One Load_Balancer with its health checks and the names of what it is attached to.

    `protocol` is lower case or None, `uuid` is None in desired rows. `switches` and `routers` are
    names; `references` counts rows that refer to it, for the choice among duplicates.
    """

    name: str
    protocol: str | None
    external_ids: Mapping[str, str]
    vips: Mapping[str, str] = field(default_factory=dict)
    selection_fields: frozenset[str] = frozenset()
    options: Mapping[str, str] = field(default_factory=dict)
    ip_port_mappings: Mapping[str, str] = field(default_factory=dict)
    health_checks: tuple[HealthCheckRow, ...] = ()
    switches: frozenset[str] = frozenset()
    routers: frozenset[str] = frozenset()
    uuid: str | None = None


@dataclass(frozen=True, slots=True)
class NbState:
    """The rows of one load balancer: as they must be, or as they are.

    Desired states have at most one row a protocol; observed ones may hold duplicates, and rows that
    are named like the LB but must not be written (`suspect`: another provider's or owner's).
    """

    rows: tuple[LoadBalancerRow, ...] = ()
    suspect: tuple[LoadBalancerRow, ...] = ()
