"""The recorded vectors of the original's smaller functions against ours; differences are listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ovnlb.desired import extids
from ovnlb.desired.affinity import affinity_options, selection_fields
from ovnlb.desired.attach import attachment
from ovnlb.desired.compute import desired_state
from ovnlb.desired.facts import Health, Router, RouterInterface, Subnet, Switch, Topology
from ovnlb.desired.graph import from_dicts
from ovnlb.desired.health import health_rows
from ovnlb.desired.intent import RowIntent, ServedPool
from ovnlb.desired.model import HealthMonitor, Listener, LoadBalancer, Pool, SessionPersistence
from ovnlb.desired.rows import LS_REFS
from ovnlb.observed.neutron_rows import gateway_interface, port_addresses
from ovnlb.observed.sb import monitor_key

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[1] / "data" / "vectors_helpers.json").read_text()
)["vectors"]
POOL = "b0010000-0000-4000-8000-000000000001"
LB = "1b000000-0000-4000-8000-000000000001"
NETWORK = "4e700000-0000-4000-8000-000000000001"
SUBNET = "5b4e7000-0000-4000-8000-000000000001"
MEMBER = "3e3be000-0000-4000-8000-000000000001"

# (group, vector) -> our value where it differs, with the number of the difference on purpose or the
# reason why reading is more tolerant.
DIFFERENT: dict[tuple[str, str], tuple[str, Any]] = {
    ("_extract_member_info", "no subnet part (legacy)"): ("legacy form", [("10.0.0.21", "80", "", MEMBER)]),
    ("_extract_member_info", "no port"): ("left out", []),
    ("_extract_member_info", "bracketed v6"): ("brackets dropped", [("fd00::1", "80", SUBNET, MEMBER)]),
    ("_extract_member_info", "trailing comma"): ("left out", [("10.0.0.21", "80", SUBNET, MEMBER)]),
    ("_get_selection_keys", "ROUND_ROBIN"): ("5", ["ip_dst", "ip_src", "tp_dst", "tp_src"]),
    ("_extract_persistence_timeout", "{'type': 'SOURCE_IP', 'persistence_timeout': None}"): ("5", "360"),
}


def cases(group: str) -> pytest.MarkDecorator:
    """The vectors of a group."""
    return pytest.mark.parametrize("vector", VECTORS[group], ids=[item["name"] for item in VECTORS[group]])


def right(group: str, vector: dict[str, Any], shape: Callable[[Any], Any] = lambda value: value) -> Any:
    """The value that is right: ours where the difference is listed, else the recorded one."""
    listed = DIFFERENT.get((group, vector["name"]))
    return listed[1] if listed else shape(vector["expected"])


def pool(**changes: Any) -> Pool:
    """A pool without members."""
    values: dict[str, Any] = {
        "id": POOL,
        "protocol": "TCP",
        "algorithm": "SOURCE_IP_PORT",
        "enabled": True,
        "provisioning_status": "ACTIVE",
        "operating_status": "ONLINE",
        "created_at": None,
        "persistence": None,
        "members": (),
        "health_monitor": None,
    }
    return Pool(**{**values, **changes})


def load_balancer(**vip: Any) -> LoadBalancer:
    """A load balancer with nothing but VIPs."""
    tables = {
        "load_balancer": [{"id": LB, "enabled": vip.get("admin_state_up", True)}],
        "vip": [
            {
                "load_balancer_id": LB,
                "ip_address": vip.get("vip_address", "10.0.0.10"),
                "port_id": vip.get("vip_port_id", "b0470000-0000-4000-8000-000000000001"),
                "subnet_id": SUBNET,
                "network_id": NETWORK,
            }
        ],
        "additional_vip": [
            {**item, "load_balancer_id": LB, "subnet_id": f"s{number}", "network_id": NETWORK}
            for number, item in enumerate(vip.get("additional_vips", ()))
        ],
    }
    return from_dicts(tables).load_balancers[0]


@cases("_get_member_info(dict)")
def test_member_entry(vector: dict[str, Any]) -> None:
    given = vector["input"]
    made = extids.member_entry(given["id"], given["address"], given["protocol_port"], given["subnet_id"])
    assert made == right("_get_member_info(dict)", vector)


@cases("_extract_member_info")
def test_parse_members(vector: dict[str, Any]) -> None:
    found = [
        (entry.address, str(entry.port), entry.subnet_id or "", entry.id)
        for entry in extids.parse_members(vector["input"])
    ]
    assert found == right("_extract_member_info", vector, lambda rows: [tuple(row) for row in rows])


@cases("_make_listener_key_value")
def test_listener_value(vector: dict[str, Any]) -> None:
    port, key = vector["input"]
    made = extids.listener_value(port, extids.object_id(key) if key else None)
    assert made == right("_make_listener_key_value", vector)


@cases("_extract_listener_key_value")
def test_parse_listener_value(vector: dict[str, Any]) -> None:
    found = extids.parse_listener_value(vector["input"]) or (None, None)
    assert list(found) == right("_extract_listener_key_value", vector)


@cases("_is_listener_disabled")
def test_is_disabled(vector: dict[str, Any]) -> None:
    assert extids.is_disabled(vector["input"]) is right("_is_listener_disabled", vector)


@cases("_get_selection_keys")
def test_selection_fields(vector: dict[str, Any]) -> None:
    algorithm = vector["input"]
    pools = [ServedPool(pool(algorithm=algorithm), None, (), ())] if algorithm else []
    assert sorted(selection_fields(pools, False)) == sorted(right("_get_selection_keys", vector))


@cases("_extract_persistence_timeout")
def test_affinity_timeout(vector: dict[str, Any]) -> None:
    given = vector["input"]["session_persistence"]
    persistence = SessionPersistence(given["type"], given.get("persistence_timeout")) if given else None
    served = ServedPool(pool(persistence=persistence), None, (), ())
    expected = right("_extract_persistence_timeout", vector)
    found = affinity_options([served]).get("affinity_timeout")
    assert found == (None if expected is None else str(expected))


@cases("_build_external_ids")
def test_external_ids_of_an_lb(vector: dict[str, Any]) -> None:
    given, expected = dict(vector["input"]), right("_build_external_ids", vector)
    lb = load_balancer(**given)
    fips = {lb.vip.port_id or "": given["neutron:vip_fip"]} if "neutron:vip_fip" in given else {}
    if "neutron:additional_vip_fips" in given:
        lb = load_balancer(
            **given, additional_vips=[{"ip_address": "10.0.9.10", "port_id": "additional-port"}]
        )
        fips["additional-port"] = given["neutron:additional_vip_fips"]
        expected = {
            **expected,
            "neutron:additional_vips": "10.0.9.10",
            "neutron:additional_vip_port_ids": "additional-port",
        }
    topo = Topology(fips=fips, **serving_router(given["lr_ref"]) if "lr_ref" in given else {})
    made = dict(desired_state(lb, topo, Health()).state.rows[0].external_ids)
    made.pop(LS_REFS, None)
    assert made == expected


def serving_router(name: str) -> dict[str, Any]:
    """A topology in which a router of that name serves the VIP's subnet."""
    interface = RouterInterface(
        "lrp", f"neutron-{NETWORK}", frozenset({SUBNET}), ("10.0.0.1/24",), gateway=False
    )
    return {
        "routers": (Router(name, (interface,)),),
        "subnets": {SUBNET: Subnet(SUBNET, NETWORK, "10.0.0.0/24")},
    }


