"""The HTML pages: well-formed, self-contained, escaped, small, fit for a phone and for paper."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import report_world
from ovnlb.diff import html, report
from ovnlb.diff.conflicts import Conflict
from ovnlb.diff.drawing import drawing, fitted
from ovnlb.diff.html_parts import POLICY, Html, clean, el, safe
from ovnlb.diff.html_rows import CHANGES, changes_table
from ovnlb.diff.plan import Change, Op, Plan, Reason
from ovnlb.reconciler.explained import explanation
from ovnlb.reconciler.graph_document import graph
from ovnlb.reconciler.passes import pass_document
from report_world import HOSTILE

REPORT = Path(__file__).parents[1] / "cases" / "report" / "everything.json"
SVG = "{http://www.w3.org/2000/svg}"
Document = dict[str, Any]


def shown() -> Document:
    """The document of `ovnlb show` about the load balancer that has everything."""
    around = report_world.world(report_world.drifted())
    walked = report_world.walked(around=around)
    daemon = {"role": "leader", "last": {"result": "transient", "error": HOSTILE}, "next_retry_in": 3.5}
    return {
        **pass_document(report_world.one_pass(walked), with_desired=True),
        "found": report.state(walked.plan.have),
        "graph": graph(walked),
        "explain": explanation(walked, around, None, daemon),
    }


def planned() -> Document:
    """A plan that draws its load balancers, with errors, orphans and conflicts of hostile names."""
    around = report_world.world(report_world.drifted())
    walks = report_world.one_pass(report_world.walked(around=around))
    document = pass_document(walks, False, pictured=True)
    document["errors"] = [{"id": HOSTILE, "reason": HOSTILE}]
    document["orphans"] = [{"text": HOSTILE}]
    document["conflicts"] = [{"text": Conflict(HOSTILE, "tcp", (HOSTILE,), (HOSTILE,)).text}]
    document["load_balancers"][0]["refused"] = [HOSTILE]
    document["load_balancers"][0]["waiting"] = [HOSTILE]
    document["summary"] |= {"foreign_rows": 3, "conflicts": 1, "orphans": 1, "errors": 1, "in_sync": 9999}
    return document


def applied() -> str:
    """The page of an apply in which everything happened."""
    plan = planned()
    one = plan["load_balancers"][0]
    pruned = {"name": HOSTILE, "changes": one["changes"][:1], "effects": []}
    document = {
        "applied": [{"id": HOSTILE, "result": "terminal", "error": HOSTILE, "changes": []}],
        "pruned": [pruned],
        "pruning_refused": HOSTILE,
        "unreported": [HOSTILE],
        "remaining": plan,
    }
    return html.apply_page(document, plan, made=HOSTILE)


def orphaned() -> str:
    """The page of orphans, one of which could not be pruned."""
    document = {
        "orphans": [{"text": HOSTILE}],
        "foreign_rows": 2,
        "ours": 7,
        "pruned": [{"name": HOSTILE, "changes": [], "effects": []}],
        "refused": HOSTILE,
        "failed": {HOSTILE: HOSTILE},
    }
    return html.orphans_page(document)


PAGES = {
    "show": lambda: html.show_page(shown()),
    "plan": lambda: html.plan_page(planned()),
    "plan-without-pictures": lambda: html.plan_page(json.loads(REPORT.read_text())),
    "plan-in-sync": lambda: html.plan_page(report.document([Plan("1")])),
    "apply": applied,
    "orphans": orphaned,
}
every_page = pytest.mark.parametrize("name", PAGES)


@cache
def page(name: str) -> str:
    """One of the pages, made once."""
    return PAGES[name]()


def tree(name: str) -> ElementTree.Element:
    """The page read by an XML parser, which forgives nothing."""
    return ElementTree.fromstring(page(name).removeprefix("<!DOCTYPE html>\n"))


def texts(root: ElementTree.Element) -> Iterator[str]:
    """All text of a page but its style."""
    for item in root.iter():
        if item.tag != "style":
            yield from (item.text or "", item.tail or "", *item.attrib.values())


@every_page
def test_page_is_well_formed_and_has_its_parts(name: str) -> None:
    """One document: language, character set, a title, one heading, and no id twice."""
    root = tree(name)
    assert page(name).startswith('<!DOCTYPE html>\n<html lang="en">')
    assert root.find("head/title").text
    assert root.find("head/meta[@charset]").get("charset") == "utf-8"
    assert len(list(root.iter("h1"))) == 1
    ids = [item.get("id") for item in root.iter() if item.get("id")]
    assert len(ids) == len(set(ids))


@every_page
def test_page_asks_for_nothing(name: str) -> None:
    """No script, no frame, no image, no link that leaves the page, and a policy that forbids them."""
    root = tree(name)
    tags = {item.tag.removeprefix(SVG) for item in root.iter()}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "image", "use"}
    for item in root.iter():
        assert not [key for key in item.attrib if key.startswith("on") or key in ("src", "style", "action")]
        assert item.get("href", "#").startswith("#")
    assert not re.search(r"url\(|@import|expression\(", root.find("head/style").text)
    assert root.find("head/meta[@http-equiv]").get("content") == POLICY


@every_page
def test_names_cannot_become_markup(name: str) -> None:
    """What a user called something is text; what would not show in it does."""
    source = page(name)
    assert "<script" not in source
    assert "<img" not in source
    assert not [char for char in source if not char.isprintable() and char != "\n"]
    if name not in ("plan-without-pictures", "plan-in-sync"):
        assert any(clean(HOSTILE) in text for text in texts(tree(name)))


@every_page
def test_page_fits_a_phone_and_paper(name: str) -> None:
    """The viewport of a phone, rules for narrow screens and for print, and cells that name their column."""
    root = tree(name)
    assert root.find("head/meta[@name='viewport']").get("content") == "width=device-width, initial-scale=1"
    style = root.find("head/style").text
    assert style.count("{") == style.count("}")
    assert "@media screen and (max-width: 760px)" in style
    assert "@media print" in style
    assert "details::details-content" in style
    assert all(cell.get("data-label") for cell in root.iter("td"))


def test_plan_page_keeps_drift_apart() -> None:
    """What differs by reason, drift before work in progress, and what belongs to nobody counted."""
    titles = [item.text for item in tree("plan").iter("h2")]
    for title in ("Traffic", "Conflicts", "Refused", "Waiting for Neutron", "Orphans", "Foreign rows"):
        assert title in titles
    assert titles.index("Drift: nothing in progress explains it") < titles.index("Load balancers")
    said = " ".join(texts(tree("plan")))
    assert "3 rows of somebody else, never touched." in said
    assert "9999 load balancers are in sync" in said
    both = [item.text for item in tree("plan-without-pictures").iter("h2")]
    assert both.index("Drift: nothing in progress explains it") < both.index(
        "Pending work: Octavia or Neutron asked for it"
    )


def test_load_balancer_is_drawn_beside_its_rows() -> None:
    """The drawing and the rows are neighbours, and each change says what it does to traffic."""
    (beside,) = [item for item in tree("plan").iter("div") if item.get("class") == "beside"]
    pictured, rows = list(beside)
    assert pictured.find(f"{SVG}svg") is not None
    assert any("vips[" in (item.text or "") for item in rows.iter("code"))
    assert list(rows.iter("del"))
    assert list(rows.iter("ins"))
    (table,) = [item for item in tree("plan").iter("table") if item.get("class") == "changes"]
    assert {cell.get("data-label") for cell in table.iter("td")} == {
        "change",
        "before and after",
        "reason",
        "traffic",
    }
    assert "service begins" in " ".join(text for text in texts(table))


def test_show_page_explains() -> None:
    """Causes, the architecture with what it lacks, the limits of the release and the service's view."""
    said = " ".join(texts(tree("show")))
    for text in ("monitor_offline", "no_route", "Public to private", "lacking", "OVN 23.03.1", "transient"):
        assert text in said


