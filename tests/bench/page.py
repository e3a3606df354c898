"""The measured figures as Markdown tables and as plots, for docs/performance.

`python -m bench.page` makes them again from the results that are there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import plots

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "performance"
Result = Mapping[str, Any]
Value = Callable[[Result], Any]

# Row of a table: what, unit, how it is found in the result of a cloud.
ROWS: tuple[tuple[str, str, Value], ...] = (
    ("Northbound replica from nothing", "CPU s", lambda r: r["replica"]["replica_cpu"]),
    ("", "wall s", lambda r: r["replica"]["replica_wall"]),
    ("", "peak MiB", lambda r: r["replica"]["memory"]),
    ("Full check, warm replica", "CPU s", lambda r: r["full_check"]["warm_cpu"]),
    ("", "CPU ms per load balancer", lambda r: r["full_check"]["warm_cpu"] * 1000 / r["count"]),
    ("", "wall s", lambda r: r["full_check"]["warm_wall"]),
    ("", "database queries", lambda r: r["full_check"]["queries"]),
    ("", "transactions", lambda r: r["full_check"]["transactions"]),
    ("`ovnlb plan` from nothing", "CPU s", lambda r: r["plan"]["cpu"]),
    ("", "wall s", lambda r: r["plan"]["wall"]),
    ("", "peak MiB", lambda r: r["plan"]["memory"]),
    ("`ovnlb apply`: repair of 1 %", "CPU s", lambda r: r["repair"]["cpu"]),
    ("", "transactions", lambda r: r["repair"]["transactions"]),
    ("`ovnlb apply`: all rows have gone", "CPU s", lambda r: r["rebuild"]["cpu"]),
    ("", "transactions", lambda r: r["rebuild"]["transactions"]),
    ("Service: start and first pass", "CPU s", lambda r: r["first_pass"]["cpu"]),
    ("", "resident MiB", lambda r: r["first_pass"]["VmRSS"]),
    ("One member added", "CPU ms, report included", lambda r: r["members_added"]["cpu_ms_each"]),
    ("", "transactions", lambda r: r["members_added"]["transactions_each"]),
    ("", "ms from visible to committed, p50", lambda r: r["members_added"]["p50_ms"]),
    ("", "p99", lambda r: r["members_added"]["p99_ms"]),
    ("500 load balancers at once", "s until all ACTIVE", lambda r: r["created_at_once"]["wall"]),
    ("", "CPU s", lambda r: r["created_at_once"]["cpu"]),
    ("", "transactions", lambda r: r["created_at_once"]["transactions"]),
    ("", "Northbound bytes", lambda r: r["created_at_once"]["bytes"]),
    ("", "status messages", lambda r: r["created_at_once"]["messages"]),
    ("", "Neutron calls", lambda r: r["created_at_once"]["neutron_calls"]),
    ("20 cascading deletions", "s until all are gone", lambda r: r["cascade"]["wall"]),
    ("", "CPU s", lambda r: r["cascade"]["cpu"]),
    ("", "transactions", lambda r: r["cascade"]["transactions"]),
    ("A router gets 50 switches", "load balancers on it", lambda r: r["router_interface"]["load_balancers"]),
    ("", "s until all are attached", lambda r: r["router_interface"]["wall"]),
    ("", "CPU s", lambda r: r["router_interface"]["cpu"]),
    ("", "transactions", lambda r: r["router_interface"]["transactions"]),
    ("Monitors go offline in 10 s", "how many", lambda r: r["health_events"]["events"]),
    ("", "% of a CPU", lambda r: r["health_events"]["percent"]),
    ("Idle", "% of a CPU", lambda r: r["idle"]["percent"]),
    ("10 foreign LSP changes a second", "% of a CPU", lambda r: r["foreign_changes"]["percent"]),
    ("Load of the machine when this cloud began", "average of 1 minute", lambda r: r["load"]),
)


def _per(name: str, key: str, scale: float = 1.0) -> Value:
    """A figure of the original's."""
    return lambda r: r["original"][name][key] * scale


