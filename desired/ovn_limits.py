"""Known limits of the OVN release found, as far as they concern one load balancer. Pure.

Each with the release that ended it, by OVN's NEWS, ovn-nb(5) of the releases and tests on a data path.
Distributions port fixes back, so a limit says "before", not "broken".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ovnlb.desired.addresses import canonical, is_v6
from ovnlb.desired.facts import Topology
from ovnlb.desired.findings import Circumstances, Finding
from ovnlb.desired.intent import RowIntent, row_intents
from ovnlb.desired.model import LoadBalancer

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Traits:
    """What of a load balancer a limit can concern."""

    affinity: bool
    shared_backends: bool
    monitored: bool
    monitored_v6: bool
    unmonitored_sctp: bool
    own_fips: bool
    router_vips: tuple[str, ...]
    unhashed_v6: bool


@dataclass(frozen=True, slots=True)
class _Limit:
    """`until`: the first release without it, None for every release known."""

    code: str
    until: Version | None
    concerns: Callable[[_Traits], object]
    text: str


_LIMITS = (
    _Limit(
        "affinity_unsupported",
        (22, 12),
        lambda t: t.affinity,
        "session persistence (affinity_timeout) is ignored",
    ),
    _Limit(
        "affinity_first_connection",
        None,
        lambda t: t.affinity,
        "the first connection of each affinity window is dropped; a retry from a new source port works",
    ),
    _Limit(
        "affinity_shared_backends",
        (24, 3),
        lambda t: t.affinity and t.shared_backends,
        "the affinity of one endpoint is applied to another one with the same members",
    ),
    _Limit(
        "ipv6_not_hashed",
        (25, 3),
        lambda t: t.unhashed_v6,
        "clients of an IPv6 VIP are not told apart by address",
    ),
    _Limit("ipv6_unmonitored", (23, 3), lambda t: t.monitored_v6, "IPv6 members are not health-checked"),
    _Limit(
        "sctp_unmonitored",
        None,
        lambda t: t.unmonitored_sctp,
        "SCTP members are not health-checked: all stay in",
    ),
    _Limit(
        "stopped_port_online",
        (22, 9),
        lambda t: t.monitored,
        "the monitor of an instance that was stopped may stay online",
    ),
    _Limit(
        "probe_leaves_half_open",
        (24, 3),
        lambda t: t.monitored,
        "probes are ended with a wrong RST: half-open connections pile up in the members, one probe counts "
        "several times, and Windows members may flap",
    ),
    _Limit(
        "fail_open",
        (26, 9),
        lambda t: t.monitored,
        "a new member counts as up until its first probe (releases after 26.03 begin with down)",
    ),
    _Limit(
        "monitor_late",
        (26, 3),
        lambda t: t.monitored,
        "a result of a probe may be written late, or lost until the next one",
    ),
    _Limit(
        "member_fip_central",
        (23, 9),
        lambda t: t.own_fips,
        "floating IPs of members must be centralised while the load balancer has one",
    ),
    _Limit(
        "hairpin_broken",
        (25, 9),
        lambda t: True,
        "a member may not reach its own VIP from a network attached later",
    ),
    _Limit(
        "vip_of_router",
        (22, 12),
        lambda t: t.router_vips,
        "traffic to a VIP that is an address of the router itself is dropped",
    ),
    _Limit(
        "silent_drop",
        None,
        lambda t: t.monitored,
        "with all members down, clients get no answer instead of a refusal",
    ),
)


def version_of(text: str | None) -> Version | None:
    """(year, month) of a version text such as 25.03.1-20.37.0-78.8, None where it cannot be told."""
    found = re.match(r"\s*(\d{2})\.(\d{1,2})(?:\D|$)", text or "")
    return (int(found[1]), int(found[2])) if found else None


def ovn_limits(lb: LoadBalancer, topo: Topology, facts: Circumstances) -> tuple[Finding, ...]:
    """The limits that concern this load balancer; of an unknown release those of every release."""
    traits, version = _traits(lb, topo, facts), version_of(facts.ovn)
    return tuple(
        Finding(limit.code, _said(limit), cause=False)
        for limit in _LIMITS
        if limit.concerns(traits) and _holds(limit, version)
    )


def _holds(limit: _Limit, version: Version | None) -> bool:
    if limit.until is None:
        return True
    return version is not None and version < limit.until


def _said(limit: _Limit) -> str:
    if limit.until is None:
        return limit.text
    return f"{limit.text} (before OVN {limit.until[0]}.{limit.until[1]:02d}, unless ported back)"


def _traits(lb: LoadBalancer, topo: Topology, facts: Circumstances) -> _Traits:
    intents = row_intents(lb, topo.subnets)
    backends = [backend for row in intents for backend in row.backends()]
    monitored = [(row, served) for row in intents for served in row.pools if served.monitor is not None]
    v6 = any(vip.address and is_v6(vip.address) for vip in lb.vips)
    return _Traits(
        affinity=any(served.pool.persistence for row in intents for served in row.pools),
        shared_backends=any(_shared(row) for row in intents),
        monitored=bool(monitored),
        monitored_v6=any(is_v6(one.address) for _, served in monitored for one in served.backends),
        unmonitored_sctp=any(row.protocol == "sctp" for row, _ in monitored),
        own_fips=bool(topo.fips) and any(one.address in facts.member_fips for one in backends),
        router_vips=tuple(_router_vips(lb, topo)),
        unhashed_v6=v6 and not topo.ipv6_hash,
    )


def _shared(row: RowIntent) -> bool:
    """Whether two endpoints of the row have the same members."""
    pools = Counter(listener.default_pool_id for listener in row.listeners if listener.default_pool_id)
    members = Counter((one.address, one.member.port) for one in row.backends())
    return any(count > 1 for count in (*pools.values(), *members.values()))


def _router_vips(lb: LoadBalancer, topo: Topology) -> Iterator[str]:
    own = {
        canonical(network.partition("/")[0])
        for router in topo.routers
        for interface in router.interfaces
        for network in interface.networks
    }
    for vip in lb.vips:
        if vip.address and canonical(vip.address) in own:
            yield vip.address
