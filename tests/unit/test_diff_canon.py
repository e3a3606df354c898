"""When two values say the same."""

from __future__ import annotations

import pytest

from ovnlb.diff import canon


@pytest.mark.parametrize(
    ("key", "want", "have"),
    [
        ("ls_refs", '{"a": 1, "b": 2}', '{"b":2,"a":1}'),
        ("ls_refs", "{}", None),
        ("ls_refs", None, ""),
        ("neutron:member_status", '{"m": "ONLINE"}', '{ "m":"ONLINE" }'),
        ("neutron:member_status", None, "{}"),
        ("octavia:healthmonitors", '["a", "b"]', '["b", "a"]'),
        ("octavia:healthmonitors", None, "[]"),
        ("lr_ref", "r1,r2", "r2,r1"),
        ("lr_ref", None, ""),
        ("neutron:vip_fip", None, ""),
        ("neutron:additional_vips", "fd00::1,10.0.0.1", "10.0.0.1,fd00::1"),
        ("neutron:additional_vip_port_ids", "p1,p2", "p2,p1"),
        ("neutron:additional_vip_fips", "1.1.1.1,1.1.1.2", "1.1.1.2,1.1.1.1"),
        ("pool_x", "m1,m2", "m2,m1"),
        ("pool_x:D", "", ""),
        ("enabled", "True", "True"),
        ("enabled", None, None),
    ],
)
def test_same(key: str, want: str | None, have: str | None) -> None:
    """Order and spelling of lists and JSON are nothing; an empty one is as good as none."""
    assert canon.same_external_id(key, want, have)
    assert canon.same_external_id(key, have, want)


@pytest.mark.parametrize(
    ("key", "want", "have"),
    [
        ("ls_refs", '{"a": 1}', '{"a": 2}'),
        ("ls_refs", '{"a": 1}', '{"a": true}'),
        ("ls_refs", '{"a": 1}', '{"a": "1"}'),
        ("ls_refs", '{"a": 1}', '["a"]'),
        ("ls_refs", '{"a": 1}', '{"a": 1'),
        ("ls_refs", "{}", "nonsense"),
        ("ls_refs", "{}", "[" * 100_000),
        ("neutron:member_status", '{"m": "ONLINE"}', None),
        ("octavia:healthmonitors", '["a"]', '["a", "b"]'),
        ("octavia:healthmonitors", '["a"]', '{"a": 1}'),
        ("lr_ref", "r1", "r1,r2"),
        ("pool_x", "m1", "m1,m1"),
        ("pool_x", "", None),
        ("pool_x", "m1", "m1,"),
        ("listener_x", "80:pool_a", "80:pool_a:D"),
        ("listener_x", "80:", None),
        ("enabled", "True", "true"),
        ("neutron:vip", "10.0.0.1", "10.0.0.2"),
    ],
)
def test_different(key: str, want: str | None, have: str | None) -> None:
    """What is not the same is different, garbage too, and nothing raises."""
    assert not canon.same_external_id(key, want, have)
    assert not canon.same_external_id(key, have, want)


@pytest.mark.parametrize(
    ("text", "endpoint", "spelled"),
    [
        ("10.0.0.1:80", ("10.0.0.1", 80), "10.0.0.1:80"),
        ("[fd00::1]:80", ("fd00::1", 80), "[fd00::1]:80"),
        ("fd00::1:80", ("fd00::1", 80), "[fd00::1]:80"),
        ("[FD00:0::1]:80", ("fd00::1", 80), "[fd00::1]:80"),
        ("10.0.0.1:0", None, None),
        ("10.0.0.1:65536", None, None),
        ("10.0.0.1", None, None),
        ("010.0.0.1:80", None, None),
        ("name:80", None, None),
        (":80", None, None),
        ("", None, None),
        ("10.0.0.1:" + "9" * 5000, None, None),
    ],
)
def test_endpoints(text: str, endpoint: tuple[str, int] | None, spelled: str | None) -> None:
    """Every spelling of `address:port` leads to one; the rest is none."""
    assert canon.endpoint(text) == endpoint
    assert canon.canonical_endpoint(text) == spelled


def test_protocols_compare_in_lower_case() -> None:
    """An empty protocol is none."""
    assert [canon.protocol(text) for text in ("TCP", "udp", "", None)] == ["tcp", "udp", None, None]
    assert canon.same_entries("a,b", "b,a")
    assert not canon.same_entries("a,a", "a")
