"""What a check finds, and how checks are run: all at the same time, each with a time limit of its own.

A check that raises or hangs is a finding of its own and hides none of the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from ovnlb.reconciler.failures import KNOWN_FAILURES

T = TypeVar("T")


class Level(StrEnum):
    """How a finding counts."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `text` is one sentence or a few, naming the option and the way out."""

    name: str
    level: Level
    text: str


def ok(name: str, text: str) -> Finding:
    """As it must be."""
    return Finding(name, Level.OK, text)


def warning(name: str, text: str) -> Finding:
    """The service works, but not as well as it could, or it cannot be told whether it does."""
    return Finding(name, Level.WARNING, text)


def failed(name: str, text: str) -> Finding:
    """The service, or some load balancers, cannot work like this."""
    return Finding(name, Level.FAILED, text)


@dataclass(frozen=True, slots=True)
class Check:
    """`look` yields findings as it goes; `name` is that of the finding when it raises or hangs."""

    name: str
    look: Callable[[], Iterator[Finding]]


def at_once(calls: Sequence[Callable[[], T]], patience: float) -> list[T | Exception]:
    """The result of each call or what it raised, TimeoutError for one that is not done in `patience` s.

    Every call has a thread, which is left behind when it hangs: it does not keep the process alive.
    """
    results: list[T | Exception] = [
        TimeoutError(f"no answer within {patience:g} s (--timeout)") for _ in calls
    ]

    def run(index: int) -> None:
        try:
            results[index] = calls[index]()
        except Exception as error:  # noqa: BLE001  every failure is somebody's finding
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(calls))]
    deadline = time.monotonic() + patience
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return list(results)


def run_checks(checks: Sequence[Check], patience: float) -> tuple[Finding, ...]:
    """The findings of all checks in their order, after at most `patience` seconds."""
    found: list[list[Finding]] = [[] for _ in checks]

    def looking(index: int) -> Callable[[], None]:
        def look() -> None:
            for finding in checks[index].look():
                found[index].append(finding)

        return look

    ends = at_once([looking(index) for index in range(len(checks))], patience)
    for check, findings, end in zip(checks, found, ends, strict=True):
        if isinstance(end, Exception):
            findings.append(failed(check.name, said(end)))
    return tuple(finding for findings in found for finding in list(findings))


def said(error: Exception) -> str:
    """An error in one line; one that no message explains is named with its class."""
    text = " ".join(str(error).split())
    known = isinstance(error, (*KNOWN_FAILURES, TimeoutError, OSError))
    return text if known and text else f"{type(error).__name__}: {text}".rstrip(": ")
