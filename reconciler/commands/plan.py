"""`ovnlb plan`: what differs, and what would be done about it. Writes nothing, asks for no lock."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ovnlb.reconciler.commands.options import add_inputs, add_report, inputs, scope
from ovnlb.reconciler.commands.output import emit, progress, rendered
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.passes import pass_document, status_messages
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


def run(options: Namespace) -> Exit:
    """Plan what is in scope and print the report."""
    with inputs(options) as found:
        done = walk_all(found.graph(scope(options)), found.world, progress)
    report = pass_document(done, "desired" in options.extra)
    if "statuses" in options.extra:
        report["statuses"] = status_messages(done)
    emit(rendered(report, options.format, options.verbose))
    return plan_exit(report["summary"])
