"""Rows to graph: order, defaults, dangling ids, bad bundles."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovnlb.desired.graph import COLUMNS, Graph, MalformedRow, assemble, from_dicts
from ovnlb.desired.jsonrows import to_dicts, to_tuples
from ovnlb.desired.model import LoadBalancer, Member

SCENARIOS = sorted((Path(__file__).parent.parent / "scenarios").rglob("*.json"))


def full() -> dict[str, list[dict[str, Any]]]:
    """Two load balancers whose rows, in this order, are in neither id nor time order."""
    return {
        "load_balancer": [
            {"id": "lb2", "created_at": "2026-01-02T00:00:00"},
            {"id": "lb1", "created_at": None},
        ],
        "vip": [
            {"load_balancer_id": "lb1", "ip_address": "10.0.0.1"},
            {"load_balancer_id": "lb2", "ip_address": "10.0.0.2", "subnet_id": "s"},
        ],
        "additional_vip": [
            {"load_balancer_id": "lb1", "subnet_id": "s3", "ip_address": "10.3.0.1"},
            {"load_balancer_id": "lb1", "subnet_id": "s2", "ip_address": "fd00::2"},
        ],
        "listener": [
            {"id": "li2", "load_balancer_id": "lb1", "protocol_port": 2, "created_at": "2026-01-01T00:00:09"},
            {"id": "li3", "load_balancer_id": "lb1", "protocol_port": 3, "created_at": "2026-01-01T00:00:08"},
            {"id": "li1", "load_balancer_id": "lb1", "protocol_port": 1, "default_pool_id": "p2"},
        ],
        "pool": [
            {"id": "p2", "load_balancer_id": "lb1", "created_at": "2026-01-01T00:00:01"},
            {"id": "p1", "load_balancer_id": "lb1", "created_at": "2026-01-01T00:00:01", "protocol": "UDP"},
        ],
        "session_persistence": [{"pool_id": "p1", "type": "SOURCE_IP"}],
        "member": [
            {"id": "m2", "pool_id": "p2", "ip_address": "10.0.0.22", "protocol_port": 80, "weight": 0},
            {"id": "m1", "pool_id": "p2", "ip_address": "10.0.0.21", "protocol_port": 80},
        ],
        "health_monitor": [{"id": "hm", "pool_id": "p2", "type": "UDP-CONNECT"}],
        "l7policy": [{"id": "po2", "listener_id": "li1"}, {"id": "po1", "listener_id": "li1"}],
        "l7rule": [{"id": "ru1", "l7policy_id": "po2", "provisioning_status": "PENDING_DELETE"}],
    }


def only(graph: Graph) -> LoadBalancer:
    [lb] = graph.load_balancers
    return lb


def test_children_are_in_time_and_id_order() -> None:
    graph = from_dicts(full())
    assert [lb.id for lb in graph.load_balancers] == ["lb1", "lb2"]
    lb = graph.load_balancers[0]
    assert [listener.id for listener in lb.listeners] == ["li1", "li3", "li2"]
    assert [pool.id for pool in lb.pools] == ["p1", "p2"]
    assert [member.id for member in lb.pools[1].members] == ["m1", "m2"]
    assert [vip.subnet_id for vip in lb.additional_vips] == ["s2", "s3"]
    assert [(o.kind, o.id) for o in lb.listeners[0].l7] == [
        ("l7policies", "po1"),
        ("l7policies", "po2"),
        ("l7rules", "ru1"),
    ]


@given(st.data())
def test_order_of_rows_never_reaches_the_graph(data: st.DataObject) -> None:
    rows = full()
    shuffled = {table: data.draw(st.permutations(rows[table])) for table in rows}
    assert from_dicts(shuffled) == from_dicts(rows)


def test_defaults_of_absent_columns() -> None:
    lb = from_dicts(full()).load_balancers[0]
    assert (lb.enabled, lb.provisioning_status, lb.operating_status) == (True, "ACTIVE", "ONLINE")
    assert (lb.project_id, lb.name, lb.provider, lb.created_at, lb.updated_at) == (None,) * 5
    pool = lb.pools[1]
    assert (pool.algorithm, pool.protocol, pool.persistence) == ("SOURCE_IP_PORT", "TCP", None)
    assert [(m.weight, m.backup, m.enabled, m.subnet_id) for m in pool.members] == [
        (None, False, True, None),
        (0, False, True, None),
    ]
    assert pool.health_monitor is not None
    assert (pool.health_monitor.type, pool.health_monitor.delay) == ("UDP-CONNECT", 5)
    assert lb.pools[0].persistence is not None
    assert lb.pools[0].persistence.timeout is None


def test_nothing_is_an_empty_graph() -> None:
    assert from_dicts({}) == Graph((), ()) == assemble({})


def test_dangling_ids_do_not_raise() -> None:
    rows = full()
    rows["listener"][2]["default_pool_id"] = "gone"
    rows["member"].append({"id": "m9", "pool_id": "gone", "ip_address": "10.9.9.9", "protocol_port": 1})
    rows["pool"].append({"id": "p9", "load_balancer_id": "gone"})
    rows["pool"].append({"id": "p8", "load_balancer_id": None})
    rows["listener"].append({"id": "li9", "load_balancer_id": "gone", "protocol_port": 9})
    rows["health_monitor"].append({"id": "hm9", "pool_id": "gone"})
    rows["session_persistence"].append({"pool_id": "gone", "type": "SOURCE_IP"})
    rows["vip"].append({"load_balancer_id": "gone", "ip_address": "10.0.0.9"})
    rows["additional_vip"].append({"load_balancer_id": "gone", "subnet_id": "s9"})
    rows["l7policy"].append({"id": "po9", "listener_id": "gone"})
    rows["l7rule"].append({"id": "ru9", "l7policy_id": "gone"})
    expected = from_dicts(full())
    lb = expected.load_balancers[0]
    listeners = (replace(lb.listeners[0], default_pool_id="gone"), *lb.listeners[1:])
    assert from_dicts(rows) == Graph((replace(lb, listeners=listeners), expected.load_balancers[1]))


@pytest.mark.parametrize("address", [None, ""])
def test_load_balancer_without_address_is_broken_and_the_others_are_not(address: str | None) -> None:
    rows = full()
    rows["vip"][0]["ip_address"] = address
    graph = from_dicts(rows)
    assert only(graph).id == "lb2"
    assert [(b.id, b.reason) for b in graph.broken] == [
        ("lb1", "load balancer lb1 has no ip_address in its row of table vip")
    ]
    assert graph.find("lb1") == graph.broken[0]
    assert graph.find("lb2") == graph.load_balancers[0]
    assert graph.find("lb3") is None


@pytest.mark.parametrize("address", ["vip.example", "10.0.0.300", "10.0.0.10/24"])
def test_load_balancer_whose_vip_is_no_address_is_broken(address: str) -> None:
    """Else it would get rows that serve nothing, and be reported ONLINE."""
    rows = full()
    rows["vip"][0]["ip_address"] = address
    [broken] = from_dicts(rows).broken
    assert broken.id == "lb1"
    assert address in broken.reason


@pytest.mark.parametrize("status", ["PENDING_DELETE", "DELETED"])
def test_load_balancer_that_goes_needs_no_vip(status: str) -> None:
    """Else a half-made load balancer could never be deleted."""
    lb = only(from_dicts({"load_balancer": [{"id": "a", "provisioning_status": status}]}))
    assert (lb.vip.address, lb.vip.port_id, lb.additional_vips) == (None, None, ())


def test_integers_stand_for_booleans_and_empty_text_for_none() -> None:
    lb_row = ("a", None, None, "ovn", 0, "ACTIVE", "ONLINE", None, None)
    member = ("m", "p", None, 80, None, 1, 1, 0, "ACTIVE", "ONLINE", None, None)
    pool = ("p", "a", "TCP", "SOURCE_IP", 1, "ACTIVE", "ONLINE", None, None)
    lb = only(
        assemble(
            {
                "load_balancer": [lb_row],
                "vip": [("a", "10.0.0.1", None, None, None)],
                "pool": [pool],
                "member": [member],
            }
        )
    )
    assert lb.enabled is False
    [found] = lb.pools[0].members
    assert found == Member("m", "p", "", 80, None, 1, True, False, "ACTIVE", "ONLINE", None)
    assert (found.backup, found.enabled) == (True, False)
    assert type(found) is Member
    assert hash(found) == hash(replace(found))
    with pytest.raises(AttributeError):
        found.port = 81  # type: ignore[misc]


def test_times_are_naive_utc() -> None:
    rows = {
        "load_balancer": [
            {"id": "a", "created_at": "2026-01-01T02:00:00+02:00", "updated_at": "2026-01-01 03:00:00"}
        ],
        "vip": [{"load_balancer_id": "a", "ip_address": "10.0.0.1"}],
    }
    lb = only(from_dicts(rows))
    assert lb.created_at == datetime(2026, 1, 1, 0, 0)
    assert lb.updated_at == datetime(2026, 1, 1, 3, 0)


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ({"listener": "x"}, "octavia table listener is no list of rows"),
        ({"listener": {"id": "x"}}, "octavia table listener is no list of rows"),
        ({"listener": ["x"]}, "row 0 of octavia table listener is no object"),
        ({"listener": [{"protocol_port": 1}]}, "row 0 of octavia table listener has no id"),
        ({"listener": [{"id": "li"}]}, "row 0 of octavia table listener (li) has no protocol_port"),
        ({"listener": [{"id": "li", "protocol_port": "x"}]}, "protocol_port cannot be 'x'"),
        ({"vip": [{"load_balancer_id": "a", "ip_address": 7}]}, "ip_address cannot be 7"),
        ({"load_balancer": [{"id": "a", "created_at": "today"}]}, "created_at cannot be 'today'"),
        ({"load_balancer": [{"id": "a"}, {"id": 3}]}, "row 1 of octavia table load_balancer has no id"),
        ({"load_balancer": [{"id": "a"}, {"id": "a"}]}, "table load_balancer has several rows with id a"),
        ({"vip": [{"load_balancer_id": "a"}] * 2}, "table vip has several rows with load_balancer_id a"),
        ({"listener": [{"id": "li", "protocol_port": float("inf")}]}, "protocol_port cannot be inf"),
        ({"load_balancer": [{"id": "a", "created_at": "0001-01-01T00:00+01:00"}]}, "created_at cannot be"),
    ],
)
def test_rows_that_are_none_are_named(rows: Any, text: str) -> None:
    with pytest.raises(MalformedRow) as raised:
        from_dicts(rows)
    assert text in str(raised.value)


def test_bundle_form_and_rows_are_inverse() -> None:
    rows = {table: to_tuples(table, full()[table]) for table in COLUMNS}
    bundle = json.loads(json.dumps({table: to_dicts(table, rows[table]) for table in COLUMNS}))
    assert from_dicts(bundle) == assemble(rows) == from_dicts(full())
    assert [row["id"] for row in bundle["listener"]] == ["li1", "li2", "li3"]
