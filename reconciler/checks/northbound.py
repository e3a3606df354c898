"""What the Northbound database and its OVN can do, whether we may write, and who is writing now."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from ovnlb.diff.policy import Policy
from ovnlb.observed.connection import LOCK_NAME
from ovnlb.reconciler.checks.finding import Finding, failed, ok, warning
from ovnlb.reconciler.checks.ovsdb import northbound_of
from ovnlb.reconciler.checks.ovsdb_server import Server
from ovnlb.reconciler.nudge_socket import ask
from ovnlb.reconciler.settings import Settings

# First OVN release with options:affinity_timeout. Source: ovn-nb.xml per release.
AFFINITY = (22, 12)
_TOO_OLD = re.compile(r"uuid.*not allowed")


def northbound_use(settings: Settings, patience: float) -> Iterator[Finding]:
    """Features, rights and content. Yields nothing when nobody serves the database: see `ovsdb`."""
    server = northbound_of(settings).best(patience)
    if server is None:
        return
    yield _writes(settings, server)
    rows = server.select("NB_Global", ("options",))
    if not rows:
        yield warning("northbound rows", "no NB_Global row: ovn-northd has never run on this database")
    yield _features(server, rows[0]["options"] or {} if rows else {})
    switches = server.select("Logical_Switch", ("name",))
    ours = sum(row["name"].startswith("neutron-") for row in switches)
    if ours:
        yield ok("northbound rows", f"{ours} of {len(switches)} switches are networks of Neutron")
    else:
        yield warning(
            "northbound rows",
            f"none of {len(switches)} switches is a network of Neutron: the wrong database, Neutron does not "
            "use ML2/OVN, or a cloud without any network yet",
        )


def _writes(settings: Settings, server: Server) -> Finding:
    """Tries an insert whose transaction aborts itself, so that nothing is ever written."""
    return judged(server.remote, server.try_insert("Load_Balancer", str(uuid.uuid4())), settings.policy)


def judged(remote: str, refused: str, policy: str) -> Finding:
    """What follows from the server's refusal of an insert, empty when it did not refuse."""
    name = "northbound writes"
    if not refused:
        return ok(name, "allowed; rows can be made under a UUID of our own (tried, and aborted)")
    if _TOO_OLD.search(refused):
        return ok(
            name,
            "allowed; the server takes no UUIDs from clients (before ovsdb-server 3.1), names guard new rows",
        )
    text = f"{remote} refuses to insert a Load_Balancer: {refused}"
    return ok(name, text) if policy == Policy.OBSERVE_ONLY.value else failed(name, text)


def _features(server: Server, options: Mapping[str, str]) -> Finding:
    fields = server.schema["tables"]["Load_Balancer"]["columns"].get("selection_fields", {})
    release = _release(options.get("northd_internal_version", ""))
    if release is None:
        affinity = "unknown (ovn-northd does not tell its version)"
    else:
        affinity = "yes" if release >= AFFINITY else f"no, OVN {AFFINITY[0]}.{AFFINITY[1]} brings it"
    told = f"OVN {release[0]}.{release[1]:02}" if release else "OVN of unknown release"
    hashing = "yes" if "ipv6_src" in _words(fields) else "no"
    text = f"{told}: session persistence {affinity}; IPv6 addresses in selection_fields {hashing}"
    lacks = release is not None and release < AFFINITY
    return (warning if lacks else ok)("northbound features", text)


def _release(internal: str) -> tuple[int, int] | None:
    """Of `23.03.1-20.27.0-70.6`, which ovn-northd writes: its own release first."""
    found = re.match(r"(\d+)\.(\d+)", internal)
    return (int(found[1]), int(found[2])) if found else None


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _words(item)


def lock(settings: Settings, patience: float) -> Iterator[Finding]:
    """Who holds the lock, as far as it can be told without asking the server for it.

    A server tells of a lock only to who asks for it, and who asks would get a free one, or silence the
    agent of ovn-octavia-provider; so only the daemon of this host is asked.
    """
    answer = ask(settings.nudge_socket, {"ask": "show"}, min(2.0, patience / 2))
    if answer is None:
        yield ok(
            "lock",
            f"{LOCK_NAME}: not asked for, and no daemon of this host answers at {settings.nudge_socket}",
        )
        return
    process = f"the daemon of this host (process {answer.get('pid', 'unknown')})"
    role = answer.get("role", "of unknown role")
    if role == "leader":
        yield ok("lock", f"{LOCK_NAME}: held by {process}")
    else:
        yield ok("lock", f"{LOCK_NAME}: not asked for; {process} is {role}")
    for key, server in (("northbound", "[ovn]ovn_nb_connection"), ("database", "[database]connection")):
        if answer.get(key) is False:
            yield warning("daemon", f"{process} has lost {server}")
    failing = len(answer.get("errors") or ()) + (answer.get("errors_omitted") or 0)
    if failing:
        yield warning(
            "daemon",
            f"{process} fails for {failing} load balancers, ovnlb show says why",
        )
