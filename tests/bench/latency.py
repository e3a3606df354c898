"""`python -m bench.latency [--counts 10,1000,5000] [--out FILE]`: what users wait for, what waiting costs.

A member is changed as octavia-api does it: the driver's nudge, then the commit some milliseconds
later; and once more with the nudge at the commit, so that nothing is chased. Measured from the commit:
the Northbound transaction as a second client of that database sees it, and ACTIVE in Octavia's
database. Every kind of operation is counted in Northbound transactions.
The load balancers of the database are of the usual cloud; servers and service are processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

from bench import clouds
from bench.daemon import Daemon, Monitor, created_at_once, daemon, idle
from bench.world import BenchWorld, bench_world

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "performance"
# From the nudge, which is the driver's last act, to the end of octavia-api's transaction.
BEFORE_COMMIT = 0.008
TIMES = 200
_ACTIVE = "SELECT provisioning_status = 'ACTIVE' FROM load_balancer WHERE id = %s"


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50 and p99 in ms, of seconds."""
    ordered = sorted(values)
    last = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return {"p50": round(statistics.median(ordered) * 1000, 1), "p99": round(last * 1000, 1)}


class User:
    """A client of octavia-api: its nudge and its commit, over one connection."""

    def __init__(self, world: BenchWorld, made: Daemon) -> None:
        self.world, self.made = world, made
        self.connection = pymysql.connect(
            unix_socket=str(world.mariadb.socket), user="root", database=world.database, autocommit=True
        )

    def close(self) -> None:
        """End of the session."""
        self.connection.close()

    def changes(
        self, lb: str, *statements: str, status: str = "PENDING_UPDATE", early: float = BEFORE_COMMIT
    ) -> float:
        """One API call; when its commit was done. `early`: seconds from the nudge to it."""
        with self.connection.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            for statement in statements:
                cursor.execute(statement)
            now = "UTC_TIMESTAMP()"
            set_ = f"SET provisioning_status = '{status}', updated_at = {now}"
            cursor.execute(f"UPDATE load_balancer {set_} WHERE id = '{lb}'")
            if early:
                self.made.nudge(lb)
                time.sleep(early)
            cursor.execute("COMMIT")
        committed = time.perf_counter()
        if not early:
            self.made.nudge(lb)
        return committed

    def await_end(self, lb: str) -> float:
        """When the load balancer was ACTIVE (or gone) again."""
        deadline = time.perf_counter() + 60
        with self.connection.cursor() as cursor:
            while time.perf_counter() < deadline:
                cursor.execute(_ACTIVE.replace("= 'ACTIVE'", "IN ('ACTIVE', 'DELETED')"), (lb,))
                row = cursor.fetchone()
                if row is None or row[0]:
                    return time.perf_counter()
                time.sleep(0.002)
        raise AssertionError(f"{lb} stays PENDING")


def _locked(number: int) -> tuple[str, str]:
    """What a member's call locks besides the load balancer."""
    pool, listener = clouds.object_id("b0010000", number), clouds.object_id("11500000", number)
    pending = "SET provisioning_status = 'PENDING_UPDATE' WHERE id ="
    return f"UPDATE pool {pending} '{pool}'", f"UPDATE listener {pending} '{listener}'"


def _member(number: int, change: str) -> str:
    member = clouds.object_id("3e3be000", number)
    return f"UPDATE member SET {change} WHERE id = '{member}'"


