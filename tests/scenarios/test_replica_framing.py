"""Messages cut into any pieces come out whole, and a broken stream is noticed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ovnlb.observed.framing import Framer

awkward = st.sampled_from(["}{", '\\"', '"', "\\", '{"a": ['])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | awkward,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
messages = st.lists(st.dictionaries(st.text(), values, max_size=5), max_size=6)


@settings(max_examples=300, deadline=None)
@given(messages, st.sampled_from(["", " ", "\n"]), st.booleans(), st.lists(st.integers(1, 40)))
def test_any_cut_gives_the_same_messages(sent, seam, ascii_only, cuts):
    text = seam.join(json.dumps(message, ensure_ascii=ascii_only) for message in sent)
    framer, got, at = Framer(), [], 0
    for length in [*cuts, len(text)]:
        if at < len(text):
            got += framer.feed(text[at : at + length])
            at += length
    assert got == sent


def test_a_complete_message_does_not_wait_for_the_next():
    framer = Framer()
    assert framer.feed('{"a": 1}{"b"') == [{"a": 1}]
    assert framer.feed(": 2}") == [{"b": 2}]


def test_one_character_at_a_time():
    sent = {"a": ['}{"', {"b": "\\"}], "é": "\\\\"}
    framer, got = Framer(), []
    for char in json.dumps(sent, ensure_ascii=False):
        got += framer.feed(char)
    assert got == [sent]


@pytest.mark.parametrize("text", ["}", '{"a": }', "HTTP/1.1 400 Bad Request", "{]}"])
def test_what_is_not_json_is_an_error(text):
    with pytest.raises(ValueError, match="no JSON"):
        Framer().feed(text)
