"""How OVN chooses among backends: `selection_fields` and `options:affinity_timeout`.

Both are per row while algorithms and persistence are per pool, so the pool created last decides.
Source: architecture.md section 3; ovn-nb(5) Load_Balancer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ovnlb.desired.intent import ServedPool
from ovnlb.desired.model import Pool
from ovnlb.desired.notes import PlanWarning
from ovnlb.desired.rows import AFFINITY_TIMEOUT

DEFAULT_TIMEOUT = 360
# ovn-nb(5): the largest idle timeout of an affinity flow, in seconds.
LONGEST_TIMEOUT = 65535

_FIELDS = {
    "SOURCE_IP_PORT": frozenset({"ip_dst", "ip_src", "tp_dst", "tp_src"}),
    "SOURCE_IP": frozenset({"ip_dst", "ip_src"}),
}
_DEFAULT_FIELDS = _FIELDS["SOURCE_IP_PORT"]
_IPV6_FIELDS = frozenset({"ipv6_dst", "ipv6_src"})


def selection_fields(pools: Sequence[ServedPool], ipv6: bool) -> frozenset[str]:
    """The fields to hash on. `pools` oldest first; `ipv6`: the row has IPv6 VIPs that can be hashed."""
    fields = _FIELDS.get(pools[-1].pool.algorithm, _DEFAULT_FIELDS) if pools else _DEFAULT_FIELDS
    return fields | _IPV6_FIELDS if ipv6 else fields


def affinity_options(pools: Sequence[ServedPool]) -> dict[str, str]:
    """`affinity_timeout` of the sticky pool created last, no option without one."""
    sticky = list(_sticky(pools))
    if not sticky:
        return {}
    return {AFFINITY_TIMEOUT: str(min(_timeout(sticky[-1]), LONGEST_TIMEOUT))}


def affinity_warnings(pools: Sequence[ServedPool]) -> Iterator[PlanWarning]:
    """Pools of one row that disagree, and timeouts that OVN cannot hold."""
    algorithms = {served.pool.algorithm for served in pools}
    if len(algorithms) > 1:
        yield PlanWarning(
            "algorithms_disagree",
            f"pools of one protocol use {', '.join(sorted(algorithms))}; "
            f"{pools[-1].pool.algorithm} of pool {pools[-1].pool.id}, created last, is used for all",
        )
    timeouts = {_timeout(pool) for pool in _sticky(pools)}
    if len(timeouts) > 1:
        yield PlanWarning(
            "affinity_disagrees",
            f"pools of one protocol ask for {', '.join(map(str, sorted(timeouts)))} s of affinity; "
            f"the last created decides",
        )
    for pool in _sticky(pools):
        if _timeout(pool) > LONGEST_TIMEOUT:
            yield PlanWarning(
                "affinity_clamped",
                f"persistence_timeout {_timeout(pool)} of pool {pool.id} is longer than OVN's "
                f"{LONGEST_TIMEOUT} s",
            )


def _sticky(pools: Sequence[ServedPool]) -> Iterator[Pool]:
    for served in pools:
        persistence = served.pool.persistence
        if persistence is not None and persistence.type == "SOURCE_IP":
            yield served.pool


def _timeout(pool: Pool) -> int:
    if pool.persistence is None or pool.persistence.timeout is None:
        return DEFAULT_TIMEOUT
    return pool.persistence.timeout
