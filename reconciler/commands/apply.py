"""`ovnlb apply`: the whole walk of everything in scope, once."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from ovnlb.diff import report
from ovnlb.reconciler.commands.options import add_inputs, add_report, scope, settings
from ovnlb.reconciler.commands.output import emit, progress, rendered, say
from ovnlb.reconciler.errors import NotLeader
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import LiveInputs, live_inputs
from ovnlb.reconciler.passes import pass_document
from ovnlb.reconciler.report_once import report_once
from ovnlb.reconciler.rounds import SETTLED, Done, play
from ovnlb.reconciler.status_socket import StatusSocket
from ovnlb.reconciler.walk import walk_all

# Load balancers in one transaction: northd works as long for one as for hundreds.
BATCH = 200
_LOCK_PATIENCE = 3.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_inputs(parser)
    add_report(parser)


def run(options: Namespace) -> Exit:
    """Apply what is in scope, then say what was done and what remains different."""
    wanted = scope(options)
    with live_inputs(settings(options), lock=True, notice=say) as found:
        require_lock(found)
        done = tuple(apply_all(found, wanted))
        unreported = report_once(done, StatusSocket(found.settings.sockets), found.statuses, say)
        left = walk_all(found.graph(wanted), found.world, progress)
    remaining = pass_document(left, with_desired=False)
    emit(_text(done, unreported, remaining, options))
    code = plan_exit(remaining["summary"])
    failed = bool(unreported) or any(item.result not in SETTLED for item in done)
    return Exit.ERROR if code is Exit.DIFFERS or (failed and code is Exit.IN_SYNC) else code


def require_lock(found: LiveInputs) -> None:
    """Wait for the OVSDB lock for a moment. Raises NotLeader: another process writes."""
    if not found.nb.wait_for(lambda: found.nb.has_lock, _LOCK_PATIENCE):
        raise NotLeader(
            f"another process holds the lock of {found.settings.nb.remotes} (a running ovnlb, or the "
            "agent of ovn-octavia-provider): nothing was written; stop it, or let it do the work"
        )


def apply_all(found: LiveInputs, wanted: Scope) -> Iterator[Done]:
    """Apply everything in scope, batch by batch; one outcome a load balancer."""
    graph = found.graph(wanted)
    ids = [lb.id for lb in graph.load_balancers] + [broken.id for broken in graph.broken]
    means = found.means(graph)
    for start in progress(range(0, len(ids), BATCH), "batches"):
        yield from play(ids[start : start + BATCH], means)


def document(done: Sequence[Done], unreported: Sequence[str], remaining: dict[str, Any]) -> dict[str, Any]:
    """What was done, whose verdicts Octavia could not be told, and what remains different."""
    return {
        "format_version": report.FORMAT_VERSION,
        "applied": [
            {
                "id": item.lb_id,
                "result": str(item.result),
                "error": item.error,
                "changes": [report.change(change) for plan in item.plans for change in plan.changes],
            }
            for item in done
        ],
        "unreported": list(unreported),
        "remaining": remaining,
    }


def _text(
    done: Sequence[Done], unreported: Sequence[str], remaining: dict[str, Any], options: Namespace
) -> str:
    if options.format == "json":
        return report.dumps(document(done, unreported, remaining))
    plans = [plan for item in done for plan in item.plans]
    applied = report.document(plans, with_desired=False)
    failures = [f"{item.lb_id}: {item.result}: {item.error}" for item in done if item.result not in SETTLED]
    parts = [
        rendered(applied, options.format, options.verbose).rstrip()
        if plans
        else "Nothing had to be written.",
        *failures,
        *(f"{lb_id}: its statuses are not reported to Octavia" for lb_id in unreported),
        f"Applied: {len(done)} load balancers looked at, {len(plans)} written, {len(failures)} not settled.",
        "Remaining:",
        rendered(remaining, options.format, options.verbose),
    ]
    return "\n".join(parts)
