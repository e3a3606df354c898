"""`[ovn]` as OVSDB endpoints, checked before anybody connects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from oslo_config import cfg

from ovnlb.observed.source import Endpoint

HOST_AND_PORT = re.compile(r"^(tcp|ssl):(\[[0-9A-Fa-f:.%\w]+\]|[^:\[\]\s]+):(\d{1,5})$")
TLS_OPTIONS = ("private_key", "certificate", "ca_cert")

# Option of [ovn] -> how it is named in an error, with its file.
Named = Callable[[str], str]


def endpoint(conf: cfg.ConfigOpts, database: str) -> Endpoint:
    """The endpoint of database `nb` or `sb`, unchecked."""
    ovn = conf.ovn
    return Endpoint(
        remotes=",".join(_remotes(conf, database)),
        private_key=ovn[f"ovn_{database}_private_key"] or "",
        certificate=ovn[f"ovn_{database}_certificate"] or "",
        ca_cert=ovn[f"ovn_{database}_ca_cert"] or "",
        timeout=float(ovn.ovsdb_connection_timeout),
        probe_interval=ovn.ovsdb_probe_interval / 1000,
    )


def problems(conf: cfg.ConfigOpts, database: str, named: Named) -> Iterator[str]:
    """What is wrong with the options of a database: remotes that cannot be one, TLS files not there."""
    remotes = _remotes(conf, database)
    connection = named(f"ovn_{database}_connection")
    if not remotes:
        yield f"{connection} is empty"
    for remote in remotes:
        reason = _why_bad(remote)
        if reason:
            yield f"{connection}: {remote}: {reason}"
    if any(remote.startswith("ssl:") for remote in remotes):
        yield from _tls_problems(conf, database, named)


def _remotes(conf: cfg.ConfigOpts, database: str) -> list[str]:
    given = conf.ovn[f"ovn_{database}_connection"]
    # Neutron, too, registers these options, in some releases as one string.
    parts = given.split(",") if isinstance(given, str) else given
    return [part.strip() for part in parts if part.strip()]


def _why_bad(remote: str) -> str | None:
    if remote.startswith("unix:"):
        return None if remote != "unix:" else "no file named"
    if not remote.startswith(("tcp:", "ssl:")):
        return "neither tcp:IP:PORT, ssl:IP:PORT nor unix:FILE"
    found = HOST_AND_PORT.match(remote)
    if found is None:
        many_colons = remote.count(":") > 2 and "[" not in remote
        return "an IPv6 address must stand in square brackets" if many_colons else "no port, or no host"
    return None if 0 < int(found[3]) < 65536 else "no such port"


def _tls_problems(conf: cfg.ConfigOpts, database: str, named: Named) -> Iterator[str]:
    for suffix in TLS_OPTIONS:
        option = f"ovn_{database}_{suffix}"
        path = conf.ovn[option]
        if not path:
            yield f"{named(option)} is not set, ssl: needs it"
            continue
        try:
            with Path(path).open("rb"):
                continue
        except OSError as error:
            yield f"{named(option)}: {path}: {error.strerror}"
