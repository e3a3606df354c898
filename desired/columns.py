"""The columns of Octavia's database that are read, and nothing else of it.

Source: octavia/db/models.py and the alembic revisions up to fabf4983846b (19.0.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# One database row: values in the order of its table's COLUMNS.
Row = Sequence[Any]

# Table -> the columns that are read, in the order in which `assemble` wants them.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "load_balancer": (
        "id",
        "project_id",
        "name",
        "provider",
        "enabled",
        "provisioning_status",
        "operating_status",
        "created_at",
        "updated_at",
    ),
    "vip": ("load_balancer_id", "ip_address", "port_id", "subnet_id", "network_id"),
    "additional_vip": ("load_balancer_id", "ip_address", "port_id", "subnet_id", "network_id"),
    "listener": (
        "id",
        "load_balancer_id",
        "protocol",
        "protocol_port",
        "default_pool_id",
        "enabled",
        "provisioning_status",
        "operating_status",
        "created_at",
        "name",
    ),
    "pool": (
        "id",
        "load_balancer_id",
        "protocol",
        "lb_algorithm",
        "enabled",
        "provisioning_status",
        "operating_status",
        "created_at",
        "name",
    ),
    "session_persistence": ("pool_id", "type", "persistence_timeout"),
    "member": (
        "id",
        "pool_id",
        "ip_address",
        "protocol_port",
        "subnet_id",
        "weight",
        "backup",
        "enabled",
        "provisioning_status",
        "operating_status",
        "name",
        "created_at",
    ),
    "health_monitor": (
        "id",
        "pool_id",
        "type",
        "delay",
        "timeout",
        "rise_threshold",
        "fall_threshold",
        "enabled",
        "provisioning_status",
        "operating_status",
    ),
    "l7policy": ("id", "listener_id", "provisioning_status"),
    "l7rule": ("id", "l7policy_id", "provisioning_status"),
}

INTEGERS = frozenset(
    {"protocol_port", "weight", "persistence_timeout", "delay", "timeout", "rise_threshold", "fall_threshold"}
)
BOOLEANS = frozenset({"enabled", "backup"})
TIMES = frozenset({"created_at", "updated_at"})
