"""A load balancer as a drawing: floating IP, VIP, listener, pool, members, each with its health.

Made from the `graph` of a report alone, as SVG whose colours are the page's. A tree that grows
downwards: it is as readable on a phone as on paper. Health is a word and a colour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

from ovnlb.desired.model import Operating
from ovnlb.diff.html_parts import Html, clean, el

WIDTH = 400
_INDENT, _GAP, _HEIGHT = 20, 8, 38
# Members drawn in one pool; the others are counted.
_MEMBERS = 24
_TITLE, _SMALL, _STATUS = 6.6, 5.9, 6.9  # average width of a character, in pixels
_STATES = frozenset(Operating)
_WORST = ("ERROR", "DEGRADED", "DRAINING", "OFFLINE", "NO_MONITOR", "UNKNOWN", "ONLINE")

Graph = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Node:
    """One box. `parent`: the number of the box that it hangs on; `status` empty for none."""

    depth: int
    title: str
    small: str
    status: str
    parent: int | None


def drawing(graph: Graph) -> Html:
    """The SVG element."""
    nodes = _nodes(graph)
    height = len(nodes) * (_HEIGHT + _GAP)
    name = clean(graph.get("name") or graph.get("id") or "")
    shapes = [part for number, node in enumerate(nodes) for part in _shapes(number, node, nodes)]
    return el(
        "svg",
        el("title", f"Load balancer {name}"),
        *shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        class_="drawing",
        role="img",
    )


def state_of(item: Graph) -> str:
    """The operating status to show: what it is now, else what Octavia has stored."""
    status = str(item.get("operating_now") or item.get("operating_status") or "")
    return status if status in _STATES else "UNKNOWN"


def _nodes(graph: Graph) -> list[_Node]:
    nodes: list[_Node] = []
    vips = graph["vips"]
    for number, vip in enumerate(vips):
        small, fip = f"port {vip['port_id']}", vip.get("fip")
        if fip and len(vips) == 1:
            nodes.append(_Node(0, f"Floating IP {fip}", "", "", None))
        elif fip:
            small = f"floating IP {fip}, {small}"
        above = len(nodes) - 1 if nodes else None
        title = f"{'Additional VIP' if number else 'VIP'} {vip['address']}"
        nodes.append(_Node(0, title, small, state_of(graph), above))
    root = len(nodes) - 1
    pools = {pool["id"]: pool for pool in graph["pools"]}
    drawn: set[str] = set()
    for listener in graph["listeners"]:
        nodes.append(_Node(1, f"Listener {listener['listens']}", _called(listener), state_of(listener), root))
        at, pool = len(nodes) - 1, pools.get(listener["pool"] or "")
        if pool is None:
            nodes.append(_Node(2, "no default pool", "", "", at))
        elif pool["id"] in drawn:
            nodes.append(_Node(2, f"Pool {pool['name'] or pool['id']}", "drawn above", state_of(pool), at))
        else:
            drawn.add(pool["id"])
            _pool(nodes, pool, 2, at)
    for pool in pools.values():
        if pool["id"] not in drawn:
            _pool(nodes, pool, 1, None)
    return nodes


def _pool(nodes: list[_Node], pool: Graph, depth: int, parent: int | None) -> None:
    title = f"Pool {pool['protocol']} {pool['algorithm']}"
    small = _called(pool) if parent is not None else f"no listener uses it, {_called(pool)}"
    nodes.append(_Node(depth, title, small, state_of(pool), parent))
    at, monitor = len(nodes) - 1, pool["health_monitor"]
    if monitor is not None:
        every = f"every {monitor['delay']} s, timeout {monitor['timeout']} s{_off(monitor)}"
        nodes.append(_Node(depth + 1, f"Monitor {monitor['type']}", every, state_of(monitor), at))
    members = sorted(pool["members"], key=lambda one: _WORST.index(state_of(one)))
    for member in members[:_MEMBERS]:
        small = f"weight {member['weight']}, {_called(member)}"
        nodes.append(_Node(depth + 1, f"Member {member['backend']}", small, state_of(member), at))
    if rest := members[_MEMBERS:]:
        counts = Counter(map(state_of, rest))
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        nodes.append(_Node(depth + 1, f"{len(rest)} more members", told, "", at))


def _called(item: Graph) -> str:
    provisioning = item.get("provisioning_status")
    pending = f", {provisioning}" if provisioning not in (None, "ACTIVE") else ""
    return f"{item['name'] or item['id']}{_off(item)}{pending}"


def _off(item: Graph) -> str:
    return "" if item.get("enabled", True) else ", disabled"


def _shapes(number: int, node: _Node, nodes: Sequence[_Node]) -> Iterator[Html]:
    x, y = node.depth * _INDENT, number * (_HEIGHT + _GAP)
    width = WIDTH - x
    if node.parent is not None:
        yield _edge(number, node, nodes[node.parent])
    state = node.status or "UNKNOWN"
    yield el("rect", x=x, y=y, width=width, height=_HEIGHT, rx=5, class_="box")
    yield el("rect", x=x, y=y, width=5, height=_HEIGHT, rx=2, class_=state)
    room = width - 20 - (len(node.status) + 1) * _STATUS
    yield _text(node.title, x + 12, y + (16 if node.small else 23), int(room / _TITLE), None)
    if node.small:
        yield _text(node.small, x + 12, y + 31, int((width - 20) / _SMALL), "small")
    if node.status:
        yield el("text", node.status, x=WIDTH - 8, y=y + 16, class_=f"status {state}")


def _edge(number: int, node: _Node, parent: _Node) -> Html:
    step = _HEIGHT + _GAP
    start, x = (node.parent or 0) * step + _HEIGHT, parent.depth * _INDENT + 10
    if node.depth == parent.depth:
        return el("path", d=f"M{x} {start}V{number * step}", class_="edge")
    middle = number * step + _HEIGHT // 2
    return el("path", d=f"M{x} {start}V{middle}H{node.depth * _INDENT}", class_="edge")


def _text(text: str, x: int, y: int, room: int, style: str | None) -> Html:
    shown = fitted(clean(text), room)
    whole = (el("title", text),) if shown != clean(text) else ()
    return el("text", *whole, shown, x=x, y=y, class_=style)


def fitted(text: str, room: int) -> str:
    """The text cut to so many columns; wide characters take two."""
    used = 0
    for number, char in enumerate(text):
        used += 2 if east_asian_width(char) in "WF" else 1
        if used > room:
            return text[: max(0, number - 1)].rstrip() + "…"
    return text
