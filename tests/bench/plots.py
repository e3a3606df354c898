"""Bar charts as SVG."""

from __future__ import annotations

from math import log10
from typing import Any

_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 260" '
    'font-family="sans-serif" font-size="13">'
)
OURS, THEIRS = "#2a6f97", "#bc4b51"


def shown(value: Any) -> str:
    """A number with three figures."""
    if isinstance(value, float) and value != int(value):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{int(value):,}"


def bars(title: str, points: list[tuple[int, float]]) -> str:
    """One bar a cloud."""
    most = max((value for _, value in points), default=1.0) or 1.0
    width = 60 + 140 * max(len(points), 3)
    parts = [_HEAD.format(width=width), _title(title, width)]
    for index, (count, value) in enumerate(points):
        parts += _bar(50 + index * 140, 90, 170 * value / most, value, OURS)
        parts.append(f'<text x="{95 + index * 140}" y="240" text-anchor="middle">{count:,} LBs</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def pairs(title: str, points: list[tuple[int, float, float]]) -> str:
    """Two bars a cloud, ours and the original's, on a logarithmic scale."""
    values = [value for _, *two in points for value in two if value > 0]
    least, most = min(values, default=1.0) / 2, max(values, default=10.0)
    span = log10(most / least) or 1.0
    width = 60 + 180 * max(len(points), 3)
    parts = [_HEAD.format(width=width), _title(title, width)]
    for index, (count, *two) in enumerate(points):
        for place, (value, colour) in enumerate(zip(two, (OURS, THEIRS), strict=True)):
            height = 160 * log10(max(value, least) / least) / span
            parts += _bar(40 + index * 180 + place * 75, 65, height, value, colour)
        parts.append(f'<text x="{110 + index * 180}" y="240" text-anchor="middle">{count:,} LBs</text>')
    parts.append(f'<text x="{width / 2}" y="256" text-anchor="middle" fill="{OURS}">ovnlb, ')
    parts.append(f'<tspan fill="{THEIRS}">ovn-octavia-provider 11.0.0</tspan></text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _title(title: str, width: int) -> str:
    return f'<text x="{width / 2}" y="22" text-anchor="middle" font-size="15">{title}</text>'


def _bar(x: int, width: int, height: float, value: float, colour: str) -> list[str]:
    middle = x + width / 2
    return [
        f'<rect x="{x}" y="{220 - height:.1f}" width="{width}" height="{height:.1f}" fill="{colour}"/>',
        f'<text x="{middle}" y="{212 - height:.1f}" text-anchor="middle">{shown(value)}</text>',
    ]
