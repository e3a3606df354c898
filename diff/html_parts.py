"""HTML that is safe by construction: every text is escaped unless it was made here.

The output is both HTML and well-formed XML, so that a test can read it with an XML parser. Names come
from users: characters that would not show (controls, bidi overrides) are written as escapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from ovnlb.diff.html_style import CSS

_VOID = frozenset({"meta", "wbr"})
# No script, no frame, no request to anywhere: what the page needs is in it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def clean(item: Any) -> str:
    """A text of which every character shows."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(item))


def safe(item: Any) -> Html:
    """Markup as it is, anything else escaped."""
    return item if isinstance(item, Html) else Html(escape(clean(item), quote=True))


def breakable(text: str) -> Html:
    """A list in one text, which may break after its commas."""
    return joined(text.split(","), ",<wbr/>")


def joined(items: Iterable[Any], between: str = "") -> Html:
    """The items one after the other."""
    return Html(between.join(safe(item) for item in items))


def el(tag: str, *content: Any, **attributes: Any) -> Html:
    """One element. An attribute's trailing underscore is dropped (`class_`), others become dashes."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{safe(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{given}/>")
    return Html(f"<{tag}{given}>{joined(content)}</{tag}>")


def bullets(items: Iterable[Any], **attributes: Any) -> Html:
    """A list; nothing when there are no items."""
    found = [el("li", item) for item in items]
    return el("ul", *found, **attributes) if found else Html()


def table(header: Iterable[str], rows: Iterable[Iterable[Any]], **attributes: Any) -> Html:
    """A table whose cells carry their column's name, which a narrow screen shows before each."""
    names = list(header)
    body = [
        el("tr", *(el("td", cell, data_label=name) for name, cell in zip(names, row, strict=True)))
        for row in rows
    ]
    head = el("thead", el("tr", *(el("th", name) for name in names)))
    return el("table", head, el("tbody", *body), **attributes)


def section(title: str, *content: Any, **attributes: Any) -> Html:
    """A titled section; nothing when it has no content."""
    body = joined(content)
    return el("section", el("h2", title), body, **attributes) if body else Html()


def folded(summary: Any, *content: Any, shown: bool = False) -> Html:
    """Content that opens on a click, and is always printed."""
    return el("details", el("summary", summary), *content, open="" if shown else None)


def chip(text: Any, kind: str) -> Html:
    """A short coloured word. `kind` is one of the style's: good, bad, warn, quiet, info."""
    return el("span", text, class_=f"chip {kind}")


def page(title: str, *content: Any, made: str = "") -> str:
    """A whole self-contained page. `made`: when and of what, for the foot."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}"/>'),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(CSS)),
    )
    foot = el("footer", f"ovnlb{', ' if made else ''}{made}")
    body = el("body", el("main", el("h1", title), *content, foot))
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"
