"""The picture of the walk, as SVG, from a short description. `tools/generate.py` writes it."""

from __future__ import annotations

from html import escape

# Name, left, top, width, lines of text, class.
BOXES = (
    ("db", 20, 20, 190, ("Octavia database", "what users asked for"), "outside"),
    ("neutron", 20, 130, 190, ("Neutron, OVN topology", "ports, routers, floating IPs"), "outside"),
    ("nb", 20, 240, 190, ("OVN Northbound", "the rows that are there"), "outside"),
    ("load", 260, 20, 130, ("load", "one transaction"), "stage"),
    ("observe", 260, 240, 130, ("observe", "from a replica"), "stage"),
    ("desired", 440, 75, 150, ("desired", "rows that must exist"), "pure"),
    ("plan", 640, 130, 150, ("plan", "changes with reasons"), "pure"),
    ("apply", 640, 240, 150, ("apply", "one transaction"), "stage"),
    ("report", 640, 20, 150, ("report", "statuses to Octavia"), "stage"),
)
HEIGHT = 54
WIDTH, TOTAL = 830, 340
# From, to, as (side of the box, its share of that side).
ARROWS = (
    ("db", "right", "load", "left"),
    ("load", "right", "desired", "left"),
    ("neutron", "right", "desired", "left"),
    ("nb", "right", "observe", "left"),
    ("observe", "right", "plan", "left"),
    ("desired", "right", "plan", "left"),
    ("plan", "bottom", "apply", "top"),
)
STYLE = (
    "text{font:14px sans-serif;fill:#1b1f24;text-anchor:middle}.small{font-size:11.5px;fill:#4b5563}"
    "rect{stroke-width:1.5;rx:6}.outside{fill:#eef2f7;stroke:#64748b}.stage{fill:#fff7e6;stroke:#b7791f}"
    ".pure{fill:#e8f6ee;stroke:#2f855a}path{stroke:#475569;stroke-width:1.5;fill:none}"
)


def svg() -> str:
    """The picture."""
    boxes = {name: (x, y, width) for name, x, y, width, _, _ in BOXES}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TOTAL}" role="img">',
        "<title>The walk of one load balancer: load, observe, desired, plan, apply, report</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" markerWidth="9" markerHeight="9" refX="8" refY="4.5" orient="auto">'
        '<path d="M1,1 L8,4.5 L1,8" /></marker></defs>',
        f'<rect width="{WIDTH}" height="{TOTAL}" fill="#ffffff" />',
    ]
    for start, side, end, other in ARROWS:
        (x1, y1), (x2, y2) = _point(boxes[start], side), _point(boxes[end], other)
        parts.append(f'<path d="M{x1},{y1} L{x2},{y2}" marker-end="url(#tip)" />')
    parts.append('<path d="M715,294 V312 H115 V297" marker-end="url(#tip)" stroke-dasharray="5 4" />')
    parts.append('<path d="M790,267 H812 V47 H794" marker-end="url(#tip)" />')
    for _, x, y, width, (title, text), kind in BOXES:
        middle = x + width // 2
        parts += [
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{HEIGHT}" />',
            f'<text x="{middle}" y="{y + 23}">{escape(title)}</text>',
            f'<text class="small" x="{middle}" y="{y + 41}">{escape(text)}</text>',
        ]
    parts.append(
        f'<text class="small" x="405" y="{TOTAL - 8}">green: pure functions; dashed: what is written</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _point(box: tuple[int, int, int], side: str) -> tuple[int, int]:
    x, y, width = box
    return {
        "left": (x, y + HEIGHT // 2),
        "right": (x + width, y + HEIGHT // 2),
        "top": (x + width // 2, y),
        "bottom": (x + width // 2, y + HEIGHT),
    }[side]
