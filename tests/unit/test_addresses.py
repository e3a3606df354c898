"""One spelling for each address, compared with the standard library's."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovnlb.desired.addresses import (
    bracketed,
    canonical,
    in_network,
    is_v6,
    join_host_port,
    split_host_port,
)

ADDRESSES = st.ip_addresses()
PORTS = st.integers(1, 65535)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("10.0.0.1", "10.0.0.1"),
        (" 10.0.0.1 ", "10.0.0.1"),
        ("010.0.0.1", None),
        ("10.0.0", None),
        ("10.0.0.300", None),
        ("FD00:0::1", "fd00::1"),
        ("[fd00::1]", "fd00::1"),
        ("fd00:0:0:0:0:0:0:1", "fd00::1"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
        ("fe80::1%eth0", None),
        ("fd00::/64", None),
        ("[]", None),
        ("", None),
        ("host", None),
        ("10.0.0.1\0", None),
        ("é::1", None),
    ],
)
def test_canonical(text, spelled):
    assert canonical(text) == spelled


@given(ADDRESSES)
def test_every_spelling_of_an_address_is_one(address):
    for text in (str(address), address.exploded, address.exploded.upper(), f"[{address}]"):
        found = canonical(text)
        assert found is not None
        assert ipaddress.ip_address(found) == address
        assert found == canonical(str(address))


@given(st.text())
def test_canonical_takes_any_text(text):
    found = canonical(text)
    assert found is None or canonical(found) == found


@given(ADDRESSES, PORTS)
def test_host_and_port_round_trip(address, port):
    spelled = canonical(str(address))
    assert split_host_port(join_host_port(str(address), port)) == (spelled, port)
    assert split_host_port(f"{spelled}:{port}") == (spelled, port)
    assert bracketed(str(address)).startswith("[") is is_v6(str(address)) is (address.version == 6)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("10.0.0.1:80", ("10.0.0.1", 80), id="v4"),
        pytest.param("[fd00::5]:80", ("fd00::5", 80), id="v6"),
        pytest.param("fd00::5:80", ("fd00::5", 80), id="B043"),
        pytest.param("10.0.0.1", None, id="no-port"),
        pytest.param("10.0.0.1:", None, id="empty-port"),
        pytest.param("10.0.0.1:80000", None, id="port-too-high"),
        pytest.param("10.0.0.1:-1", None, id="negative-port"),
        pytest.param("10.0.0.1:²", None, id="superscript-port"),
        pytest.param("host:80", None, id="host-name"),
        pytest.param(":80", None, id="no-host"),
        pytest.param("", None, id="empty"),
    ],
)
def test_split_host_port(text, found):
    assert split_host_port(text) == found


def test_unreadable_address_is_left_as_it_is():
    assert bracketed("host") == "host"


@given(ADDRESSES, ADDRESSES, st.integers(0, 128))
def test_in_network_is_what_the_standard_library_says(address, other, length):
    network = ipaddress.ip_network((other, min(length, other.max_prefixlen)), strict=False)
    assert in_network(str(address), str(network)) is (address in network)
    assert in_network(str(network.network_address), str(network))


@pytest.mark.parametrize(("address", "cidr"), [("host", "10.0.0.0/24"), ("10.0.0.1", "x"), ("10.0.0.1", "")])
def test_unreadable_is_in_no_network(address, cidr):
    assert not in_network(address, cidr)