# Row of the comparison: what, ours, the original's; both for one object, CPU in ms.
SIDES: tuple[tuple[str, Value, Value], ...] = (
    (
        "check of a correct load balancer, CPU ms",
        lambda r: r["full_check"]["warm_cpu"] * 1000 / r["count"],
        _per("sync", "cpu_each", 1000),
    ),
    ("its transactions", lambda r: r["full_check"]["transactions"], _per("sync", "transactions_each")),
    ("its Neutron calls", lambda r: 1 / r["count"], _per("sync", "neutron_each")),
    (
        "rebuild of a load balancer whose rows have gone, CPU ms",
        lambda r: r["rebuild"]["cpu"] * 1000 / r["count"],
        _per("rebuild", "cpu_each", 1000),
    ),
    (
        "its transactions",
        lambda r: r["rebuild"]["transactions"] / r["count"],
        _per("rebuild", "transactions_each"),
    ),
    ("a member added, CPU ms", lambda r: r["members_added"]["cpu_ms_each"], _per("member", "cpu_each", 1000)),
    (
        "its transactions",
        lambda r: r["members_added"]["transactions_each"],
        _per("member", "transactions_each"),
    ),
    (
        "a populated load balancer created (500 at once, 10 at once), CPU ms",
        lambda r: r["created_at_once"]["cpu"] * 1000 / r["created_at_once"]["amount"],
        _per("created", "cpu_each", 1000),
    ),
    (
        "seconds until it is ACTIVE, per load balancer",
        lambda r: r["created_at_once"]["wall"] / r["created_at_once"]["amount"],
        _per("created", "wall_each"),
    ),
    (
        "its transactions",
        lambda r: r["created_at_once"]["transactions"] / r["created_at_once"]["amount"],
        _per("created", "transactions_each"),
    ),
    (
        "its status messages",
        lambda r: r["created_at_once"]["messages"] / r["created_at_once"]["amount"],
        _per("created", "messages_each"),
    ),
    (
        "a cascading deletion, CPU ms",
        lambda r: r["cascade"]["cpu"] * 1000 / r["cascade"]["amount"],
        _per("cascade", "cpu_each", 1000),
    ),
    (
        "its transactions",
        lambda r: r["cascade"]["transactions"] / r["cascade"]["amount"],
        _per("cascade", "transactions_each"),
    ),
    ("resident memory at its peak, MiB", lambda r: r["memory"]["VmHWM"], lambda r: r["original"]["memory"]),
)


def write(results: Mapping[str, Result], folder: Path) -> None:
    """`figures.md`, `sides.md` and the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    clouds = [results[key] for key in sorted((key for key in results if key.isdigit()), key=int)]
    (folder / "figures.md").write_text("\n".join(_figures(clouds)) + "\n")
    compared = [result for result in clouds if "original" in result]
    sides = [*_sides(compared), "", *_northd(results.get("northd"))]
    (folder / "sides.md").write_text("\n".join(sides) + "\n")
    for name, (title, value) in {
        "check.svg": ("Full check: CPU ms per load balancer", ROWS[4][2]),
        "memory.svg": ("ovnlb plan: peak MiB", ROWS[10][2]),
        "member.svg": ("One member added: CPU ms", ROWS[17][2]),
    }.items():
        points = [(r["count"], float(value(r))) for r in clouds if _has(value, r)]
        (folder / name).write_text(plots.bars(title, points))
    _, ours, theirs = SIDES[0]
    pairs = [(r["count"], float(ours(r)), float(theirs(r))) for r in compared if _has(ours, r)]
    (folder / "sides.svg").write_text(plots.pairs("Check of a load balancer: CPU ms, logarithmic", pairs))


def _has(value: Value, result: Result) -> bool:
    try:
        value(result)
    except KeyError:
        return False
    return True


def _cell(value: Value, result: Result) -> str:
    return plots.shown(value(result)) if _has(value, result) else "not measured"


def _figures(clouds: list[Result]) -> Iterator[str]:
    yield "| work | unit | " + " | ".join(f"{result['count']:,}" for result in clouds) + " |"
    yield "|---|---|" + "---|" * len(clouds)
    for what, unit, value in ROWS:
        yield f"| {what} | {unit} | " + " | ".join(_cell(value, result) for result in clouds) + " |"


def _sides(clouds: list[Result]) -> Iterator[str]:
    heads = [f"{r['count']:,}: ovnlb | original | times" for r in clouds]
    yield "| per object | " + " | ".join(heads) + " |"
    yield "|---|" + "---|" * (3 * len(clouds))
    for what, ours, theirs in SIDES:
        cells = []
        for result in clouds:
            known = _has(ours, result) and _has(theirs, result)
            ratio = plots.shown(theirs(result) / ours(result)) if known and ours(result) else "-"
            cells += [_cell(ours, result), _cell(theirs, result), ratio]
        yield f"| {what} | " + " | ".join(cells) + " |"


def _northd(result: Result | None) -> Iterator[str]:
    if result is None:
        return
    yield f"| northd's CPU for {result['amount']} populated load balancers, s | ovnlb | original | times |"
    yield "|---|---|---|---|"
    for name, what in (("at_once", "all at once"), ("spread", "spread over a minute")):
        ours, theirs = result[name]["ovnlb"], result[name]["original"]
        ratio = plots.shown(theirs / ours) if ours else "-"
        yield f"| {what} | {plots.shown(ours)} | {plots.shown(theirs)} | {ratio} |"


if __name__ == "__main__":
    write(json.loads((DOCS / "results.json").read_text()), DOCS)
