"""Both OVN databases: who answers, who leads, and whether the schema has what is read and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ovnlb.observed import monitors, northbound
from ovnlb.observed.columns import Columns, column_gaps
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.checks.finding import Finding, failed, ok, said, warning
from ovnlb.reconciler.checks.ovsdb_server import Server, probe_all
from ovnlb.reconciler.settings import Settings

# Of a check's time, the part in which every remote must have answered.
SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Database:
    """One of the two. `name` begins the names of its findings."""

    name: str
    option: str
    database: str
    tables: Mapping[str, Columns]
    endpoint: Endpoint

    def best(self, patience: float) -> Server | None:
        """The server that the service would use: the leader of a cluster, else any that answers."""
        return best(probe_all(self.endpoint, self.database, patience * SHARE))


def northbound_of(settings: Settings) -> Database:
    """The Northbound database of the settings."""
    return Database(
        "northbound", "[ovn]ovn_nb_connection", northbound.DATABASE, northbound.TABLES, settings.nb
    )


def southbound_of(settings: Settings) -> Database:
    """The Southbound database of the settings."""
    return Database("southbound", "[ovn]ovn_sb_connection", monitors.DATABASE, monitors.TABLES, settings.sb)


def best(answers: Mapping[str, Server | Exception]) -> Server | None:
    """The leader of a cluster, else any standalone server or relay that has its data."""
    servers = [answer for answer in answers.values() if isinstance(answer, Server)]
    usable = [server for server in servers if server.connected]
    return next((server for server in usable if server.model != "clustered" or server.leader), None)


def reachable(database: Database, patience: float) -> Iterator[Finding]:
    """Every remote, the leader and the columns. Raises WrongDatabase for remotes that are none."""
    answers = probe_all(database.endpoint, database.database, patience * SHARE)
    servers = [answer for answer in answers.values() if isinstance(answer, Server)]
    lost = {remote: said(error) for remote, error in answers.items() if isinstance(error, Exception)}
    chosen = best(answers)
    if chosen is not None:
        yield ok(database.name, _described(chosen, servers))
        if lost:
            yield warning(
                database.name, f"{len(lost)} of {len(answers)} remotes do not answer: {_told(lost)}"
            )
        if chosen.model == "clustered" and len(answers) == 1:
            yield warning(
                database.name,
                f"a cluster, but {database.option} names one member: when another leads, nothing is "
                "written. Name all members, separated by commas",
            )
        yield _columns(database, chosen)
    elif servers:
        yield failed(database.name, _no_leader(database, servers, lost))
    else:
        yield failed(database.name, f"{database.option}: {_told(lost)}")


def _described(chosen: Server, servers: list[Server]) -> str:
    if chosen.model != "clustered":
        return f"{chosen.remote} answers, {chosen.model}, schema version {chosen.version}"
    return (
        f"{chosen.remote} leads the cluster ({len(servers)} members answer), schema version {chosen.version}"
    )


def _told(lost: Mapping[str, str]) -> str:
    return "; ".join(text if remote in text else f"{remote}: {text}" for remote, text in lost.items())


def _no_leader(database: Database, servers: list[Server], lost: Mapping[str, str]) -> str:
    following = ", ".join(server.remote for server in servers)
    text = f"no leader among the remotes of {database.option}: {following} answer and only follow"
    if any(not server.connected for server in servers):
        text += " (the cluster has lost its majority)"
    rest = f"; {_told(lost)}" if lost else ". Name all members of the cluster, separated by commas"
    return text + rest


def _columns(database: Database, server: Server) -> Finding:
    name = f"{database.name} columns"
    gaps = column_gaps(server.schema, database.tables)
    if gaps:
        return failed(
            name,
            f"schema version {server.version} lacks {', '.join(gaps)}: OVN is too old, or not OVN's schema",
        )
    known = server.schema["tables"]
    absent = [
        f"{table}.{column}"
        for table, columns in database.tables.items()
        for column in columns.optional
        if column not in known[table]["columns"]
    ]
    without = f"; without the optional {', '.join(absent)}" if absent else ""
    return ok(name, f"every column that is needed is there{without}")
