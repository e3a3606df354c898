"""Northbound rows and their changes as HTML: each value as it is, and as it must be where that differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ovnlb.diff.html_parts import Html, breakable, chip, clean, el, folded, joined, table
from ovnlb.diff.impact import Impact
from ovnlb.diff.render import change_target, value

# Changes of one load balancer that a page lists; the JSON document has all.
CHANGES = 200
_MAPS = ("vips", "external_ids", "ip_port_mappings", "options")
_LISTS = ("selection_fields", "attached_switches", "attached_routers")
_LONGEST = 600

IMPACT_KINDS = {
    Impact.NONE: "quiet",
    Impact.SERVICE_BEGINS: "good",
    Impact.NEW_CONNECTIONS_MOVE: "info",
    Impact.AFFINITY_RESETS: "warn",
    Impact.PATH_MOVES: "warn",
    Impact.CONNECTIONS_END: "bad",
    Impact.VIP_UNSERVED: "bad",
}

Part = Mapping[str, Any]
_Key = tuple[str | None, str | None]


def changes_table(changes: Sequence[Part]) -> Html:
    """What, before and after, why, and what it does to traffic."""
    if not changes:
        return Html()
    rows = [
        (
            joined(
                (el("b", word(change["op"])), Html(" "), el("code", change_target(change, verbose=False)))
            ),
            _before_after(change),
            change["reason"],
            traffic(change.get("disruption")),
        )
        for change in changes[:CHANGES]
    ]
    more = len(changes) - CHANGES
    shown = table(("change", "before and after", "reason", "traffic"), rows, class_="changes")
    return joined((shown, el("p", f"{more} more changes", class_="soft") if more > 0 else Html()))


def word(op: str) -> str:
    """An operation as a verb."""
    return {"insert": "add", "unset": "remove", "delete": "delete"}.get(op, op)


def traffic(caused: Part | None) -> Html:
    """The disruption of one change; a change that disturbs nobody stays quiet."""
    if not caused:
        return Html()
    impact = Impact(caused["impact"])
    if impact is Impact.NONE:
        return el("span", caused["text"] or "none", class_="soft")
    return joined((chip(impact.replace("_", " "), IMPACT_KINDS[impact]), el("div", caused["text"])))


def _before_after(change: Part) -> Html:
    before, after = change["before"], change["after"]
    if change["op"] in ("attach", "detach"):
        return Html()
    return joined((_gone(before), _new(after)))


def _gone(item: Any) -> Html:
    return Html() if item is None else el("del", _value(item), class_="mono")


def _new(item: Any) -> Html:
    return Html() if item is None else el("ins", _value(item), class_="mono")


def _value(item: Any) -> Html:
    if isinstance(item, Mapping):
        item = {key: content for key, content in item.items() if content}
    shown = value(item)
    return breakable(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}… ({len(shown)} characters)")


def rows_beside(part: Part) -> Html:
    """All rows of one load balancer: those found with their changes, then those that will be added."""
    changes = part["changes"]
    found = part.get("found") or {}
    blocks = [_row(row, changes) for row in found.get("Load_Balancer", ())]
    blocks += [
        _added(change)
        for change in changes
        if change["op"] == "insert" and change["table"] == "Load_Balancer"
    ]
    return joined(blocks) or el("p", "It has no rows, and must have none.", class_="soft")


def _row(row: Part, changes: Sequence[Part]) -> Html:
    uuid = row.get("_uuid")
    mine = {
        (item["column"], item["key"]): item
        for item in changes
        if item["row"] == uuid and item["table"] == "Load_Balancer"
    }
    deleted = any(item["op"] == "delete" for item in mine.values())
    name = f"Load_Balancer {row['protocol'] or 'without protocol'}"
    title = joined((el("b", name), Html(" "), el("code", uuid or ""), Html(" "), _fate(deleted, len(mine))))
    lines = list(_lines(row, mine))
    return folded(title, table(("column", "value"), lines, class_="rows"), shown=True)


def _fate(deleted: bool, differing: int) -> Html:
    if deleted:
        return chip("will be deleted", "bad")
    return chip(f"{differing} differ", "warn") if differing else chip("as it must be", "good")


def _lines(row: Part, changes: Mapping[_Key, Part]) -> Iterator[tuple[Any, Any]]:
    for column in _MAPS:
        keys = {**row[column], **{key: None for name, key in changes if name == column and key is not None}}
        for key in sorted(keys):
            yield _label(f"{column}[{key}]"), _cell(row[column].get(key), changes.get((column, key)))
    for column in _LISTS:
        yield _label(column), _cell(", ".join(row[column]) or "(none)", changes.get((column, None)))
    yield _label("health_check"), el("span", ", ".join(row["health_check"]) or "(none)", class_="mono")


def _label(text: str) -> Html:
    return el("code", text)


def _cell(found: Any, change: Part | None) -> Html:
    if change is None:
        return el("span", _value(found), class_="mono")
    return joined((_gone(change["before"]), _new(change["after"])))


def _added(change: Part) -> Html:
    row = change["after"] or {}
    title = joined(
        (
            el("b", f"Load_Balancer {row.get('protocol') or 'without protocol'}"),
            Html(" "),
            el("code", change["row"]),
            Html(" "),
            chip("will be added", "good"),
        )
    )
    lines = [
        (_label(f"{column}[{clean(key)}]"), _new(content))
        for column in _MAPS
        for key, content in sorted((row.get(column) or {}).items())
    ]
    lines.append((_label("selection_fields"), _new(", ".join(row.get("selection_fields") or ()) or None)))
    return folded(title, table(("column", "value"), lines, class_="rows"), shown=True)
