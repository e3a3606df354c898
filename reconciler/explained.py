"""Why a load balancer is as it is, as the `explain` key of `ovnlb show`: facts gathered, then judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ovnlb.desired.explain_members import MemberExplained, explain_members, failed
from ovnlb.desired.explain_network import explain_network
from ovnlb.desired.intent import is_gone
from ovnlb.desired.ovn_limits import ovn_limits
from ovnlb.diff.pending import unsettled, why
from ovnlb.observed.circumstances import circumstances
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.reconciler.walk import Walked, World

SOUTHBOUND_AWAY = "the Southbound database was not read: health states are the last ones that Octavia knows"


def explanation(
    walked: Walked, world: World, neutron: SdkNeutron | None, daemon: Mapping[str, Any] | None
) -> dict[str, Any]:
    """All answers about one load balancer.

    neutron: None offline; no answer of it is no error. daemon: what the service of this host thinks.
    """
    lb, topo = walked.lb, walked.topology
    facts = circumstances(world.nb, lb, topo, neutron)
    waits, health = unsettled(lb), world.health()
    members = () if is_gone(lb) else explain_members(lb, topo, walked.desired, health, facts)
    network = explain_network(lb, topo, walked.desired, facts)
    changed = lb.updated_at or lb.created_at
    return {
        "changed_at": None if changed is None else f"{changed.isoformat()}Z",
        "unsettled": [{"kind": one.kind, "id": one.id, "status": one.status} for one in waits],
        "pending": [one.as_json() for one in why(waits, walked.plan, daemon, offline=neutron is None)],
        "members": [_member(one) for one in members if one.findings or failed(one)],
        "network": {
            "architecture": str(network.architecture),
            "text": network.text,
            "needs": [need.as_json() for need in network.needs],
        },
        "ovn": {
            "version": facts.ovn,
            "limits": [one.as_json() for one in ovn_limits(lb, topo, facts)],
        },
        "neutron": facts.neutron,
        "southbound": "" if health.complete else SOUTHBOUND_AWAY,
        "daemon": dict(daemon) if daemon is not None else None,
    }


def _member(one: MemberExplained) -> dict[str, Any]:
    return {
        "id": one.member.id,
        "name": one.member.name,
        "backend": f"{one.member.address} {one.member.port}",
        "status": one.status,
        "stored": one.member.operating_status,
        "findings": [finding.as_json() for finding in one.findings],
    }
