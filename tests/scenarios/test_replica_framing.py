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


UUIDS = ("0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002")
row_updates = st.dictionaries(
    st.sampled_from(UUIDS),
    st.fixed_dictionaries({"initial": st.dictionaries(st.text(), values, max_size=3)})
    | st.just({"delete": None}),
    max_size=2,
)
table_updates = st.dictionaries(st.sampled_from(["Ports", "Switches", "Others"]), row_updates, max_size=3)
told = st.one_of(
    st.builds(lambda tables: {"id": 1, "result": tables, "error": None}, table_updates),
    st.builds(lambda tables: {"result": [False, "txn", tables], "id": 2, "error": None}, table_updates),
    st.builds(lambda tables: {"method": "update3", "params": ["a", "b", tables], "id": None}, table_updates),
    # A schema names the tables too, and a text may look like a row.
    st.just({"id": 3, "result": {"tables": {"Ports": {"columns": {}}}}}),
    st.builds(lambda text: {"id": 4, "result": text, "Ports": text}, awkward | st.text()),
    st.just({"id": 5, "result": f'"Ports":{{"{UUIDS[0]}":{{}}}}'}),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(told, max_size=5), st.lists(st.integers(1, 60)))
def test_rows_cut_out_on_the_way_are_put_back_in_their_shape(sent, cuts):
    shapes = {"Ports": lambda row: ("port", row), "Switches": lambda row: ("switch", row)}
    text = "".join(json.dumps(message, separators=(",", ":")) for message in sent)
    framer, got, at = Framer(shapes), [], 0
    for length in [*cuts, len(text)]:
        if at < len(text):
            got += framer.feed(text[at : at + length])
            at += length
    assert got == [shaped(message, shapes) for message in sent]


def shaped(message, shapes):
    """The message with every row of these tables as its shape makes it."""
    found = json.loads(json.dumps(message))
    for part in (found.get("result"), found.get("params")):
        for updates in (part, *(part if isinstance(part, list) else ())):
            if isinstance(updates, dict):
                for table in updates.keys() & shapes:
                    rows = updates[table]
                    if "columns" not in rows:
                        updates[table] = {uuid: shapes[table](row) for uuid, row in rows.items()}
    return found


@pytest.mark.parametrize(
    "rest", ['"x"}', f'"{UUIDS[0]}":1;', f'"{UUIDS[0]}":{{}},"not a uuid at all, but long":1']
)
def test_what_is_no_row_is_an_error(rest):
    with pytest.raises(ValueError, match="no row"):
        Framer({"Ports": dict}).feed(f'{{"Ports":{{"{UUIDS[1]}":{{}},{rest}' + " " * 60)