@cases("_find_ls_for_lr")
def test_switches_behind_a_router(vector: dict[str, Any]) -> None:
    ports, family = vector["input"]
    serving = RouterInterface("serving", None, frozenset({SUBNET}), (), gateway=False)
    interfaces = [
        RouterInterface(
            f"lrp-{number}",
            port["network_name"],
            frozenset({f"other-{number}"}),
            tuple(port["networks"]),
            gateway_interface({}, bool(port["gateway_chassis"]), bool(port["ha_chassis_group"])),
        )
        for number, port in enumerate(ports)
    ]
    switches = {port["network_name"]: Switch(port["network_name"], False) for port in ports}
    topo = Topology(
        subnets={SUBNET: Subnet(SUBNET, NETWORK, "10.0.0.0/24")},
        switches={name: switch for name, switch in switches.items() if name},
        routers=(Router("router", (serving, *interfaces)),),
    )
    lb = load_balancer(vip_address="10.0.0.10" if family == 4 else "fd00::10")
    found = attachment(lb, RowIntent(None), topo).switches - {f"neutron-{NETWORK}"}
    expected = set(right("_find_ls_for_lr", vector)) - {f"neutron-{NETWORK}"}
    assert (found, family == 4) == (expected, f"neutron-{NETWORK}" in right("_find_ls_for_lr", vector))


