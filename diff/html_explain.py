"""The explanation of `ovnlb show` as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ovnlb.diff.html_parts import Html, chip, el, joined, section, table

Part = Mapping[str, Any]
_KINDS = {"ONLINE": "good", "ACTIVE": "good", "ERROR": "bad", "DEGRADED": "warn", "DRAINING": "info"}


def head_of(graph: Part) -> Html:
    """Who it is, and its two statuses."""
    now = graph["operating_now"] or graph["operating_status"]
    return joined(
        (
            el("p", el("code", graph["id"]), f" of project {graph['project_id']}"),
            el(
                "p",
                _status(graph["provisioning_status"]),
                _status(now),
                "" if graph["enabled"] else "disabled",
            ),
        )
    )


def explained(found: Part) -> Html:
    """All answers, those to questions that do not arise left out."""
    return joined(
        (
            section("Why it is not settled", _unsettled(found), _findings(found["pending"])),
            section("Members that have something to tell", _members(found["members"])),
            section("Network", _network(found["network"])),
            section("Known limits of this OVN", _version(found["ovn"]), _findings(found["ovn"]["limits"])),
            section("The service of this host", _daemon(found["daemon"])),
            *(el("p", note, class_="soft") for note in (found["neutron"], found["southbound"]) if note),
        )
    )


def _status(status: str) -> Html:
    kind = _KINDS.get(status, "warn" if status.startswith("PENDING") else "quiet")
    return chip(status, kind)


def _unsettled(found: Part) -> Html:
    rows = [(item["kind"], el("code", item["id"]), _status(item["status"])) for item in found["unsettled"]]
    since = el("p", f"Octavia last changed it at {found['changed_at']}.") if found["changed_at"] else Html()
    return joined((since, table(("object", "id", "status"), rows))) if rows else Html()


def _findings(items: Iterable[Part]) -> Html:
    found = [
        el("li", item["text"], Html(" "), el("code", item["code"], class_="bad" if item["cause"] else "soft"))
        for item in items
    ]
    return el("ul", *found) if found else Html()


def _members(items: Iterable[Part]) -> Html:
    rows = [
        (
            joined((el("b", item["backend"], class_="whole"), el("div", item["name"] or item["id"]))),
            _status(item["status"]),
            _findings(item["findings"]) or el("span", "nothing that we see explains it", class_="soft"),
        )
        for item in items
    ]
    return table(("member", "status", "why"), rows) if rows else Html()


def _network(found: Part) -> Html:
    marks = {True: chip("there", "good"), False: chip("lacking", "bad"), None: chip("not needed", "quiet")}
    rows = [(need["what"].replace("_", " "), marks[need["met"]], need["text"]) for need in found["needs"]]
    return joined(
        (
            el("p", el("b", found["architecture"].replace("_", " ").capitalize()), f": {found['text']}."),
            table(("needs", "state", "what is known"), rows) if rows else Html(),
        )
    )


def _version(found: Part) -> Html:
    return el("p", f"OVN {found['version']}" if found["version"] else "ovn-northd has not noted its release.")


def _daemon(found: Part | None) -> Html:
    if not found:
        return el("p", "No daemon answers on this host.", class_="soft")
    last = found.get("last") or {}
    told = (
        ("role", found.get("role")),
        ("pending for", None if found.get("pending_since") is None else f"{found['pending_since']:.0f} s"),
        ("last outcome", last.get("result")),
        ("last error", last.get("error")),
        ("next try in", None if found.get("next_retry_in") is None else f"{found['next_retry_in']} s"),
        ("failures", found.get("failures")),
        ("report waits", found.get("report_waits")),
    )
    return table(("what", "value"), [(name, item) for name, item in told if item not in (None, "")])
