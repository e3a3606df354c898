"""The Northbound tables and columns that a replica holds, and those of them kept as plain values."""

from __future__ import annotations

from ovnlb.observed import neutron_rows
from ovnlb.observed.columns import Columns
from ovnlb.observed.plain_rows import Plain

DATABASE = "OVN_Northbound"
TABLES = {
    "Load_Balancer": Columns(
        (
            "name",
            "protocol",
            "vips",
            "external_ids",
            "options",
            "selection_fields",
            "ip_port_mappings",
            "health_check",
        )
    ),
    "Load_Balancer_Health_Check": Columns(("vip", "options", "external_ids")),
    "Logical_Switch": Columns(("name", "external_ids", "load_balancer", "ports")),
    "Logical_Switch_Port": Columns(("name", "type", "addresses", "external_ids", "options", "enabled")),
    "Logical_Router": Columns(("name", "external_ids", "load_balancer", "ports", "nat")),
    "Logical_Router_Port": Columns(
        ("name", "networks", "external_ids"), ("gateway_chassis", "ha_chassis_group")
    ),
    "NAT": Columns(("type", "external_ip", "logical_ip", "external_mac", "logical_port", "external_ids")),
    "NB_Global": Columns(("options", "nb_cfg", "sb_cfg")),
}
# What we never write: the ports, and who has them.
PLAIN = {
    "Logical_Switch_Port": Plain(
        frozenset(TABLES["Logical_Switch_Port"].required),
        whole=True,
        keys={"external_ids": neutron_rows.PORT_KEYS, "options": neutron_rows.PORT_OPTIONS},
        unique=frozenset({neutron_rows.CIDRS, neutron_rows.DEVICE_ID, neutron_rows.PORT_NAME}),
    ),
    "Logical_Switch": Plain(frozenset({"ports"})),
}