@cases("_add_lbhc")
def test_health_checks(vector: dict[str, Any]) -> None:
    """One check per address and enabled listener (difference 4), each with its own octavia:vip."""
    external_ids, _pool_key, monitor = vector["input"]
    made = health_rows(intent(external_ids, monitor), True, addresses(external_ids), Topology())
    ports = [
        (extids.parse_listener_value(value) or ("", ""))[0]
        for key, value in external_ids.items()
        if key.startswith("listener_") and not key.endswith(":D")
    ]
    enabled = monitor["admin_state_up"]
    wanted = sorted((address, port) for address in addresses(external_ids) for port in ports if enabled)
    found = sorted((check.external_ids["octavia:vip"], check.vip.rpartition(":")[2]) for check in made.checks)
    assert found == wanted
    recorded = [item["kwargs"]["options"] for item in vector["nb_commands"] if item["cmd"] == "db_create"]
    assert all(check.options == recorded[0] for check in made.checks)


def addresses(external_ids: dict[str, str]) -> list[str]:
    """The VIPs and IPv4 floating IPs of these external_ids."""
    keys = ("neutron:vip", "neutron:additional_vips", "neutron:vip_fip", "neutron:additional_vip_fips")
    return [address for key in keys for address in extids.split_list(external_ids.get(key))]


def intent(external_ids: dict[str, str], monitor: dict[str, Any]) -> RowIntent:
    """The intent that the recorded external_ids spell."""
    listeners = tuple(
        Listener(
            extids.object_id(key),
            "TCP",
            int((extids.parse_listener_value(value) or ("0", ""))[0]),
            POOL,
            not key.endswith(":D"),
            "ACTIVE",
            "ONLINE",
            None,
        )
        for key, value in external_ids.items()
        if key.startswith("listener_")
    )
    made = HealthMonitor(
        monitor["id"],
        POOL,
        "TCP",
        monitor["interval"],
        monitor["timeout"],
        monitor["success_count"],
        monitor["failure_count"],
        monitor["admin_state_up"],
        "ACTIVE",
        "ONLINE",
    )
    return RowIntent("tcp", listeners, (ServedPool(pool(health_monitor=made), made, (), ()),))


@cases("_get_lbs_on_hm_event")
def test_monitor_key(vector: dict[str, Any]) -> None:
    """A Service_Monitor is identified by exact values, never by a search in mappings."""
    row = vector["input"]
    key = monitor_key(row)
    assert key is not None
    assert (key.logical_port, key.ip, key.port, key.protocol) == (
        row["logical_port"],
        row["ip"],
        row["port"],
        row["protocol"][0],
    )


@cases("utils.remove_macs_from_lsp_addresses")
def test_port_addresses(vector: dict[str, Any]) -> None:
    found = port_addresses(vector["input"], {})[1]
    assert list(found) == right("utils.remove_macs_from_lsp_addresses", vector)


@cases("ip_port_mappings entry")
def test_mapping(vector: dict[str, Any]) -> None:
    """The key and the source of a mapping, both in brackets for IPv6."""
    address, lsp, source = vector["input"]
    family = "10.0.0.0/24" if ":" not in address else "fd00::/64"
    tables = {
        "load_balancer": [{"id": LB}],
        "vip": [
            {
                "load_balancer_id": LB,
                "ip_address": source[:-1] + "9",
                "subnet_id": SUBNET,
                "network_id": NETWORK,
            }
        ],
        "listener": [
            {
                "id": "l",
                "load_balancer_id": LB,
                "protocol": "TCP",
                "protocol_port": 80,
                "default_pool_id": POOL,
            }
        ],
        "pool": [{"id": POOL, "load_balancer_id": LB, "protocol": "TCP"}],
        "member": [
            {"id": MEMBER, "pool_id": POOL, "ip_address": address, "protocol_port": 80, "subnet_id": SUBNET}
        ],
        "health_monitor": [{"id": "hm", "pool_id": POOL, "type": "TCP"}],
    }
    topo = Topology(
        subnets={SUBNET: Subnet(SUBNET, NETWORK, family)},
        member_ports={(SUBNET, address): (lsp,)},
        hm_ports={SUBNET: source},
    )
    row = desired_state(from_dicts(tables).load_balancers[0], topo, Health()).state.rows[0]
    assert row.ip_port_mappings == right("ip_port_mappings entry", vector)


def test_every_difference_is_needed() -> None:
    """The list of differences names existing vectors, and no group is left out."""
    names = {(group, item["name"]) for group, items in VECTORS.items() for item in items}
    assert set(DIFFERENT) <= names
    tested = {
        "_get_member_info(dict)", "_extract_member_info", "_make_listener_key_value",
        "_extract_listener_key_value", "_is_listener_disabled", "_get_selection_keys",
        "_extract_persistence_timeout", "_build_external_ids", "_find_ls_for_lr", "_add_lbhc",
        "ip_port_mappings entry", "_get_lbs_on_hm_event", "utils.remove_macs_from_lsp_addresses",
    }  # fmt: skip
    assert set(VECTORS) == tested
