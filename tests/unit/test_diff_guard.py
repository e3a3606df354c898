"""What must not be written, and what two load balancers must not share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from diff_rows import RIGHT, VIP, check, compared
from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff.conflicts import conflicts
from ovnlb.diff.guard import guarded, refusals, warnings


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"vips": {"fd00::1:80": "[fd00::2]:80"}}, "the vip fd00::1:80 is not"),
        ({"vips": {"[FD00::1]:80": "[fd00::2]:80"}}, "the vip [FD00::1]:80 is not"),
        ({"vips": {"10.0.0.1": "10.0.0.2:80"}}, "the vip 10.0.0.1 is not"),
        ({"vips": {"10.0.0.1:0": "10.0.0.2:80"}}, "the vip 10.0.0.1:0 is not"),
        ({"vips": {"10.0.0.300:80": "10.0.0.2:80"}}, "the vip 10.0.0.300:80 is not"),
        ({"vips": {"10.0.0.1:80": "10.0.0.2"}}, "the backend 10.0.0.2 of 10.0.0.1:80 is not"),
        ({"vips": {"10.0.0.1:80": "10.0.0.2:80,"}}, "the backend  of 10.0.0.1:80 is not"),
        ({"vips": {"10.0.0.1:80": "[fd00::2]:80"}}, "[fd00::2]:80 of 10.0.0.1:80 has another address family"),
        ({"vips": {"[fd00::1]:80": "10.0.0.2:80"}}, "10.0.0.2:80 of [fd00::1]:80 has another address family"),
        ({"ip_port_mappings": {"fd00::5": "p:[fd00::2]"}}, "the ip_port_mappings key fd00::5 is not"),
        ({"ip_port_mappings": {"[fd00:0::5]": "p:[fd00::2]"}}, "the ip_port_mappings key [fd00:0::5] is not"),
        ({"ip_port_mappings": {"10.0.0.5": "p"}}, "the ip_port_mappings value p of 10.0.0.5 is not"),
        ({"ip_port_mappings": {"10.0.0.5": "p:x"}}, "the ip_port_mappings value p:x of 10.0.0.5 is not"),
        ({"ip_port_mappings": {"10.0.0.5": ":10.0.0.2"}}, "the ip_port_mappings value :10.0.0.2"),
        ({"health_checks": (check(), check())}, f"more than one health check has the vip {VIP}"),
        ({"protocol": "http"}, "OVN does not balance http"),
        ({"health_checks": (check("10.0.0.10"),)}, "the health check vip 10.0.0.10 is not"),
    ],
)
def test_refused(columns: Mapping[str, Any], words: str) -> None:
    """What northd drops or misreads in silence; the row is named."""
    texts = list(refusals(NbState((replace(RIGHT, **columns),))))
    assert len(texts) == 1
    assert words in texts[0]
    assert texts[0].startswith(f"Load_Balancer {RIGHT.name} {columns.get('protocol', 'tcp')}: ")


def test_right_rows_pass() -> None:
    """An empty value is legal, and so is the place of an address that is made first."""
    mappings = {"10.0.0.21": "p:(address of the new HM port on sub)", "[fd00::5]": "p:[fd00::2]"}
    row = replace(RIGHT, vips={**RIGHT.vips, "[fd00::1]:80": ""}, ip_port_mappings=mappings)
    assert list(refusals(NbState((RIGHT, row)))) == []
    assert list(warnings(NbState((RIGHT,)))) == []


def test_a_backend_without_mapping_is_told() -> None:
    """It gets no traffic under a vip that has a health check; sctp has none."""
    row = replace(RIGHT, ip_port_mappings={"10.0.0.21": "port1:10.0.0.2"})
    (warning,) = warnings(NbState((row,)))
    assert warning.code == "backend_unmonitored"
    assert "10.0.0.22:8080" in warning.text
    assert list(warnings(NbState((replace(row, protocol="sctp"), replace(row, health_checks=()))))) == []


def test_guarded_plan_is_refused_only_when_it_writes() -> None:
    """A database that already holds the bad row is no reason to refuse nothing."""
    bad = replace(RIGHT, vips={"nonsense": ""})
    assert guarded(compared(bad, bad)).refused == ()
    made = guarded(compared(bad, RIGHT))
    assert len(made.refused) == 1
    assert made.changes
    assert guarded(compared(RIGHT, RIGHT)) == compared(RIGHT, RIGHT)


def claim(*vips: str, protocol: str | None = "tcp", switches: str = "", routers: str = "") -> LoadBalancerRow:
    """A row with these vips on these switches and routers."""
    return replace(
        RIGHT,
        protocol=protocol,
        vips=dict.fromkeys(vips, ""),
        switches=frozenset(switches.split()),
        routers=frozenset(routers.split()),
    )


def test_two_load_balancers_on_one_address() -> None:
    """Where they meet is named; an empty protocol is tcp, and spelling is nothing."""
    found = conflicts(
        [
            ("b", claim("[fd00::1]:80", switches="s1 s2", routers="r1")),
            ("a", claim("[FD00:0::1]:80", protocol=None, switches="s2", routers="r1")),
            ("c", claim("[fd00::1]:80", switches="s9")),
        ]
    )
    (conflict,) = found
    assert (conflict.endpoint, conflict.protocol) == ("[fd00::1]:80", "tcp")
    assert conflict.lb_ids == ("a", "b")
    assert conflict.places == ("router r1", "switch s2")
    assert conflict.text == (
        "a, b all claim [fd00::1]:80 tcp on router r1, switch s2: which of them OVN serves is undefined"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (claim("10.0.0.1:80", switches="s1"), claim("10.0.0.1:80", switches="s2")),
        (claim("10.0.0.1:80", switches="s1"), claim("10.0.0.1:81", switches="s1")),
        (claim("10.0.0.1:80", switches="s1"), claim("10.0.0.1:80", protocol="udp", switches="s1")),
        (claim("10.0.0.1:80", switches="n"), claim("10.0.0.1:80", routers="n")),
    ],
)
def test_no_conflict(one: LoadBalancerRow, other: LoadBalancerRow) -> None:
    """Another place, port or protocol; a switch and a router of one name are two places."""
    assert conflicts([("a", one), ("b", other)]) == ()
    assert conflicts([("a", one), ("a", one)]) == ()
