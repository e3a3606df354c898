"""The nudge: what is on the wire, what is not taken for one, and that sending never hurts."""

from __future__ import annotations

import json
import os
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driver_world import nudge_socket
from ovnlb.reconciler import nudge

LB = "1b000000-0000-4000-8000-000000000001"


def test_on_the_wire():
    assert json.loads(nudge.encode(LB)) == {"lb": LB}
    assert nudge.encode(None) == nudge.encode("") == b"{}"


@given(st.one_of(st.none(), st.text(max_size=200)))
def test_round_trip_within_the_size_limit(lb_id):
    datagram = nudge.encode(lb_id)
    assert len(datagram) <= nudge.MAX_BYTES
    expected = lb_id if lb_id and len(lb_id) <= nudge.MAX_ID else None
    assert nudge.decode(datagram) == nudge.Nudge(expected)


def test_keys_of_a_later_version_are_ignored():
    assert nudge.decode(b'{"lb": "x", "why": "listener"}') == nudge.Nudge("x")
    assert nudge.decode(b'{"why": "listener"}') == nudge.Nudge(None)


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"x",
        b"[]",
        b"7",
        b"null",
        b'"lb"',
        b'{"lb": 7}',
        b'{"lb": ""}',
        b'{"lb": ["x"]}',
        b"\xff\xfe",
        b'{"lb": "' + b"x" * 65 + b'"}',
        b'{"lb": "x", "pad": "' + b"x" * 600 + b'"}',
        b"[" * 500,
    ],
    ids=repr,
)
def test_what_is_no_nudge(datagram):
    assert nudge.decode(datagram) is None


@given(st.binary(max_size=600))
def test_no_datagram_raises(datagram):
    nudge.decode(datagram)


def test_arrives(tmp_path):
    with nudge_socket(tmp_path / "n") as received:
        assert nudge.send(str(received.path), LB)
        assert nudge.send(str(received.path), None)
        assert received.received() == [LB, None]


@pytest.mark.parametrize("path", ["/nowhere/n", "", "x" * 200, "nul\0byte"])
def test_nobody_there_is_no_error(path):
    assert nudge.send(path, LB) is False


def test_a_file_in_the_sockets_place_is_no_error(tmp_path):
    (tmp_path / "n").write_text("")
    assert nudge.send(str(tmp_path / "n"), LB) is False


def test_a_full_socket_neither_waits_nor_leaks(tmp_path):
    reader = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    reader.bind(str(tmp_path / "n"))
    descriptors = len(os.listdir("/proc/self/fd"))
    started = time.monotonic()
    sent = [nudge.send(str(tmp_path / "n"), LB) for _ in range(2000)]
    assert time.monotonic() - started < 5
    assert sent[0] is True
    assert sent[-1] is False
    assert len(os.listdir("/proc/self/fd")) == descriptors
    reader.close()
