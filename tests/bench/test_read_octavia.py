"""How long reading 1,400 load balancers with 28,000 members from MariaDB takes.

Prints figures, asserts only what is read: run with `pytest -s tests/bench/test_read_octavia.py`.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

import sqlalchemy as sa

from ovnlb.desired.octavia import load, load_all, load_many, open_engine, pending
from servers.octavia_db import write_tables, writer

LOAD_BALANCERS, MEMBERS = 1400, 20
ROUNDS = 5


def _id() -> str:
    return str(uuid.uuid4())


def _tables() -> dict[str, list[dict[str, Any]]]:
    """LBs with one TCP and one UDP listener and pool, a monitor, MEMBERS members in all."""
    names = ("load_balancer", "vip", "listener", "pool", "member", "health_monitor")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(LOAD_BALANCERS):
        lb = _id()
        address = f"10.{number // 250}.{number % 250}.5"
        tables["load_balancer"].append(
            {"id": lb, "name": f"lb{number}", "provider": "ovn", "project_id": "p"}
        )
        vip = {"load_balancer_id": lb, "ip_address": address, "port_id": _id(), "subnet_id": "s" * 36}
        tables["vip"].append(vip | {"network_id": "n" * 36})
        for protocol, port in (("TCP", 80), ("UDP", 53)):
            pool = _id()
            own = {"load_balancer_id": lb, "protocol": protocol}
            tables["pool"].append({"id": pool, **own})
            tables["listener"].append({"id": _id(), "protocol_port": port, "default_pool_id": pool, **own})
            tables["health_monitor"].append({"id": _id(), "pool_id": pool})
            tables["member"] += [
                {
                    "id": _id(),
                    "pool_id": pool,
                    "ip_address": f"10.200.{number % 250}.{m}",
                    "protocol_port": 8080,
                    "subnet_id": "s" * 36,
                    "weight": 1,
                    "name": f"m{m}",
                }
                for m in range(MEMBERS // 2)
            ]
    return tables


def test_read_all(octavia_mariadb: str) -> None:
    write_tables(writer(octavia_mariadb), _tables())
    engine = open_engine(octavia_mariadb)
    selects: list[str] = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        selects.extend([statement] if statement.startswith("SELECT") else [])

    graph = load_all(engine, ["ovn"])
    assert len(graph.load_balancers) == LOAD_BALANCERS
    assert sum(len(p.members) for lb in graph.load_balancers for p in lb.pools) == LOAD_BALANCERS * MEMBERS
    assert len(selects) == 6
    ids = [lb.id for lb in graph.load_balancers]
    reads = {
        f"all {LOAD_BALANCERS}": lambda: load_all(engine, ["ovn"]),
        "50 by id": lambda: load_many(engine, ids[:50]),
        "one by id": lambda: load(engine, ids[0]),
        "pending": lambda: pending(engine, ["ovn"]),
    }
    for name, read in reads.items():
        walls, processor = [], []
        for _ in range(ROUNDS):
            start, used = time.perf_counter(), time.process_time()
            read()
            walls.append((time.perf_counter() - start) * 1000)
            processor.append((time.process_time() - used) * 1000)
        spent = min(processor)
        print(f"read {name}: {min(walls):.1f} to {max(walls):.1f} ms, processor time here {spent:.1f} ms")