def nodes(lb_graph: Document) -> list[tuple[str, str]]:
    """Title and status class of every box of a drawing, from top to bottom."""
    root = ElementTree.fromstring(drawing(lb_graph))
    titles = [item for item in root.iter(f"{SVG}text") if item.get("class") is None]
    bars = [item.get("class") for item in root.iter(f"{SVG}rect") if item.get("class") != "box"]
    assert len(titles) == len(bars)
    return [("".join(title.itertext()), bar) for title, bar in zip(titles, bars, strict=True)]


def test_drawing_goes_from_floating_ip_to_members() -> None:
    """Floating IP, VIP, listener, pool, monitor, members by health; the second listener's pool once."""
    found = nodes(graph(report_world.walked()))
    names = [title for title, _ in found]
    assert names[:5] == [
        "Floating IP 203.0.113.10",
        "VIP 10.0.0.10",
        "Listener TCP:80",
        "Pool TCP SOURCE_IP_PORT",
        "Monitor TCP",
    ]
    states = dict(found)
    assert states["Member 10.0.0.22 80"] == "ERROR"
    assert states["Member 10.0.0.21 80"] == "ONLINE"
    assert states["Member 10.2.0.27 80"] == "DRAINING"
    assert states["Listener TCP:443"] == "DEGRADED"
    assert sum(name.startswith("Pool") for name in names) == 3