def nudged_at_commit(world: BenchWorld, made: Daemon) -> dict[str, Any]:
    """The same without a chase."""
    return lone_changes(world, made, TIMES // 2, 0.0)


def lone_changes(
    world: BenchWorld, made: Daemon, times: int = TIMES, early: float = BEFORE_COMMIT
) -> dict[str, Any]:
    """Members changed one at a time: ms from the commit to the rows and to ACTIVE."""
    numbers = [n for n in range(world.count) if not clouds.is_monitored(n) and not clouds.is_v6(n)]
    user, rows, ends, before = User(world, made), [], [], (world.commits(), made.cpu)
    for index in range(times):
        number, port = numbers[index * 7919 % len(numbers)], (20000 if early else 30000) + index
        lb = clouds.lb_id(number)
        watching = Monitor(world, lb)
        pending = "provisioning_status = 'PENDING_UPDATE'"
        change = _member(number, f"protocol_port = {port}, {pending}")
        committed = user.changes(lb, change, *_locked(number), early=early)
        watching.await_text(b":%d" % port)
        rows.append(time.perf_counter() - committed)
        watching.close()
        ends.append(user.await_end(lb) - committed)
        time.sleep(0.12)  # the user's own time: fewer than what pacing calls a stream
    user.close()
    return {
        "rows_ms": percentiles(rows),
        "active_ms": percentiles(ends),
        "transactions": round((world.commits() - before[0]) / times, 3),
        "cpu_ms": round((made.cpu - before[1]) * 1000 / times, 2),
    }


def operations(number: int) -> dict[str, tuple[str, ...]]:
    """One call of each kind on one load balancer, in this order."""
    # Of a row's pools the last one decides on its selection fields.
    lb, pool = clouds.lb_id(number), clouds.object_id("b0010000", number, clouds.POOLS - 1)
    listener = clouds.object_id("11500000", number)
    pending = "provisioning_status = 'PENDING_UPDATE'"
    return {
        "member disabled": (_member(number, f"enabled = 0, {pending}"), *_locked(number)),
        "member enabled": (_member(number, f"enabled = 1, {pending}"), *_locked(number)),
        "member deleted": (
            _member(number, "provisioning_status = 'PENDING_DELETE'"),
            *_locked(number),
        ),
        "pool updated": (f"UPDATE pool SET lb_algorithm = 'SOURCE_IP', {pending} WHERE id = '{pool}'",),
        "listener disabled": (f"UPDATE listener SET enabled = 0, {pending} WHERE id = '{listener}'",),
        "load balancer disabled": (f"UPDATE load_balancer SET enabled = 0 WHERE id = '{lb}'",),
        "load balancer renamed": (f"UPDATE load_balancer SET name = 'other' WHERE id = '{lb}'",),
        "cascade delete": (),
    }


def transactions_each(world: BenchWorld, made: Daemon) -> dict[str, int]:
    """Northbound transactions of each kind of call."""
    number = next(n for n in range(world.count) if not clouds.is_monitored(n) and not clouds.is_v6(n))
    user, found, lb = User(world, made), {}, clouds.lb_id(number)
    for name, statements in operations(number).items():
        before = world.commits()
        status = "PENDING_DELETE" if name == "cascade delete" else "PENDING_UPDATE"
        user.changes(lb, *statements, status=status)
        user.await_end(lb)
        time.sleep(1.5)  # what follows from our own row events
        found[name] = world.commits() - before
    user.close()
    return found


def measure(count: int) -> dict[str, Any]:
    """All figures of one size."""
    found: dict[str, Any] = {"load": round(os.getloadavg()[0], 1)}
    with bench_world(count) as world, daemon(world) as made:
        scenes = {
            "idle": idle,
            "lone_changes": lone_changes,
            "nudged_at_commit": nudged_at_commit,
            "transactions": transactions_each,
            "created_at_once": created_at_once,
        }
        found["memory"] = made.memory["VmRSS"]
        for name, scene in scenes.items():
            found[name] = scene(world, made)
            print(count, name, found[name], file=sys.stderr, flush=True)
    return found


def table(results: dict[str, Any]) -> str:
    """The figures as a Markdown table, a column a size."""
    counts = sorted(results, key=int)
    rows = [
        ("ms from Octavia's commit to the rows, p50", lambda r: r["lone_changes"]["rows_ms"]["p50"]),
        ("p99", lambda r: r["lone_changes"]["rows_ms"]["p99"]),
        (
            "the same with the nudge at the commit, not 8 ms before, p50",
            lambda r: r["nudged_at_commit"]["rows_ms"]["p50"],
        ),
        ("p99", lambda r: r["nudged_at_commit"]["rows_ms"]["p99"]),
        ("ms from Octavia's commit to ACTIVE, p50", lambda r: r["lone_changes"]["active_ms"]["p50"]),
        ("p99", lambda r: r["lone_changes"]["active_ms"]["p99"]),
        ("transactions for each of them", lambda r: r["lone_changes"]["transactions"]),
        ("CPU ms for each of them, report included", lambda r: r["lone_changes"]["cpu_ms"]),
        ("500 created at once: s until all ACTIVE", lambda r: r["created_at_once"]["wall"]),
        ("transactions for all 500", lambda r: r["created_at_once"]["transactions"]),
        ("idle: % of a CPU", lambda r: r["idle"]["percent"]),
        ("resident MiB after the first pass", lambda r: round(r["memory"])),
        ("load average of the machine", lambda r: r["load"]),
    ]
    lines = ["| load balancers | " + " | ".join(f"{int(count):,}" for count in counts) + " |"]
    lines.append("|---|" + "---|" * len(counts))
    for name, value in rows:
        lines.append(f"| {name} | " + " | ".join(f"{value(results[count]):g}" for count in counts) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the sizes that are asked for, and write results and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default="10,1000,5000")
    parser.add_argument("--out", type=Path, default=DOCS / "latency.json")
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    for count in map(int, options.counts.split(",")):
        results[str(count)] = measure(count)
        options.out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    options.out.with_suffix(".md").write_text(table(results))


if __name__ == "__main__":
    main()
