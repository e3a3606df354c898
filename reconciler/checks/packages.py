"""Whose entry points Octavia and Neutron would load: two distributions with one name break both.

stevedore refuses a driver name that two distributions register, and the driver-agent would start two
agents. Source: architecture.md section 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import metadata

from ovnlb.reconciler.checks.finding import Finding, failed, ok, warning

OURS = "ovnlb"
DRIVERS = "octavia.api.drivers"
AGENTS = "octavia.driver_agent.provider_agents"
# Group -> the names that are ours. The driver and the agent are needed, the others only must not clash.
ENTRY_POINTS = {
    DRIVERS: ("ovn", "ovnlb"),
    AGENTS: ("ovn", "ovnlb"),
    "neutron.ovn.db_sync": ("octavia_ovn_sync", "ovnlb"),
    "oslo.config.opts": ("ovnlb",),
    "console_scripts": ("ovnlb", "octavia-ovn-db-sync-util"),
}
NEEDED = (DRIVERS, AGENTS)


def packages(distributions: Iterable[metadata.Distribution] | None = None) -> Iterator[Finding]:
    """Failed for each name that another distribution registers, too; ok when there is none."""
    found = registered(metadata.distributions() if distributions is None else distributions)
    clashes = list(_clashes(found))
    yield from clashes
    missing = [
        f"{group}: {name}"
        for group in NEEDED
        for name in ENTRY_POINTS[group]
        if OURS not in found.get((group, name), {})
    ]
    if missing:
        yield warning("packages", f"the installed ovnlb does not register {', '.join(missing)}: reinstall it")
    elif not clashes:
        yield ok("packages", f"{OURS} {found[DRIVERS, 'ovn'][OURS]} alone registers its entry points")


def registered(
    distributions: Iterable[metadata.Distribution],
) -> dict[tuple[str, str], dict[str, str]]:
    """(group, name) of our names -> distributions that register it, with their versions."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for distribution in distributions:
        for point in distribution.entry_points:
            if point.name in ENTRY_POINTS.get(point.group, ()):
                # One distribution can be found twice, by two entries of sys.path.
                name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"] or "unnamed").lower()
                found.setdefault((point.group, point.name), {}).setdefault(name, distribution.version)
    return found


def _clashes(found: dict[tuple[str, str], dict[str, str]]) -> Iterator[Finding]:
    others: dict[tuple[str, str], list[str]] = {}
    for (group, name), distributions in found.items():
        for other, version in distributions.items():
            if other != OURS:
                others.setdefault((other, version), []).append(f"{group}: {name}")
    for (other, version), names in sorted(others.items()):
        yield failed(
            "packages",
            f"{other} {version} registers {', '.join(sorted(names))}, too: Octavia refuses a name that two "
            f"distributions have. Uninstall it from this environment (pip uninstall {other}); the way back "
            f"is to uninstall {OURS} and to install it again",
        )
