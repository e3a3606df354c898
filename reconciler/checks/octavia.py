"""octavia.conf and the processes of this host: driver and agent enabled, sockets there and usable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ovnlb.reconciler.checks.finding import Finding, failed, ok, warning
from ovnlb.reconciler.checks.packages import AGENTS, DRIVERS, ENTRY_POINTS
from ovnlb.reconciler.checks.sockets import described, listened, user, why_unusable
from ovnlb.reconciler.config_files import file_of
from ovnlb.reconciler.nudge_socket import ask
from ovnlb.reconciler.settings import Settings


def driver(settings: Settings) -> Iterator[Finding]:
    """Whether octavia-api would offer every provider of ours, if it reads the same files."""
    name, option = "octavia driver", "[api_settings]enabled_provider_drivers"
    file = file_of(settings.neutron_conf, "api_settings", "enabled_provider_drivers")
    enabled = {known.lower() for known in settings.enabled_provider_drivers}
    missing = [provider for provider in settings.providers if provider.lower() not in enabled]
    if file is None:
        yield warning(
            name,
            f"{option} is not set in these files: octavia-api needs '{settings.providers[0]}: TEXT' in it",
        )
    elif missing:
        have = ", ".join(settings.enabled_provider_drivers) or "none"
        yield failed(
            name,
            f"{option} of {file} has {have}, not {', '.join(missing)} of [ovnlb]providers",
        )
    else:
        yield ok(name, f"{option} of {file} has {', '.join(settings.providers)}")
    unknown = [provider for provider in settings.providers if provider.lower() not in ENTRY_POINTS[DRIVERS]]
    if unknown:
        yield warning(name, f"[ovnlb]providers names {', '.join(unknown)}, which no driver of ours is called")


def service(settings: Settings, patience: float) -> Iterator[Finding]:
    """Whether a reconciler works on this host: in the driver-agent, or as a daemon; not as both."""
    name, option = "octavia agent", "[driver_agent]enabled_provider_agents"
    enabled = [agent for agent in settings.enabled_provider_agents if agent in ENTRY_POINTS[AGENTS]]
    answer = ask(settings.nudge_socket, {"ask": "show"}, min(2.0, patience / 2))
    pid = answer.get("pid") if answer else None
    if len(enabled) > 1:
        yield warning(name, f"{option} has {' and '.join(enabled)}: two reconcilers, of which one idles")
    if answer is None and not enabled:
        yield warning(
            name,
            f"no reconciler on this host: ovnlb is not in {option}, and no daemon (ovnlb run) answers at "
            f"{settings.nudge_socket}",
        )
    elif answer is None:
        yield warning(
            name,
            f"{option} has {enabled[0]}, but nobody answers at {settings.nudge_socket}: a standby, or down",
        )
    elif enabled and _is_own_process(pid):
        yield warning(
            name,
            f"ovnlb run (process {pid}) besides {option} = {enabled[0]}: the second is a standby only",
        )
    else:
        how = f"in the driver-agent ({option})" if enabled else "as a daemon"
        yield ok(
            name,
            f"the reconciler of this host runs {how}, process {pid}, {answer.get('role', 'role unknown')}",
        )


def _is_own_process(pid: object) -> bool:
    """Whether a process is `ovnlb run` rather than a part of the driver-agent."""
    try:
        words = Path(f"/proc/{int(str(pid))}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return False
    return b"run" in words and any(b"ovnlb" in word for word in words)


def agent_sockets(settings: Settings) -> Iterator[Finding]:
    """The driver-agent's three sockets; without the status socket nothing is ever reported."""
    sockets = settings.sockets
    named = {"status": sockets.status, "stats": sockets.stats, "get": sockets.get}
    for kind, path in named.items():
        name = f"{kind} socket"
        why = why_unusable(path)
        if why:
            yield failed(
                name, f"{why} ([driver_agent]{kind}_socket_path); octavia-driver-agent must run on this host"
            )
        elif listened(path) is False:
            yield warning(
                name, f"{path} ({described(path)}): nobody listens, as far as this network namespace shows"
            )
        else:
            yield ok(name, f"{path} ({described(path)}) may be opened by {user()}")


def nudge_socket(settings: Settings) -> Iterator[Finding]:
    """Where octavia-api's driver tells the reconciler of a change; without it the poll serves."""
    name, path = "nudge socket", settings.nudge_socket
    folder = os.path.dirname(path) or "."
    slower = "changes are found by the poll only ([ovnlb]nudge_socket)"
    if os.path.exists(path):
        why = why_unusable(path)
        if why:
            yield warning(name, f"{why}; {slower}")
        elif listened(path) is False:
            yield warning(
                name, f"{path}: left behind, nobody reads it, as far as this network namespace shows"
            )
        else:
            yield ok(name, f"{path} ({described(path)}); octavia-api must be of that owner or group")
    elif not os.path.isdir(folder):
        yield warning(name, f"directory {folder} does not exist; {slower}")
    elif not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        yield warning(name, f"{user()} may not make a socket in {folder} ({described(folder)}); {slower}")
    else:
        yield ok(name, f"{user()} may make it in {folder} ({described(folder)}), nobody has yet")
