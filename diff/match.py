"""Which observed row is which desired row, and which observed health check is which desired one.

A living row keeps its UUID: it is changed in place, whatever was done to it. Source: architecture.md
section 5 (duplicates), octavia-contract.md section 9 (legacy health checks).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from ovnlb.desired import rows
from ovnlb.desired.addresses import canonical
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.diff import canon


@dataclass(frozen=True, slots=True)
class RowMatch:
    """Desired and observed Load_Balancer rows of one LB, paired.

    kept: (desired, observed), by desired protocol. missing: desired without an observed one.
    duplicates: observed rows beside another of their protocol. surplus: other rows nobody wants.
    """

    kept: tuple[tuple[LoadBalancerRow, LoadBalancerRow], ...]
    missing: tuple[LoadBalancerRow, ...]
    duplicates: tuple[LoadBalancerRow, ...]
    surplus: tuple[LoadBalancerRow, ...]


def preference(row: LoadBalancerRow) -> tuple[int, str]:
    """Sorts first what is kept among equals: most references, then lowest uuid."""
    return (-len(row.switches) - len(row.routers), row.uuid or "")


def match_rows(want: Iterable[LoadBalancerRow], have: Iterable[LoadBalancerRow]) -> RowMatch:
    """Pairs rows by protocol; what is missing takes over a row that is of no use any more.

    A row with an empty protocol is taken first, as when the first listener comes; then one whose
    protocol nobody uses, as when the last listener goes.
    """
    groups: dict[str, list[LoadBalancerRow]] = {}
    for row in sorted(have, key=preference):
        groups.setdefault(canon.protocol(row.protocol) or "", []).append(row)
    keepers = {protocol: group[0] for protocol, group in groups.items()}
    kept, missing = [], []
    wanted = sorted(want, key=lambda row: row.protocol or "")
    taken = {row.protocol or "" for row in wanted}
    spare = [row for protocol, row in keepers.items() if protocol not in taken]
    spare.sort(key=lambda row: (bool(row.protocol), *preference(row)))
    for row in wanted:
        found = keepers.get(row.protocol or "") or (spare.pop(0) if spare else None)
        if found is None:
            missing.append(row)
        else:
            kept.append((row, found))
    duplicates = [row for group in groups.values() for row in group[1:]]
    return RowMatch(tuple(kept), tuple(missing), _by_uuid(duplicates), _by_uuid(spare))


def _by_uuid(found: Iterable[LoadBalancerRow]) -> tuple[LoadBalancerRow, ...]:
    return tuple(sorted(found, key=lambda row: row.uuid or ""))


@dataclass(frozen=True, slots=True)
class CheckMatch:
    """Desired and observed health checks of one row, paired like the rows themselves."""

    kept: tuple[tuple[HealthCheckRow, HealthCheckRow], ...]
    missing: tuple[HealthCheckRow, ...]
    surplus: tuple[HealthCheckRow, ...]


def match_checks(want: Iterable[HealthCheckRow], have: Iterable[HealthCheckRow]) -> CheckMatch:
    """Pairs checks by monitor and vip, then those whose vip or external_ids have an older form."""
    open_want = sorted(want, key=lambda check: (check.vip, check.external_ids.get(rows.CHECK_MONITOR, "")))
    open_have = sorted(have, key=lambda check: check.uuid or "")
    kept = []
    for wanted, observed in _IDENTITIES:
        if not (open_want and open_have):
            break
        found: dict[_Identity, list[HealthCheckRow]] = {}
        for check in reversed(open_have):
            if (identity := observed(check)) is not None:
                found.setdefault(identity, []).append(check)
        rest = []
        for check in open_want:
            if candidates := found.get(wanted(check) or _NOBODY):
                kept.append((check, candidates.pop()))
                open_have.remove(kept[-1][1])
            else:
                rest.append(check)
        open_want = rest
    return CheckMatch(tuple(sorted(kept, key=lambda pair: pair[0].vip)), tuple(open_want), tuple(open_have))


_Identity = tuple[str, str]
_NOBODY: _Identity = ("", "")


def _monitor(check: HealthCheckRow) -> str:
    return check.external_ids.get(rows.CHECK_MONITOR, "")


def _exact(check: HealthCheckRow) -> _Identity | None:
    return _monitor(check), check.vip


def _canonical(check: HealthCheckRow) -> _Identity | None:
    return _monitor(check), canon.canonical_endpoint(check.vip) or check.vip


def _address(check: HealthCheckRow) -> _Identity | None:
    """The bare address: of the vip, else (a port alone, or garbage) of `octavia:vip`."""
    parts = canon.endpoint(check.vip)
    bare = parts[0] if parts else canonical(check.vip)
    bare = bare or canonical(check.external_ids.get(rows.CHECK_VIP, ""))
    return (_monitor(check), bare) if bare else None


def _port(check: HealthCheckRow) -> _Identity | None:
    return _monitor(check), check.vip.rpartition(":")[2]


def _port_alone(check: HealthCheckRow) -> _Identity | None:
    """The port of a check that names no address at all."""
    return None if _address(check) else _port(check)


def _vip(check: HealthCheckRow) -> _Identity | None:
    return "vip", check.vip


def _vip_alone(check: HealthCheckRow) -> _Identity | None:
    """The vip of a check whose monitor was wiped or garbled."""
    return None if _is_uuid(_monitor(check)) else _vip(check)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


# How desired and observed checks are known, the surest first.
_IDENTITIES = (
    (_exact, _exact),
    (_canonical, _canonical),
    (_address, _address),
    (_port, _port_alone),
    (_vip, _vip_alone),
)
