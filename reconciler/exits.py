"""Exit codes of every command, and which of several outcomes wins. Source: architecture.md section 7."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """What a process tells its caller."""

    IN_SYNC = 0
    ERROR = 1
    DIFFERS = 2
    REFUSED = 3


class OutputError(Exception):
    """Standard output does not take what a command has to say; the text says why."""


def plan_exit(summary: Mapping[str, Any]) -> Exit:
    """Of a report's summary: an error wins over a refusal, a refusal over a difference."""
    if summary["errors"]:
        return Exit.ERROR
    if summary["refused"]:
        return Exit.REFUSED
    if summary["differ"] or summary["waiting"] or summary["orphans"]:
        return Exit.DIFFERS
    return Exit.IN_SYNC
