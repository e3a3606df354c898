"""How commands talk: reports on standard output, everything else on standard error."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator, Sized
from datetime import UTC, datetime
from typing import Any, TextIO, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ovnlb.diff import html, markdown, render, report
from ovnlb.reconciler.exits import OutputError

FORMATS = ("text", "json", "markdown", "html")
Item = TypeVar("Item")

# Control characters but for tabs, line ends and the colours of our own.
_STEERING = re.compile(r"(?!\x1b\[[0-9;]*m)[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Shorter passes are over before a bar could be read.
_PROGRESS_FROM = 200


def colours(stream: TextIO) -> bool:
    """Whether to colour: a terminal, and NO_COLOR not set (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def rendered(document: dict[str, Any], form: str, verbose: bool) -> str:
    """A report in one of the FORMATS."""
    if form == "json":
        return report.dumps(document)
    if form == "markdown":
        return markdown.markdown(document)
    if form == "html":
        return html.plan_page(document, made=made())
    return render.text(document, colour=colours(sys.stdout), verbose=verbose)


def made() -> str:
    """When and where a page was made, for its foot."""
    now = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    return f"{now.isoformat(sep=' ')} UTC on {socket.gethostname()}"


def emit(text: str) -> None:
    """Print a report. Raises OutputError, or BrokenPipeError when its reader has gone."""
    whole = text if text.endswith("\n") else f"{text}\n"
    try:
        sys.stdout.write(printable(whole, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: {error}") from None


def printable(text: str, encoding: str) -> str:
    """The text with what would steer a terminal, or is not in the encoding, as escapes that JSON has too.

    Names and addresses are their users' text; of escape sequences only colours are let through.
    """
    shown = _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_escaped(char, encoding) for char in shown)
    return shown


def _escaped(char: str, encoding: str) -> str:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return char


def say(text: str) -> None:
    """Tell the operator something that is no part of the report."""
    print(f"ovnlb: {text}", file=sys.stderr, flush=True)


def progress(items: Iterable[Item], what: str = "load balancers") -> Iterator[Item]:
    """The items, with a bar on standard error while it is a terminal and there are many."""
    if not isinstance(items, Sized) or len(items) < _PROGRESS_FROM or not sys.stderr.isatty():
        yield from items
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        yield from bar.track(items, description=what)