def test_drawing_stays_readable_with_many_members() -> None:
    """The worst are drawn, the others counted; nothing is wider or higher than the drawing."""
    lb_graph = graph(report_world.walked())
    members = lb_graph["pools"][0]["members"]
    lb_graph["pools"][0]["members"] = [members[0]] * 500 + [members[1]]
    found = nodes(lb_graph)
    assert len(found) < 40
    assert ("Member 10.0.0.22 80", "ERROR") in found
    root = ElementTree.fromstring(drawing(lb_graph))
    _, _, width, height = map(float, root.get("viewBox").split())
    for item in root.iter(f"{SVG}rect"):
        assert float(item.get("x")) + float(item.get("width")) <= width
        assert float(item.get("y")) + float(item.get("height")) <= height


def test_drawing_of_several_vips_and_of_none() -> None:
    """Each address has its box; a load balancer without listeners is its VIP."""
    lb_graph = graph(report_world.walked())
    lb_graph["vips"].append({"address": "fd00::1", "port_id": "p", "subnet_id": "s", "fip": None})
    assert [name for name, _ in nodes(lb_graph)][:2] == ["VIP 10.0.0.10", "Additional VIP fd00::1"]
    assert len(nodes({**lb_graph, "listeners": [], "pools": []})) == 2


@pytest.mark.parametrize(
    ("text", "room", "shown"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 4, "日…"), ("", 0, "")]
)
def test_text_is_cut_to_its_room(text: str, room: int, shown: str) -> None:
    """Wide characters take two columns."""
    assert fitted(text, room) == shown


def test_large_cloud_is_a_small_page() -> None:
    """10,000 load balancers in sync and a few that differ: kilobytes, in seconds."""
    plans = [Plan(f"{number:08}-0000-4000-8000-000000000000") for number in range(10_000)]
    around = report_world.world(report_world.drifted())
    broken = report_world.walked(around=around).plan
    begun = time.process_time()
    small = html.plan_page(report.document([*plans, broken], with_desired=False))
    assert time.process_time() - begun < 10
    assert len(small) < 60_000
    assert "10000 load balancers are in sync" in small


def test_cloud_without_rows_is_still_a_page() -> None:
    """Everything differs: the worst are drawn, others are a line each, the rest a count."""
    walked = report_world.walked()
    part = pass_document(report_world.one_pass(walked), False, pictured=True)["load_balancers"][0]
    document = report.document([walked.plan] * 2, with_desired=False)
    document["load_balancers"] = [{**part, "id": f"{number:08}-lb"} for number in range(3000)]
    assert len(html.worst_first(document["load_balancers"])) == html.DRAWN
    made = html.plan_page(document)
    assert made.count("<svg") == html.DRAWN
    assert "1960 more are only in the JSON report." in made
    assert len(made) < 3_000_000


def test_long_lists_of_changes_end() -> None:
    """A pool of thousands does not make a page of megabytes."""
    item = report.change(Change(Op.SET, "Load_Balancer", "u", "vips", "k", "x" * 5000, "y", Reason.DRIFTED))
    made = changes_table([item] * (CHANGES + 5))
    assert "5 more changes" in made
    assert "x" * 700 not in made
    assert changes_table([]) == ""


def test_pages_need_only_the_json() -> None:
    """A document that went through a file gives the same page."""
    assert html.plan_page(json.loads(report.dumps(planned()))) == page("plan")
    assert html.show_page(json.loads(report.dumps(shown()))) == page("show")


def test_markup_is_only_what_was_made_here() -> None:
    """Text is escaped once, markup never twice, attributes always."""
    assert safe("<b>") == "&lt;b&gt;"
    assert safe(Html("<b/>")) == "<b/>"
    assert el("p", "a & b", class_='"x"', title=None) == '<p class="&quot;x&quot;">a &amp; b</p>'
    assert el("meta", charset="utf-8") == '<meta charset="utf-8"/>'
    assert clean("a\x00b\u202e\ud800") == "a\\x00b\\u202e\\ud800"


def test_unknown_load_balancer_has_a_page() -> None:
    """One that cannot be read as a graph shows its error."""
    document = {**report.document([], errors={"x": "no VIP"}), "graph": {}, "found": {}, "explain": {}}
    assert "no VIP" in html.show_page(document)


def test_deleted_and_missing_rows() -> None:
    """A row that goes says so, one that comes shows all it will have."""
    gone = report_world.everything(provisioning_status="PENDING_DELETE")
    around = report_world.world(report_world.settled())
    document = pass_document(report_world.one_pass(report_world.walked(gone, around)), False, pictured=True)
    assert "will be deleted" in html.plan_page(document)
    new = replace(report_world.everything(), provisioning_status="PENDING_CREATE")
    document = pass_document(report_world.one_pass(report_world.walked(new)), False, pictured=True)
    made = html.plan_page(document)
    assert "will be added" in made
    assert "It has no rows" not in made
