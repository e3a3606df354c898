"""The measured figures as a Markdown table and as plots, for docs/performance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Result = Mapping[str, Any]

# Row of the table: what, unit, how it is found in a result.
ROWS: tuple[tuple[str, str, Callable[[Result], Any]], ...] = (
    ("Northbound replica from nothing", "CPU s", lambda r: r["replica"]["replica_cpu"]),
    ("", "wall s", lambda r: r["replica"]["replica_wall"]),
    ("", "peak MiB", lambda r: r["replica"]["memory"]),
    ("Full check, warm replica", "CPU s", lambda r: r["full_check"]["warm_cpu"]),
    ("", "CPU ms per load balancer", lambda r: r["full_check"]["warm_cpu"] * 1000 / r["count"]),
    ("", "wall s", lambda r: r["full_check"]["warm_wall"]),
    ("", "database queries", lambda r: r["full_check"]["queries"]),
    ("", "transactions", lambda r: r["full_check"]["transactions"]),
    ("", "peak MiB", lambda r: r["full_check"]["memory"]),
    ("`ovnlb plan` from nothing", "CPU s", lambda r: r["plan"]["cpu"]),
    ("", "wall s", lambda r: r["plan"]["wall"]),
    ("Service: start and first pass", "CPU s", lambda r: r["first_pass"]["cpu"]),
    ("", "resident MiB", lambda r: r["first_pass"]["VmRSS"]),
    ("One member added", "CPU ms, report included", lambda r: r["members_added"]["cpu_ms_each"]),
    ("", "transactions", lambda r: r["members_added"]["transactions_each"]),
    ("", "ms from visible to committed, p50", lambda r: r["members_added"]["p50_ms"]),
    ("", "p99", lambda r: r["members_added"]["p99_ms"]),
    ("500 load balancers at once", "s until all ACTIVE", lambda r: r["created_at_once"]["wall"]),
    ("", "CPU s", lambda r: r["created_at_once"]["cpu"]),
    ("", "transactions per load balancer", lambda r: r["created_at_once"]["transactions"] / 500),
    ("", "status messages", lambda r: r["created_at_once"]["messages"]),
    ("", "Neutron calls", lambda r: r["created_at_once"]["neutron_calls"]),
    ("A router gets 50 switches", "load balancers on it", lambda r: r["router_interface"]["load_balancers"]),
    ("", "s until all are attached", lambda r: r["router_interface"]["wall"]),
    ("", "transactions", lambda r: r["router_interface"]["transactions"]),
    ("Up to 1,000 monitors go offline in 10 s", "% of a CPU", lambda r: r["health_events"]["percent"]),
    ("Idle", "% of a CPU", lambda r: r["idle"]["percent"]),
    ("10 foreign LSP changes a second", "% of a CPU", lambda r: r["foreign_changes"]["percent"]),
)


def write(results: Mapping[str, Result], folder: Path) -> None:
    """`figures.md` and the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.md").write_text(table(results))
    clouds = sorted((int(count), result) for count, result in results.items())
    plots = {
        "check.svg": ("Full check: CPU ms per load balancer", ROWS[4][2]),
        "memory.svg": ("Full check: peak MiB", ROWS[8][2]),
        "member.svg": ("One member added: CPU ms", ROWS[13][2]),
    }
    for name, (title, value) in plots.items():
        points = [(count, float(value(result))) for count, result in clouds if _has(value, result)]
        (folder / name).write_text(bars(title, points))


def _has(value: Callable[[Result], Any], result: Result) -> bool:
    try:
        value(result)
    except KeyError:
        return False
    return True


def table(results: Mapping[str, Result]) -> str:
    """The table, a column a cloud."""
    counts = sorted(results, key=int)
    lines = ["| work | unit | " + " | ".join(f"{int(count):,}" for count in counts) + " |"]
    lines.append("|---|---|" + "---|" * len(counts))
    for what, unit, value in ROWS:
        cells = [
            _shown(value(results[count])) if _has(value, results[count]) else "not measured"
            for count in counts
        ]
        lines.append(f"| {what} | {unit} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if isinstance(value, float) and value != int(value):
        return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    return f"{int(value):,}"


def bars(title: str, points: list[tuple[int, float]]) -> str:
    """A bar chart as SVG."""
    most = max((value for _, value in points), default=1.0) or 1.0
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 260" '
        'font-family="sans-serif" font-size="13">',
        f'<text x="240" y="22" text-anchor="middle" font-size="15">{title}</text>',
    ]
    for index, (count, value) in enumerate(points):
        x, height = 50 + index * 140, 170 * value / most
        parts += [
            f'<rect x="{x}" y="{220 - height:.1f}" width="90" height="{height:.1f}" fill="#2a6f97"/>',
            f'<text x="{x + 45}" y="{212 - height:.1f}" text-anchor="middle">{_shown(value)}</text>',
            f'<text x="{x + 45}" y="240" text-anchor="middle">{count:,} LBs</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
