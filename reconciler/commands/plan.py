"""`ovnlb plan`: what differs, and what would be done about it. Writes nothing, asks for no lock.

With everything in scope it lists orphans, too: they count as a difference.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ovnlb.desired.graph import collector_paused
from ovnlb.reconciler.apply_once import orphans_of, plan_once
from ovnlb.reconciler.commands.options import add_inputs, add_report, inputs, scope
from ovnlb.reconciler.commands.output import emit, progress, rendered, say
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.live import LiveInputs
from ovnlb.reconciler.passes import pass_document, status_messages
from ovnlb.reconciler.saved_plans import SavedPlanError, save
from ovnlb.reconciler.walk import walk_all


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_inputs(parser, bundle=True)
    add_report(parser)
    parser.add_argument(
        "--with",
        dest="extra",
        action="append",
        choices=("desired", "statuses"),
        default=[],
        help="add the desired rows, or the status messages that Octavia would get",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="save the plan for ovnlb apply FILE, which refuses if anything moves"
    )


def run(options: Namespace) -> Exit:
    """Plan what is in scope and print the report."""
    wanted = scope(options)
    if options.out and options.bundle:
        raise SavedPlanError(f"saved plan {options.out}: a plan made from a bundle cannot be applied")
    # Everything that a plan of a large cloud makes lives until it is printed: nothing to collect.
    with collector_paused(), inputs(options) as found:
        live = found if isinstance(found, LiveInputs) else None
        if live is not None and options.out:
            # As an apply will plan: it knows more of ports than a process that only looks.
            done = plan_once(live, wanted, progress)
        else:
            done = walk_all(found.graph(wanted), found.world, progress)
        orphans = None if live is None else orphans_of(live, wanted)
    report = pass_document(done, "desired" in options.extra, orphans, pictured=options.format == "html")
    if "statuses" in options.extra:
        report["statuses"] = status_messages(done)
    emit(rendered(report, options.format, options.verbose))
    if options.out:
        save(options.out, [one.plan for one in done.walked], wanted, [one.lb_id for one in done.failed])
        say(f"{options.out}: {len(done.walked)} plans saved")
    return plan_exit(report["summary"])
