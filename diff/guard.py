"""What must not be written, however it was computed.

northd drops what it cannot read without telling anybody, and a health check without its mapping
takes a member out of service, so rows are checked before they are written. Source: ovn-facts.md,
"What northd does with garbage".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ovnlb.desired.addresses import bracketed, canonical, is_v6
from ovnlb.desired.notes import PlanWarning
from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff import canon
from ovnlb.diff.plan import Plan

# The protocols that OVN balances (None: no child has one yet), and those that it runs health checks for.
_SERVED = (None, "tcp", "udp", "sctp")
_MONITORED = ("tcp", "udp")


def guarded(plan: Plan) -> Plan:
    """The plan with the findings about its desired rows; nothing is refused when there is no work."""
    refused = tuple(refusals(plan.want)) if plan.changes else ()
    if not refused and not any(row.health_checks for row in plan.want.rows):
        return plan
    return replace(plan, refused=(*plan.refused, *refused), warnings=(*plan.warnings, *warnings(plan.want)))


def refusals(want: NbState) -> Iterator[str]:
    """What OVN would silently drop or misread in these desired rows."""
    for row in want.rows:
        yield from (f"{_label(row)}: {text}" for text in _refusals(row))


def warnings(want: NbState) -> Iterator[PlanWarning]:
    """What works in these desired rows, but not for every member."""
    for row in want.rows:
        if row.health_checks and row.protocol in _MONITORED:
            yield from _unmonitored(row)


def _label(row: LoadBalancerRow) -> str:
    return f"Load_Balancer {row.name} {row.protocol or '(no protocol)'}"


def _refusals(row: LoadBalancerRow) -> Iterator[str]:
    if row.protocol not in _SERVED:
        yield f"OVN does not balance {row.protocol}, the protocol of a listener or pool"
    for key, value in sorted(row.vips.items()):
        yield from _bad_vip(key, value)
    for key, value in sorted(row.ip_port_mappings.items()):
        yield from _bad_mapping(key, value)
    checks = sorted(check.vip for check in row.health_checks)
    for vip in dict.fromkeys(vip for vip in checks if checks.count(vip) > 1):
        yield f"more than one health check has the vip {vip}"
    for vip in dict.fromkeys(checks):
        if canon.canonical_endpoint(vip) != vip:
            yield f"the health check vip {vip} is not address:port with a canonical address"


def _bad_vip(key: str, value: str) -> Iterator[str]:
    endpoint = canon.endpoint(key)
    if endpoint is None or canon.canonical_endpoint(key) != key:
        yield f"the vip {key} is not address:port with a canonical address (IPv6 in brackets)"
        return
    for backend in value.split(",") if value else ():
        other = canon.endpoint(backend)
        if other is None or canon.canonical_endpoint(backend) != backend:
            yield f"the backend {backend} of {key} is not address:port with a canonical address"
        elif is_v6(other[0]) != is_v6(endpoint[0]):
            yield f"the backend {backend} of {key} has another address family"


def _bad_mapping(key: str, value: str) -> Iterator[str]:
    if canonical(key) is None or bracketed(key) != key:
        yield f"the ip_port_mappings key {key} is not a canonical address (IPv6 in brackets)"
    port, colon, source = value.partition(":")
    # A source that is made by an effect of the same plan is still a text in parentheses.
    if not port or not colon or (canonical(source) is None and not source.startswith("(")):
        yield f"the ip_port_mappings value {value} of {key} is not <LSP name>:<address>"


def _unmonitored(row: LoadBalancerRow) -> Iterator[PlanWarning]:
    checked = {check.vip for check in row.health_checks}
    for key, value in sorted(row.vips.items()):
        for backend in value.split(",") if key in checked and value else ():
            endpoint = canon.endpoint(backend)
            if endpoint and bracketed(endpoint[0]) not in row.ip_port_mappings:
                yield PlanWarning(
                    "backend_unmonitored",
                    f"{_label(row)}: {backend} gets no traffic on {key}: it has a health check but no "
                    "Neutron port holds the member's address",
                )
