"""Status messages applied by Octavia's own DriverUpdater: a program for a Python with Octavia.

`python apply_messages.py CONF DATABASE-URL <STEPS >RESULTS`: a step is a line of JSON with `id`, `octavia`
(table -> rows) and `messages`. Each is applied to a database that holds nothing but its rows, with
quotas that count them. A result has the `answers`, table -> id -> statuses in `rows`, and the `quotas`
in use.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from octavia.api.drivers.driver_agent.driver_updater import DriverUpdater
from octavia.common import config

from servers.octavia_db import write_tables

COUNTED = ("load_balancer", "listener", "pool", "member", "health_monitor", "l7policy", "l7rule")
PROJECT = "b40ec700000040008000000000000002"


def living(rows: list[dict[str, Any]]) -> int:
    """How many rows count for the quota."""
    return sum(row["provisioning_status"] != "DELETED" for row in rows)


class Database:
    """Octavia's database, filled and read past Octavia."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url)

    def fill(self, octavia: Mapping[str, list[dict[str, Any]]]) -> None:
        """These rows, all of one project, and its quotas."""
        # Octavia keeps a pickle in insert_headers, a recording has the value.
        more = {"project_id": PROJECT, "insert_headers": None}
        owned = {
            table: [{**row, **more} if table in COUNTED else row for row in rows]
            for table, rows in octavia.items()
        }
        write_tables(self._engine, owned)
        columns = {f"in_use_{table}": living(octavia.get(table, [])) for table in COUNTED}
        names, values = ", ".join(columns), ", ".join(map(str, columns.values()))
        with self._engine.begin() as connection:
            connection.execute(sa.text("DELETE FROM quotas"))
            insert = f"INSERT INTO quotas (project_id, {names}) VALUES ('{PROJECT}', {values})"
            connection.execute(sa.text(insert))

    def read(self) -> dict[str, Any]:
        """Statuses of all rows, and the quotas in use."""
        with self._engine.connect() as connection:
            rows = {
                table: {
                    row[0]: [row[1], row[2]]
                    for row in connection.execute(
                        sa.text(f"SELECT id, provisioning_status, operating_status FROM {table}")
                    )
                }
                for table in COUNTED
            }
            columns = ", ".join(f"in_use_{table}" for table in COUNTED)
            used = connection.execute(sa.text(f"SELECT {columns} FROM quotas")).one()
        return {"rows": rows, "quotas": dict(zip(COUNTED, used, strict=True))}


def main(conf: str, url: str) -> None:
    """All steps of standard input."""
    config.init(["--config-file", conf])
    database, updater = Database(url), DriverUpdater()
    for line in sys.stdin:
        step = json.loads(line)
        database.fill(step["octavia"])
        answers = [updater.update_loadbalancer_status(message) for message in step["messages"]]
        print(json.dumps({"id": step["id"], "answers": answers, **database.read()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
