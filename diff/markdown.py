"""The report as Markdown, for tickets and change requests. Made from the JSON document alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ovnlb.diff.render import SYMBOLS, Document, change_target, summary_line, traffic_lines, value


def markdown(report: Document) -> str:
    """The document as GitHub-flavoured Markdown: a summary, then one table for each LB that differs."""
    lines = ["# Octavia and OVN", "", _text(summary_line(report)), ""]
    for line in traffic_lines(report):
        lines += [_text(line), ""]
    reasons = report["summary"]["by_reason"]
    if reasons:
        ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
        lines += _table(("reason", "changes"), ((reason, str(count)) for reason, count in ordered))
    for part in report["load_balancers"]:
        lines += _load_balancer(part)
    lines += _section("Conflicts", (item["text"] for item in report["conflicts"]))
    lines += _section("Orphans", (item.get("text") or value(item) for item in report["orphans"]))
    lines += _section("Errors", (f"{item['id']}: {item['reason']}" for item in report["errors"]))
    return "\n".join(lines).rstrip() + "\n"


def _load_balancer(part: Document) -> Iterator[str]:
    if not any(part[name] for name in ("changes", "effects", "waiting", "refused", "warnings")):
        return
    yield from (f"## Load balancer {_text(part['id'])}", "")
    if part["changes"]:
        header = ("", "what", "before", "after", "reason", "drift", "traffic")
        yield from _table(header, (_cells(change) for change in part["changes"]))
    yield from _section(
        "Neutron",
        (f"{item['kind']} {item['target']} ({item['reason']})" for item in part["effects"]),
        level=3,
    )
    yield from _section("Waiting for Neutron", part["waiting"], level=3)
    yield from _section("Refused", part["refused"], level=3)
    yield from _section(
        "Warnings", (f"{item['text']} ({item['code']})" for item in part["warnings"]), level=3
    )


def _cells(change: Document) -> tuple[str, ...]:
    before, after = ("" if item is None else value(item) for item in (change["before"], change["after"]))
    drift = "yes" if change["drift"] else ""
    traffic = (change.get("disruption") or {}).get("text", "")
    return (SYMBOLS[change["op"]], change_target(change), before, after, change["reason"], drift, traffic)


def _section(title: str, lines: Iterable[str], level: int = 2) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from (f"{'#' * level} {title}", "")
        yield from (f"- {_text(line)}" for line in found)
        yield ""


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _line(header)
    yield _line(("---",) * len(header))
    yield from (_line(tuple(map(_text, row))) for row in rows)
    yield ""


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(item: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in ("\\", "`", "*", "_", "|", "<", "[", "]"):
        item = item.replace(sign, f"\\{sign}")
    return item
