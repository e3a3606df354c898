"""What one OVSDB server says of itself and of its rows, read without a replica, a lock or a write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ovnlb.observed.remotes import Refused, WrongDatabase, ask, split_remotes
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.checks.finding import at_once

SERVER = "_Server"


@dataclass(frozen=True, slots=True)
class Server:
    """One remote that serves the database. `model`: standalone, clustered or relay."""

    endpoint: Endpoint
    model: str
    leader: bool
    connected: bool
    schema: Mapping[str, Any] = field(repr=False)

    @property
    def remote(self) -> str:
        """Where it is."""
        return self.endpoint.remotes

    @property
    def version(self) -> str:
        """The schema's version."""
        return str(self.schema.get("version", "unknown"))

    def select(self, table: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """All rows of a table with those of these columns that the schema has. Raises as `ask`."""
        known = self.schema["tables"].get(table)
        if known is None:
            return []
        wanted = [column for column in columns if column in known["columns"]]
        operation = {"op": "select", "table": table, "where": [], "columns": wanted}
        rows = _results(self.endpoint, str(self.schema["name"]), operation)[0]["rows"]
        return [{column: plain(row[column]) for column in wanted} for row in rows]

    def try_insert(self, table: str, uuid: str) -> str:
        """Why an insert under this UUID is refused, empty when it is not. The transaction is aborted."""
        insert = {"op": "insert", "table": table, "row": {}, "uuid": uuid}
        first = _transact(self.endpoint, str(self.schema["name"]), insert, {"op": "abort"})[0]
        return f"{first['error']}: {first.get('details', '')}" if "error" in first else ""


def probe(endpoint: Endpoint, database: str) -> Server:
    """The server behind an endpoint of one remote.

    Raises what `ask` does, and WrongDatabase when the server does not have the database.
    """
    columns = ["name", "model", "leader", "connected", "schema"]
    operation = {"op": "select", "table": "Database", "where": [], "columns": columns}
    rows = [
        {column: plain(row[column]) for column in columns}
        for row in _results(endpoint, SERVER, operation)[0]["rows"]
    ]
    found = next((row for row in rows if row["name"] == database), None)
    if found is None:
        served = ", ".join(sorted(row["name"] for row in rows if row["name"] != SERVER)) or "none"
        raise WrongDatabase(f"{endpoint.remotes} has no database {database}; it serves {served}")
    if not found["schema"]:
        raise WrongDatabase(f"{endpoint.remotes} has not joined the cluster of {database} yet")
    schema = json.loads(found["schema"])
    return Server(endpoint, found["model"], found["leader"], found["connected"], schema)


def probe_all(endpoint: Endpoint, database: str, patience: float) -> dict[str, Server | Exception]:
    """Each remote's server, or why there is none; all are asked at the same time."""
    remotes = split_remotes(endpoint.remotes)
    single = [replace(endpoint, remotes=remote, timeout=patience) for remote in remotes]
    answers = at_once([partial(probe, one, database) for one in single], patience + 0.5)
    return dict(zip(remotes, answers, strict=True))


def _transact(endpoint: Endpoint, database: str, *operations: Mapping[str, Any]) -> list[Any]:
    return list(ask(endpoint, "transact", [database, *operations]))


def _results(endpoint: Endpoint, database: str, *operations: Mapping[str, Any]) -> list[Any]:
    results = _transact(endpoint, database, *operations)
    for result in results:
        if "error" in result:
            raise Refused(f"{endpoint.remotes}: {result['error']}: {result.get('details', '')}")
    return results


def plain(value: Any) -> Any:
    """An OVSDB value (RFC 7047, 5.1) as Python's: maps as dicts, sets as lists, an empty set as ""."""
    if not isinstance(value, list):
        return value
    kind, content = value
    if kind == "map":
        return {plain(key): plain(item) for key, item in content}
    if kind == "set":
        return [plain(item) for item in content] if content else ""
    return content
