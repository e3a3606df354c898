"""`ovnlb show LB`: all about one load balancer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from ovnlb.desired.rows import NbState
from ovnlb.desired.statuses import operating_statuses
from ovnlb.diff import report
from ovnlb.observed.nb import observe
from ovnlb.reconciler.commands.options import add_inputs, add_report, inputs
from ovnlb.reconciler.commands.output import emit
from ovnlb.reconciler.commands.show_text import text
from ovnlb.reconciler.exits import Exit, plan_exit
from ovnlb.reconciler.inputs import Inputs, Scope
from ovnlb.reconciler.passes import pass_document
from ovnlb.reconciler.walk import Walked, walk_all


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("id", metavar="LB", help="id of the load balancer")
    add_inputs(parser, bundle=True)
    add_report(parser)


def run(options: Namespace) -> Exit:
    """Print the graph, the desired and the found rows, the differences and the warnings."""
    with inputs(options) as found:
        document = shown(found, options.id)
    emit(report.dumps(document) if options.format == "json" else text(document))
    return plan_exit(document["summary"])


def shown(found: Inputs, lb_id: str) -> dict[str, Any]:
    """The document of one load balancer. Raises UnknownLoadBalancer."""
    done = walk_all(found.graph(Scope((lb_id,))), found.world)
    document = pass_document(done, with_desired=True)
    document["found"] = report.state(observe(found.world.nb, lb_id) if done.walked else NbState())
    document["graph"] = graph(done.walked[0]) if done.walked else {}
    return document


def graph(walked: Walked) -> dict[str, Any]:
    """The graph as Octavia has it, with the operating status that we find beside the stored one."""
    lb, now = walked.lb, operating_statuses(walked.lb, walked.desired.members)
    return {
        "id": lb.id,
        "name": lb.name,
        "project_id": lb.project_id,
        **_status(lb, now),
        "vips": [
            {
                "address": vip.address,
                "port_id": vip.port_id,
                "subnet_id": vip.subnet_id,
                "fip": walked.topology.fips.get(vip.port_id or ""),
            }
            for vip in lb.vips
        ],
        "listeners": [
            {
                "id": listener.id,
                "name": listener.name,
                "listens": f"{listener.protocol}:{listener.port}",
                "pool": listener.default_pool_id,
                **_status(listener, now),
            }
            for listener in lb.listeners
        ],
        "pools": [_pool(pool, now) for pool in lb.pools],
    }


def _pool(pool: Any, now: dict[str, str]) -> dict[str, Any]:
    monitor = pool.health_monitor
    return {
        "id": pool.id,
        "name": pool.name,
        "protocol": pool.protocol,
        "algorithm": pool.algorithm,
        **_status(pool, now),
        "members": [
            {
                "id": member.id,
                "name": member.name,
                "backend": f"{member.address} {member.port}",
                "weight": member.weight,
                **_status(member, now),
            }
            for member in pool.members
        ],
        "health_monitor": None
        if monitor is None
        else {
            "id": monitor.id,
            "type": monitor.type,
            "delay": monitor.delay,
            "timeout": monitor.timeout,
            **_status(monitor, now),
        },
    }


def _status(item: Any, now: dict[str, str]) -> dict[str, Any]:
    return {
        "enabled": item.enabled,
        "provisioning_status": item.provisioning_status,
        "operating_status": item.operating_status,
        "operating_now": now.get(item.id),
    }
