"""`ovnlb orphans`: what is left of load balancers that are gone, and pruning it.

Listing reads once and asks for no lock. Pruning reads twice, works under the limits, and is done by
whoever holds the lock: this process, else the daemon of the host. Source: architecture.md section 6.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from ovnlb.desired.orphans import Sighting
from ovnlb.diff import html, report
from ovnlb.diff.orphans import Judged, as_json, first_in_conflict, judge, refusal, torn_by
from ovnlb.diff.policy import Policy, PruneLimits
from ovnlb.reconciler import holder
from ovnlb.reconciler.commands.options import add_config, scope, settings
from ovnlb.reconciler.commands.output import FORMATS, emit, made, say
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import LiveInputs, live_inputs
from ovnlb.reconciler.one_shot import living_rows, search_of
from ovnlb.reconciler.orphans import Pruned, Search, confirmed, prune


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_config(parser)
    parser.add_argument(
        "--lb", action="append", default=[], metavar="ID", help="list only what is left of it"
    )
    parser.add_argument("--project", metavar="ID", help="list only objects whose VIP port is of this project")
    parser.add_argument("--format", choices=FORMATS, default="text", help="form of the report")
    parser.add_argument(
        "--prune",
        action="store_true",
        help="remove what is proven to be an orphan; reads twice, [ovnlb]prune_grace seconds apart",
    )
    parser.add_argument("--prune-max-count", type=int, metavar="N", help="prune at most N objects")
    parser.add_argument("--prune-max-percent", type=float, metavar="P", help="prune at most P %% of ours")
    parser.add_argument(
        "--undated",
        action="store_true",
        help="prune rows, too, whose VIP port has gone from Neutron, so that their age is unknown",
    )
    parser.add_argument("--take-lock", action="store_true", help="take the lock from a hung holder")
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="SECONDS", help="how long a daemon may take"
    )


def run(
    options: Namespace,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Exit:
    """0 when there are no orphans (left), 2 when there are, 3 when pruning is refused, 1 for a failure."""
    wanted, found_settings = scope(options), settings(options)
    why = _forbidden(options, wanted, Policy(found_settings.policy))
    if why:
        say(why)
        return Exit.REFUSED
    with live_inputs(found_settings, lock=options.prune, notice=say) as found:
        search = search_of(found, clock)
        if not options.prune:
            sighting = search.look()
            judged = judge(sighting, grace=found_settings.prune.grace, undated=options.undated)
            shown = [one for one in judged if _in_scope(one, wanted)]
            emit(_rendered(document(shown, sighting, Pruned()), options.format))
            return Exit.DIFFERS if shown else Exit.IN_SYNC
        return _prune(found, search, options, pause)


def _forbidden(options: Namespace, wanted: Scope, policy: Policy) -> str:
    """Why these options must not prune, before anything is connected; empty when they may."""
    if options.prune and wanted.partial:
        return "a part of the load balancers never prunes: use --prune without --lb and --project"
    if options.prune and policy is Policy.OBSERVE_ONLY:
        return "policy observe-only: nothing is pruned; set [ovnlb] policy = sync"
    return ""


def _in_scope(one: Judged, wanted: Scope) -> bool:
    """Whether a listing that is limited to some load balancers or a project shows it."""
    ids = not wanted.ids or one.orphan.lb_id in wanted.ids
    return ids and wanted.project in (None, one.orphan.project_id)


def _limits(found: LiveInputs, options: Namespace) -> PruneLimits:
    """The configured limits, each replaced by its option where that was given."""
    configured = found.settings.prune
    count = configured.max_count if options.prune_max_count is None else options.prune_max_count
    percent = configured.max_percent if options.prune_max_percent is None else options.prune_max_percent
    return PruneLimits(count, percent)


def _prune(found: LiveInputs, search: Search, options: Namespace, pause: Callable[[float], None]) -> Exit:
    """Confirm, prune what may go, and report what is left; see `run` for the exit codes."""
    limits, grace = _limits(found, options), found.settings.prune.grace
    sighting, judged = confirmed(search, grace, pause, undated=options.undated)
    judged = first_in_conflict(judged, torn_by(sighting.orphans, living_rows(found)))
    if not any(one.prunable for one in judged):
        done = Pruned()
    # Refused before anybody is asked for the lock: a daemon must not be bothered with it.
    elif why := refusal(judged, sighting.ours, limits):
        done = Pruned(refused=why)
    elif holder.take_lock(found, options.take_lock, say):
        done = prune(search, judged, sighting.ours, limits)
    else:
        done = _by_daemon(found, search, judged, limits, options)
    left = search.look()
    emit(_rendered(document(_again(left, judged), left, done), options.format))
    if done.failed:
        return Exit.ERROR
    return Exit.REFUSED if done.refused else (Exit.DIFFERS if left.orphans else Exit.IN_SYNC)


def _again(left: Sighting, judged: Sequence[Judged]) -> list[Judged]:
    """What is still there, with the judgement of before where there was one."""
    known = {one.orphan.key: one.why for one in judged}
    return [Judged(one.orphan, known.get(one.orphan.key, one.why)) for one in judge(left)]


def _by_daemon(
    found: LiveInputs, search: Search, judged: Sequence[Judged], limits: PruneLimits, options: Namespace
) -> Pruned:
    """The holder of the lock prunes for us."""
    say(holder.taken(found))
    keys = {one.orphan.key for one in judged if one.prunable}
    request = {
        "objects": sorted(keys),
        "max_count": limits.count,
        "max_percent": limits.percent,
        "undated": options.undated,
    }
    if why := holder.hand_over_pruning(found, request):
        return Pruned(failed={"orphans": f"nothing was pruned: {why}; --take-lock takes the lock"})
    gone = holder.until(lambda: keys.isdisjoint(one.key for one in search.look().orphans), options.timeout)
    return Pruned() if gone else Pruned(failed={"orphans": "the daemon has not pruned them all; see its log"})


def document(judged: Sequence[Judged], sighting: Sighting, done: Pruned) -> dict[str, Any]:
    """The report: what there is, and what was done."""
    return {
        "format_version": report.FORMAT_VERSION,
        "orphans": [as_json(one) for one in judged],
        "foreign_rows": sighting.foreign,
        "ours": sighting.ours,
        "pruned": [
            {
                "name": plan.lb_id,
                "changes": [report.change(item) for item in plan.changes],
                "effects": [report.effect(item) for item in plan.effects],
            }
            for plan in done.plans
        ],
        "refused": done.refused,
        "failed": dict(done.failed),
    }


def _rendered(document: dict[str, Any], form: str) -> str:
    if form == "json":
        return report.dumps(document)
    if form == "html":
        return html.orphans_page(document, made=made())
    bullet = "- " if form == "markdown" else ""
    lines = [f"{bullet}{item['text']}" for item in document["orphans"]]
    for item in document["pruned"]:
        rows, ports = len(item["changes"]), len(item["effects"])
        lines.append(f"{bullet}pruned of {item['name']}: {rows} rows, {ports} ports")
    lines += [f"{bullet}left of {name}: {why}" for name, why in document["failed"].items()]
    if document["refused"]:
        lines.append(f"{bullet}refused: {document['refused']}")
    title = ["# Orphans", ""] if form == "markdown" else []
    count = len(document["orphans"])
    end = (
        f"{count} orphan{'' if count == 1 else 's'} of {document['ours']} objects, "
        if count
        else "No orphans, "
    )
    return "\n".join(
        [*title, *lines, f"{end}{document['foreign_rows']} rows of somebody else, never touched."]
    )
