"""`ovnlb show LB`: all about one load balancer, and why it is as it is. Writes nothing, asks for no lock."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import Any

from ovnlb.desired.rows import NbState
from ovnlb.diff import html, report
from ovnlb.reconciler.commands.options import add_inputs, add_report, inputs
from ovnlb.reconciler.commands.output import emit, made
from ovnlb.reconciler.commands.show_text import text
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.explained import explanation
from ovnlb.reconciler.graph_document import graph
from ovnlb.reconciler.inputs import Inputs, Scope, UnknownLoadBalancer
from ovnlb.reconciler.live import LiveInputs
from ovnlb.reconciler.nudge_socket import ask
from ovnlb.reconciler.passes import pass_document
from ovnlb.reconciler.walk import walk_all

# How long a daemon may take to say what it thinks, in seconds.
_PATIENCE = 1.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("id", metavar="LB", help="id of the load balancer")
    add_inputs(parser, bundle=True)
    add_report(parser)


def run(options: Namespace) -> Exit:
    """Print the graph, the desired and the found rows, the differences, and what explains them."""
    with inputs(options) as found:
        document = shown(found, options.id)
    match options.format:
        case "json":
            emit(report.dumps(document))
        case "html":
            emit(html.show_page(document, made=made()))
        case _:
            emit(text(document))
    return plan_exit(document["summary"])


def shown(found: Inputs, lb_id: str) -> dict[str, Any]:
    """The document of one load balancer. Raises UnknownLoadBalancer."""
    live = found if isinstance(found, LiveInputs) else None
    done = walk_all(found.graph(Scope((lb_id,))), replace(found.world, every_port=True))
    if not done.walked and not done.failed:
        raise UnknownLoadBalancer(
            f"load balancer {lb_id}: DELETED in the Octavia database; ovnlb orphans lists what is left of it"
        )
    document = pass_document(done, with_desired=True)
    document |= {"found": report.state(NbState()), "graph": {}, "explain": {}}
    for walked in done.walked:
        document["found"] = report.state(walked.plan.have)
        document["graph"] = graph(walked)
        daemon = None if live is None else thoughts(live, lb_id)
        neutron = None if live is None else live.neutron
        document["explain"] = explanation(walked, found.world, neutron, daemon)
    return document


def thoughts(live: LiveInputs, lb_id: str) -> dict[str, Any] | None:
    """What the daemon of this host thinks of a load balancer, None when none answers."""
    return ask(live.settings.nudge_socket, {"ask": "show", "lb": lb_id}, timeout=_PATIENCE)
