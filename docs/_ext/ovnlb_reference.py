"""Directives that write reference pages from the code, so that the two cannot differ.

`ovnlb-options GROUP`, `ovnlb-command NAME`, `ovnlb-metrics`: each makes Markdown and has it parsed.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator

from cli_parsers import Argument, arguments, description
from docutils import nodes
from docutils.statemachine import StringList
from metric_list import metrics
from oslo_config import cfg
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ovnlb.desired import ovn_limits
from ovnlb.reconciler import cli
from ovnlb.reconciler.options import GROUPS


class _Written(SphinxDirective):
    """A directive whose content is Markdown that `lines` makes."""

    optional_arguments = 1

    def lines(self) -> Iterator[str]:
        """The Markdown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Have the Markdown parsed in place."""
        holder = nodes.container()
        content = StringList(list(self.lines()), source=self.get_source_info()[0])
        self.state.nested_parse(content, self.content_offset, holder)
        return holder.children


class Options(_Written):
    """The options of one group, in the order of the code."""

    def lines(self) -> Iterator[str]:
        """One definition an option."""
        group = self.arguments[0]
        for option in GROUPS[group]:
            yield from (f"(option-{group}-{option.dest})=", f"`{option.dest}`", f": {_facts(option)}", "")
            yield from (f"  {_plain(option.help)}", "")
            for value, text in _choices(option):
                yield f"  - `{value}`: {text}"
            yield ""


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def _facts(option: cfg.Opt) -> str:
    kind = {"StrOpt": "string", "IntOpt": "integer", "FloatOpt": "number", "BoolOpt": "boolean"}
    kind |= {"ListOpt": "list, separated by commas", "DictOpt": "list of key:value, separated by commas"}
    facts = [kind[type(option).__name__], _default(option)]
    facts += [f"{word} {limit:g}" for word, limit in _limits(option) if limit is not None]
    if option.secret:
        facts.append("never logged")
    return "; ".join(facts)


def _limits(option: cfg.Opt) -> tuple[tuple[str, float | None], ...]:
    return (("at least", getattr(option.type, "min", None)), ("at most", getattr(option.type, "max", None)))


def _default(option: cfg.Opt) -> str:
    default = option.default
    if default in (None, "", []):
        return "not set"
    if isinstance(default, dict):
        default = [f"{key}:{text}" for key, text in default.items()]
    shown = ",".join(map(str, default)) if isinstance(default, list) else str(default)
    return f"default `{shown}`"


def _choices(option: cfg.Opt) -> Iterator[tuple[str, str]]:
    for value, text in (getattr(option.type, "choices", None) or {}).items():
        yield value, text or ""


class Command(_Written):
    """What a command is for, and its options."""

    def lines(self) -> Iterator[str]:
        """A sentence, and one definition an option."""
        name = self.arguments[0]
        yield from (description(name), "")
        for one in arguments(name):
            yield from (f"(command-{name}-{_anchor(one)})=", f"`{one.shown}`", f": {_plain(one.help)}", "")


def _anchor(one: Argument) -> str:
    return one.names[-1].lstrip("-").lower()


class MetricList(_Written):
    """Every metric with its type and labels."""

    def lines(self) -> Iterator[str]:
        """A table."""
        yield from ("| metric | type | labels | meaning |", "| --- | --- | --- | --- |")
        for metric in metrics():
            labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
            yield f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |"


class Limits(_Written):
    """The limits of OVN releases that `ovnlb show` knows."""

    def lines(self) -> Iterator[str]:
        """A table."""
        yield from ("| OVN | limit | code |", "| --- | --- | --- |")
        for limit in ovn_limits._LIMITS:
            until = "every release" if limit.until is None else "before {}.{:02d}".format(*limit.until)
            yield f"| {until} | {_plain(limit.text)} | `{limit.code}` |"


class Output(SphinxDirective):
    """What `ovnlb ARGUMENTS` prints; files are named from the directory of the pages."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Run it now, so that the page shows what it prints today."""
        out = io.StringIO()
        with contextlib.chdir(self.env.srcdir), contextlib.redirect_stdout(out):
            code = cli.main(self.arguments[0].split())
        shown = f"$ ovnlb {self.arguments[0]}\n{out.getvalue().rstrip()}\n$ echo $?\n{code}"
        return [nodes.literal_block(shown, shown, language="console")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("ovnlb-options", Options)
    app.add_directive("ovnlb-command", Command)
    app.add_directive("ovnlb-metrics", MetricList)
    app.add_directive("ovnlb-limits", Limits)
    app.add_directive("ovnlb-output", Output)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
