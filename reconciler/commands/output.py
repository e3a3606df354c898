"""How commands talk: reports on standard output, everything else on standard error."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator, Sized
from datetime import UTC, datetime
from typing import Any, TextIO, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ovnlb.diff import html, markdown, render, report

FORMATS = ("text", "json", "markdown", "html")
Item = TypeVar("Item")

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
    """Print a report."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


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
