"""`ovnlb snapshot`: what a plan depends on, as one file, so that the plan can be made again offline."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import Any

from ovnlb.desired.graph import from_dicts
from ovnlb.observed import dump
from ovnlb.observed.port_facts import mapping_users
from ovnlb.observed.source import NorthboundSource
from ovnlb.reconciler.bundles import write_bundle
from ovnlb.reconciler.commands.options import add_inputs, scope, settings
from ovnlb.reconciler.commands.output import progress, say
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import LiveInputs, live_inputs
from ovnlb.reconciler.walk import Pass, walk_all


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_inputs(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="the bundle to write, - is stdout")


def run(options: Namespace) -> Exit:
    """Write the bundle of what is in scope."""
    wanted = scope(options)
    with live_inputs(settings(options), notice=say) as found:
        octavia = found.tables(wanted)
        world = replace(found.world, every_port=True)
        done = walk_all(found.ours(from_dicts(octavia), wanted), world, progress)
        parts = {"octavia": octavia, **bundle_parts(found, done, wanted)}
    write_bundle(options.out, parts)
    say(f"{options.out}: {len(done.walked)} load balancers")
    return Exit.ERROR if done.failed else Exit.IN_SYNC


def bundle_parts(found: LiveInputs, done: Pass, wanted: Scope) -> dict[str, Any]:
    """All but Octavia's part, read from the replicas that the plans were made from."""
    ids = tuple(walked.lb.id for walked in done.walked) + tuple(failure.lb_id for failure in done.failed)
    kept = {*ids, *neighbours(found.nb, done)} if wanted.partial else None
    return {
        "options": {"drain_on_zero_weight": found.settings.drain_on_zero_weight},
        "neutron": neutron_part(done),
        "nb": dump.northbound(found.nb, ports_used(found.nb, done), kept),
        "sb": dump.southbound(found.sb) if found.sb is not None else {},
    }


def neutron_part(done: Pass) -> dict[str, list[dict[str, Any]]]:
    """What Neutron said, as far as the plans asked."""
    subnets = {subnet.id: subnet for walked in done.walked for subnet in walked.topology.subnets.values()}
    fips = {port: fip for walked in done.walked for port, fip in walked.topology.fips.items()}
    return {
        "networks": [],
        "subnets": [
            {"id": subnet.id, "network_id": subnet.network_id, "cidr": subnet.cidr}
            for _, subnet in sorted(subnets.items())
        ],
        "ports": [],
        "floatingips": [
            {"id": f"of-{port}", "port_id": port, "floating_ip_address": fip}
            for port, fip in sorted(fips.items())
        ],
    }


def neighbours(nb: NorthboundSource, done: Pass) -> set[str]:
    """The other load balancers that decide about ports and floating IPs of these: they share them."""
    names: set[str] = set()
    for walked in done.walked:
        for subnet, address in walked.topology.hm_ports.items():
            port = nb.hm_port(subnet)
            names.update(mapping_users(nb, address, port.switch if port else None))
        for _, address in walked.topology.member_ports:
            names.update(use.load_balancer for use in nb.fip_member_uses(address))
    return names


def ports_used(nb: NorthboundSource, done: Pass) -> set[str]:
    """Names of the LSPs that the plans looked at: VIPs', members' and health monitors' with their sharers."""
    names: set[str] = set()
    for walked in done.walked:
        names.update(vip.port_id for vip in walked.lb.vips if vip.port_id)
        names.update(name for holders in walked.topology.member_ports.values() for name in holders)
        for subnet in walked.topology.subnets:
            if (port := nb.hm_port(subnet)) is not None:
                names.add(port.name)
                for address in port.addresses:
                    names.update(nb.ports_with_address(port.switch or "", address))
                    names.update(use.logical_port for use in nb.mapping_sources(address))
    return names
