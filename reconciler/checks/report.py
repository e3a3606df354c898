"""The report of `check-config`: a JSON document, and the text that is rendered from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ovnlb.reconciler.checks.finding import Finding, Level
from ovnlb.reconciler.exits import Exit

FORMAT_VERSION = "1.0"
_SHOWN = {Level.OK: "ok", Level.WARNING: "warning", Level.FAILED: "FAILED"}
_COLOURS = {Level.OK: "32", Level.WARNING: "33", Level.FAILED: "31"}
_WIDTH = max(map(len, _SHOWN.values()))


def document(findings: Sequence[Finding], config_files: Sequence[str]) -> dict[str, Any]:
    """`result` of a check is ok, warning or failed."""
    counts = {level: sum(finding.level is level for finding in findings) for level in Level}
    return {
        "format_version": FORMAT_VERSION,
        "config_files": list(config_files),
        "checks": [
            {"name": finding.name, "result": finding.level.value, "text": finding.text}
            for finding in findings
        ],
        "summary": {
            "checks": len(findings),
            "ok": counts[Level.OK],
            "warnings": counts[Level.WARNING],
            "failed": counts[Level.FAILED],
        },
    }


def text(report: Mapping[str, Any], colour: bool = False) -> str:
    """One line a check, and a summary."""
    return "\n".join(_lines(report, colour)) + "\n"


def _lines(report: Mapping[str, Any], colour: bool) -> Iterator[str]:
    for check in report["checks"]:
        level = Level(check["result"])
        word = f"{_SHOWN[level]:<{_WIDTH}}"
        painted = f"\x1b[{_COLOURS[level]}m{word}\x1b[0m" if colour else word
        yield f"{painted}  {check['name']}: {check['text']}"
    counts = report["summary"]
    yield f"{counts['ok']} ok, {_count(counts['warnings'], 'warning')}, {counts['failed']} failed."


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def check_exit(report: Mapping[str, Any], strict: bool) -> Exit:
    """0 ok or warnings, 1 failed, 2 warnings and `strict`. Source: architecture.md section 7."""
    if report["summary"]["failed"]:
        return Exit.ERROR
    return Exit.DIFFERS if strict and report["summary"]["warnings"] else Exit.IN_SYNC
