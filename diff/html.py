"""Reports as one self-contained HTML page: of a plan, an apply, orphans, or one load balancer.

Made from the JSON documents alone. No script, no asset from anywhere; it prints, and fits a phone.
What is in sync is a count, so that the page of a large cloud stays small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ovnlb.diff.drawing import drawing
from ovnlb.diff.html_explain import explained, head_of
from ovnlb.diff.html_parts import Html, bullets, chip, el, folded, joined, page, section, table
from ovnlb.diff.html_rows import IMPACT_KINDS, changes_table, rows_beside, traffic
from ovnlb.diff.impact import ORDER, WORDS, Impact
from ovnlb.diff.render import Document, summary_line, value

# Load balancers drawn in full, the worst first, and those listed on a line after them.
DRAWN = 40
LISTED = 1000
# Links to load balancers beside one reason.
_EXAMPLES = 8
_TOLD = ("changes", "effects", "warnings", "waiting", "refused")

_TILES = (
    ("load_balancers", "load balancers", ""),
    ("in_sync", "in sync", "good"),
    ("differ", "differ", "warn"),
    ("drift", "changes of drift", "bad"),
    ("waiting", "wait for Neutron", "warn"),
    ("refused", "refused", "bad"),
    ("errors", "errors", "bad"),
    ("conflicts", "conflicts", "bad"),
    ("orphans", "orphans", "warn"),
    ("foreign_rows", "foreign rows", ""),
)


def plan_page(report: Document, made: str = "") -> str:
    """The page of a plan. `made`: when and of what, for its foot."""
    return page("Load balancers: Octavia and OVN", plan_body(report), made=made)


def apply_page(document: Document, written: Document, made: str = "") -> str:
    """The page of an apply: `document` is its JSON, `written` the report of the plans that were written."""
    failed = [one for one in document["applied"] if one["error"]]
    counts = f"{len(document['applied'])} load balancers looked at, {len(written['load_balancers'])} written."
    return page(
        "Applied to OVN",
        el("p", counts, class_="lead"),
        section("Did not end as it should", bullets(_outcome(one) for one in failed)),
        section("Pruning refused", document["pruning_refused"] or Html()),
        section("Statuses not reported to Octavia", bullets(document["unreported"])),
        section("Pruned", bullets(_pruned(one) for one in document["pruned"])),
        section(
            "Written",
            *(
                _load_balancer(part, anchored=False)
                for part in _worst_first(written["load_balancers"])[:DRAWN]
            ),
        ),
        section("What remains different", plan_body(document["remaining"])),
        made=made,
    )


def orphans_page(document: Document, made: str = "") -> str:
    """The page of `ovnlb orphans`."""
    orphans = document["orphans"]
    lead = (
        f"{len(orphans)} of {document['ours']} objects are left of load balancers that are gone."
        if orphans
        else "No orphans."
    )
    failed = [f"{name}: {why}" for name, why in document["failed"].items()]
    return page(
        "Orphans",
        el("p", lead, class_="lead"),
        section("Pruning refused", document["refused"] or Html()),
        section("Could not be pruned", bullets(failed)),
        section("Pruned", bullets(_pruned(one) for one in document["pruned"])),
        section("Orphans", _orphans(orphans)),
        _foreign(document["foreign_rows"]),
        made=made,
    )


def show_page(document: Document, made: str = "") -> str:
    """The page of `ovnlb show`: one load balancer with its explanation."""
    graph, parts = document["graph"], document["load_balancers"]
    part = {**parts[0], "graph": graph, "found": document["found"]} if parts else None
    return page(
        f"Load balancer {graph.get('name') or graph['id']}" if graph else "Load balancer",
        _errors(document["errors"]),
        *((head_of(graph), explained(document["explain"])) if graph and document.get("explain") else ()),
        section("Drawing, rows and differences", _load_balancer(part)) if part is not None else Html(),
        made=made,
    )


def plan_body(report: Document) -> Html:
    """All of a report but the frame of the page."""
    parts = report["load_balancers"]
    telling = _worst_first([part for part in parts if any(part[name] for name in _TOLD)])
    return joined(
        (
            el("p", summary_line(report), class_="lead"),
            _tiles(report["summary"]),
            section("Traffic", _impacts(report["summary"].get("by_disruption", {}))),
            _errors(report["errors"]),
            section("Conflicts", bullets(item["text"] for item in report["conflicts"])),
            section("Refused", bullets(_of_each(parts, "refused"))),
            section("Waiting for Neutron", bullets(_of_each(parts, "waiting"))),
            section("Drift: nothing in progress explains it", _reasons(parts, True)),
            section("Pending work: Octavia or Neutron asked for it", _reasons(parts, False)),
            section("Orphans", _orphans(report["orphans"])),
            _foreign(report["summary"]["foreign_rows"]),
            section("Load balancers", *map(_load_balancer, telling[:DRAWN]), _rest(telling[DRAWN:])),
            _in_sync(report["summary"]["in_sync"]),
        )
    )


def worst_first(parts: Iterable[Document]) -> list[str]:
    """The ids of the load balancers that a page draws in full."""
    return [part["id"] for part in _worst_first([p for p in parts if any(p[name] for name in _TOLD)])[:DRAWN]]


def _worst_first(parts: Sequence[Document]) -> list[Document]:
    return sorted(
        parts, key=lambda part: (not part["refused"], -_worst(part), -len(part["changes"]), part["id"])
    )


def _worst(part: Document) -> int:
    caused = [item.get("disruption") for item in (*part["changes"], *part["effects"])]
    return max((ORDER.index(Impact(one["impact"])) for one in caused if one), default=0)


# Of the whole cloud


def _tiles(summary: Mapping[str, Any]) -> Html:
    shown = [
        el("div", el("b", summary[key]), el("span", text), class_=f"tile {kind if summary[key] else ''}")
        for key, text, kind in _TILES
        if summary[key] or key in ("load_balancers", "in_sync", "differ", "drift")
    ]
    return el("div", *shown, class_="tiles")


def _impacts(found: Mapping[str, int]) -> Html:
    if not found:
        return Html()
    rows = [
        (chip(name.replace("_", " "), IMPACT_KINDS[Impact(name)]), WORDS[Impact(name)], number)
        for name, number in found.items()
    ]
    return table(("impact", "what it means", "changes"), rows)


def _reasons(parts: Sequence[Document], drift: bool) -> Html:
    counts: dict[str, int] = defaultdict(int)
    ids: dict[str, dict[str, None]] = defaultdict(dict)
    for part in parts:
        for item in part["changes"]:
            if item["drift"] is drift:
                counts[item["reason"]] += 1
                ids[item["reason"]][part["id"]] = None
    rows = [
        (reason, count, joined((len(ids[reason]), Html(": "), _links(list(ids[reason])))))
        for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return table(("reason", "changes", "load balancers"), rows) if rows else Html()


def _links(ids: Sequence[str]) -> Html:
    links = [el("a", lb_id.partition("-")[0], href=f"#lb-{lb_id}", title=lb_id) for lb_id in ids[:_EXAMPLES]]
    more = len(ids) - _EXAMPLES
    return joined((joined(links, " "), Html(f" and {more} more") if more > 0 else Html()))


def _of_each(parts: Iterable[Document], key: str) -> Iterable[str]:
    return (f"{part['id']}: {item}" for part in parts for item in part[key])


def _errors(errors: Sequence[Document]) -> Html:
    told = (
        item["reason"] if item["id"] in item["reason"] else f"{item['id']}: {item['reason']}"
        for item in errors
    )
    return section("Errors: could not be planned", bullets(told))


def _orphans(orphans: Sequence[Document]) -> Html:
    return bullets(item.get("text") or value(item) for item in orphans)


def _foreign(count: int) -> Html:
    return (
        section("Foreign rows", el("p", f"{count} rows of somebody else, never touched."))
        if count
        else Html()
    )


def _in_sync(count: int) -> Html:
    return el("p", f"{count} load balancers are in sync and not listed.", class_="soft") if count else Html()


def _rest(parts: Sequence[Document]) -> Html:
    """The load balancers that are not drawn, a line each."""
    if not parts:
        return Html()
    rows = [
        (el("code", part["id"], id=f"lb-{part['id']}"), len(part["changes"]), _why(part), _impact_chips(part))
        for part in parts[:LISTED]
    ]
    more = len(parts) - LISTED
    return joined(
        (
            el("h3", f"{len(parts)} more, in short"),
            table(("load balancer", "changes", "reasons", "traffic"), rows),
            el("p", f"{more} more are only in the JSON report.", class_="soft") if more > 0 else Html(),
        )
    )


def _why(part: Document) -> str:
    return ", ".join(dict.fromkeys(item["reason"] for item in part["changes"]))


# Of one load balancer


def _load_balancer(part: Document, anchored: bool = True) -> Html:
    graph = part.get("graph")
    name = joined((graph["name"], Html(" "))) if graph and graph.get("name") else Html()
    pictured = _beside(part, graph)
    return el(
        "article",
        el("h3", name, el("code", part["id"])),
        el("div", _chips(part), _impact_chips(part)),
        bullets(f"refused: {why}" for why in part["refused"]),
        bullets(f"waiting for Neutron: {name}" for name in part["waiting"]),
        bullets(f"warning: {item['text']} ({item['code']})" for item in part["warnings"]),
        pictured,
        _changes(part, folded_up=bool(pictured)),
        id=f"lb-{part['id']}" if anchored else None,
    )


def _chips(part: Document) -> Html:
    drift = sum(item["drift"] for item in part["changes"])
    return joined(
        (
            chip("in sync", "good") if part["in_sync"] else Html(),
            chip(f"{drift} of drift", "bad") if drift else Html(),
            chip(f"{len(part['changes']) - drift} in progress", "info")
            if len(part["changes"]) > drift
            else Html(),
            chip("refused", "bad") if part["refused"] else Html(),
            chip("waits for Neutron", "warn") if part["waiting"] else Html(),
        )
    )


def _impact_chips(part: Document) -> Html:
    found = {item["disruption"]["impact"] for item in part["changes"] if item.get("disruption")}
    shown = [impact for impact in reversed(ORDER) if impact in found and impact is not Impact.NONE]
    return joined(chip(impact.replace("_", " "), IMPACT_KINDS[impact]) for impact in shown)


def _beside(part: Document, graph: Document | None) -> Html:
    """The drawing with the rows beside it."""
    if not graph:
        return rows_beside(part) if part.get("found") else Html()
    return el("div", el("div", drawing(graph)), el("div", rows_beside(part)), class_="beside")


def _changes(part: Document, folded_up: bool) -> Html:
    drift = [item for item in part["changes"] if item["drift"]]
    work = [item for item in part["changes"] if not item["drift"]]
    blocks = (
        *((el("h4", "Drift"), changes_table(drift)) if drift else ()),
        *((el("h4", "In progress"), changes_table(work)) if work else ()),
        *((el("h4", "In Neutron"), _effects(part["effects"])) if part["effects"] else ()),
    )
    if not blocks:
        return Html()
    count = len(part["changes"]) + len(part["effects"])
    return folded(f"{count} changes and what they do to traffic", *blocks, shown=not folded_up or count < 40)


def _effects(effects: Sequence[Document]) -> Html:
    rows = [
        (
            joined((el("b", item["kind"].replace("_", " ")), Html(" "), el("code", item["target"]))),
            item["reason"],
            traffic(item.get("disruption")),
        )
        for item in effects
    ]
    return table(("effect", "reason", "traffic"), rows)


def _outcome(item: Document) -> str:
    return f"{item['id']}: {item['result']}: {item['error']}"


def _pruned(item: Document) -> str:
    return f"{item['name']}: {len(item['changes'])} rows, {len(item['effects'])} ports"
