"""The report as text for a terminal. Made from the JSON document alone: rendering computes nothing.

Order: drift first, then work in progress, then what waits, warnings and errors, a legend of the
symbols that were used, and one summary line. Colours only when asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ovnlb.diff.impact import WORDS, Impact

SYMBOLS = {"insert": "+", "delete": "-", "set": "~", "unset": "-", "attach": "+", "detach": "-"}
LEGEND = {"+": "add", "-": "remove", "~": "change"}
_COLOURS = {"+": "32", "-": "31", "~": "33", "!": "31", "?": "36"}
_LONGEST = 160

Document = Mapping[str, Any]
Paint = Callable[[str, str], str]


def text(report: Document, *, colour: bool = False, verbose: bool = False) -> str:
    """The document for people. `verbose` shows values in full and names the LBs in sync."""
    paint = _painted if colour else _plain
    lines: list[str] = []
    for part in report["load_balancers"]:
        lines += _load_balancer(part, paint, verbose)
    lines += _lists(report, paint)
    lines += _legend(report)
    lines += traffic_lines(report)
    lines.append(summary_line(report))
    return "\n".join(lines) + "\n"


def summary_line(report: Document) -> str:
    """One sentence: what is to be done, or that nothing is."""
    counts = report["summary"]
    total = _count(counts["load_balancers"], "load balancer")
    rest = [
        f"{counts[key]} {word}"
        for key, word in (
            ("waiting", "waiting for Neutron"),
            ("refused", "refused"),
            ("errors", "could not be planned"),
            ("orphans", "orphaned"),
            ("conflicts", "in conflict"),
        )
        if counts[key]
    ]
    if not counts["changes"] and not counts["effects"]:
        if rest:
            return f"No changes to make: {counts['in_sync']} of {total} in sync, {', '.join(rest)}."
        return f"No changes: {total} checked, the Northbound database is as Octavia asks."
    drift = f" ({counts['drift']} of drift)" if counts["drift"] else ""
    work = [_count(counts["changes"], "change") + drift]
    if counts["effects"]:
        work.append(_count(counts["effects"], "Neutron effect"))
    rest = [f"{counts['in_sync']} in sync", *rest]
    return f"Plan: {' and '.join(work)} in {counts['differ']} of {total}; {', '.join(rest)}."


def traffic_lines(report: Document) -> Iterator[str]:
    """What the changes do to traffic, in one line; none where they do nothing to it."""
    found = report["summary"].get("by_disruption", {})
    told = [
        f"{WORDS[Impact(name)]} ({_count(number, 'change')})"
        for name, number in found.items()
        if name != Impact.NONE
    ]
    if told:
        yield f"Traffic: {'; '.join(told)}."


def change_line(change: Document, verbose: bool = False) -> str:
    """What one change does, without its symbol and reason."""
    where, before, after = change_target(change, verbose), change["before"], change["after"]
    match change["op"]:
        case "insert" | "delete":
            columns = after if change["op"] == "insert" else before
            return f"{where}: {_row(columns, verbose)}"
        case "set" if before is None:
            return f"{where} = {value(after, verbose)}"
        case "set":
            return f"{where}: {value(before, verbose)} -> {value(after, verbose)}"
        case "unset":
            return f"{where} (was {value(before, verbose)})"
        case _:
            return where


def change_target(change: Document, verbose: bool = True) -> str:
    """The object that a change is about: table, row, column and key as far as there are any.

    Row UUIDs are cut to their first part unless `verbose`.
    """
    if change["op"] in ("attach", "detach"):
        return f"{change['table']} {change['row']}: row {_uuid(change['key'], verbose)}"
    name = f"{change['table']} {_uuid(change['row'], verbose)}"
    if change["column"] is None:
        return name
    key = f"[{change['key']}]" if change["key"] is not None else ""
    return f"{name} {change['column']}{key}"


def _uuid(text: str, verbose: bool) -> str:
    return text if verbose else text.partition("-")[0]


def value(item: Any, verbose: bool = True) -> str:
    """A JSON value on one line; a long one is cut unless `verbose`."""
    shown = item if isinstance(item, str) and item else json.dumps(item, ensure_ascii=False)
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
    return shown if verbose or len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _row(columns: Mapping[str, Any] | None, verbose: bool) -> str:
    columns = columns or {}
    if verbose:
        return value({name: item for name, item in columns.items() if item})
    if "protocol" not in columns:
        return f"vip {columns.get('vip')}"
    vips = ", ".join(columns.get("vips") or ()) or "no vips"
    return value(f"{columns['protocol'] or 'no protocol'}, {vips}", verbose)


def _load_balancer(part: Document, paint: Paint, verbose: bool) -> Iterator[str]:
    told = [*part["changes"], *part["effects"], *part["warnings"], *part["waiting"], *part["refused"]]
    if not told:
        if verbose:
            yield f"{part['id']}: in sync"
        return
    yield f"{part['id']}: {_headline(part)}"
    for title, drift in (("drift (nothing in progress explains it)", True), ("in progress", False)):
        changes = [item for item in part["changes"] if item["drift"] is drift]
        if changes:
            yield f"  {title}:"
        for change in changes:
            symbol = SYMBOLS[change["op"]]
            line = f"{symbol} {change_line(change, verbose)}"
            yield f"    {paint(symbol, line)}  ({change['reason']})"
    for effect in part["effects"]:
        details = f" {value(effect['details'], verbose)}" if effect["details"] else ""
        line = f"~ Neutron: {effect['kind']} {effect['target']}{details}"
        yield f"    {paint('~', line)}  ({effect['reason']})"
    yield from (f"  {paint('?', f'waiting for Neutron: {name}')}" for name in part["waiting"])
    yield from (f"  {paint('!', f'refused: {why}')}" for why in part["refused"])
    yield from (f"  warning: {item['text']} ({item['code']})" for item in part["warnings"])


def _headline(part: Document) -> str:
    work = [_count(len(part[name]), word) for name, word in _PARTS if part[name]]
    return ", ".join(work)


_PARTS = (
    ("changes", "change"),
    ("effects", "Neutron effect"),
    ("waiting", "thing to wait for"),
    ("refused", "refusal"),
    ("warnings", "warning"),
)


def _lists(report: Document, paint: Paint) -> Iterator[str]:
    yield from (paint("!", f"conflict: {item['text']}") for item in report["conflicts"])
    yield from (f"orphan: {orphan.get('text') or value(orphan)}" for orphan in report["orphans"])
    yield from (
        paint("!", f"error: load balancer {item['id']}: {item['reason']}") for item in report["errors"]
    )
    if foreign := report["summary"]["foreign_rows"]:
        yield f"{_count(foreign, 'row')} of somebody else, never touched"


def _legend(report: Document) -> Iterator[str]:
    used = {SYMBOLS[item["op"]] for part in report["load_balancers"] for item in part["changes"]}
    used |= {"~" for part in report["load_balancers"] if part["effects"]}
    if used:
        yield ""
        yield "Symbols: " + ", ".join(f"{sign} {word}" for sign, word in LEGEND.items() if sign in used)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _plain(_symbol: str, line: str) -> str:
    return line


def _painted(symbol: str, line: str) -> str:
    return f"\x1b[{_COLOURS[symbol]}m{line}\x1b[0m"
