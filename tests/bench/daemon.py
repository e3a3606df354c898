"""The service as a process of its own, and what it does when the world changes."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import clouds
from bench.world import BenchWorld, cpu_seconds, write_octavia
from ovnlb.reconciler import nudge
from servers.ovsdb import NB, SB, transact

QUIET = {"resync_interval": 86400, "sweep_interval": 86400}
_PATIENCE = 600.0


class Daemon:
    """`ovnlb run` against a world."""

    def __init__(self, world: BenchWorld, **overrides: Any) -> None:
        self.world = world
        config = world.config(**{**QUIET, **overrides})
        self.log = config.with_suffix(".log")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "ovnlb.reconciler.cli", "run", "--config-file", str(config)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        started = time.perf_counter()
        wait(self._passed, "its first pass")
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        self.first_pass = time.perf_counter() - started

    def _passed(self) -> bool:
        return "full pass (" in self.log.read_text() or self.process.poll() is not None

    @property
    def cpu(self) -> float:
        """CPU seconds so far."""
        return cpu_seconds(self.process.pid)

    @property
    def memory(self) -> dict[str, float]:
        """MiB of resident memory: now, and at most so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return {name: int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}

    def nudge(self, lb_id: str) -> None:
        """What the driver does."""
        nudge.send(str(self.world.agent.directory / "ovnlb.sock"), lb_id)

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(60)


@contextmanager
def daemon(world: BenchWorld, **overrides: Any) -> Iterator[Daemon]:
    """A running service whose first pass is over."""
    made = Daemon(world, **overrides)
    try:
        yield made
    finally:
        made.stop()


def wait(condition: Callable[[], Any], what: str, pause: float = 0.02) -> None:
    """Poll until `condition()` holds."""
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(pause)


class Monitor:
    """One Load_Balancer's `vips` as a second client of the database sees them change."""

    def __init__(self, world: BenchWorld, lb_id: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(world.nb.socket))
        self._socket.settimeout(60)
        request = {"Load_Balancer": [{"columns": ["vips"], "where": [["name", "==", lb_id]]}]}
        message = {"method": "monitor_cond", "params": [NB, "bench", request], "id": 1}
        self._socket.sendall(json.dumps(message).encode())
        self._text = b""
        self.await_text(b'"error":null')

    def await_text(self, text: bytes) -> None:
        """Wait until the server has sent this text."""
        while text not in self._text:
            data = self._socket.recv(1 << 16)
            assert data, "the server has closed the connection"
            self._text += data
        self._text = b""

    def close(self) -> None:
        """End of watching."""
        self._socket.close()


def members_added(world: BenchWorld, made: Daemon, times: int = 60) -> dict[str, Any]:
    """A member added to one load balancer after another, each alone, without a monitor."""
    numbers = [n for n in range(world.count) if not clouds.is_monitored(n) and not clouds.is_v6(n)]
    chosen = [numbers[index * len(numbers) // times] for index in range(times)]
    before, waits = state(world, made), []
    for index, number in enumerate(chosen):
        row = clouds.member(number, world.count, 0, 0, "PENDING_CREATE")
        row |= {"id": clouds.object_id("3e3be001", number, index), "protocol_port": 9000 + index}
        pool, lb = row["pool_id"], clouds.lb_id(number)
        columns = {**row, "backup": 0, "vnic_type": "normal", "enabled": 1, "operating_status": "NO_MONITOR"}
        names, values = ", ".join(columns), ", ".join(f"'{value}'" for value in columns.values())
        watching = Monitor(world, lb)
        world.sql(
            "START TRANSACTION",
            f"INSERT INTO member ({names}) VALUES ({values})",
            f"UPDATE pool SET provisioning_status = 'PENDING_UPDATE' WHERE id = '{pool}'",
            f"UPDATE listener SET provisioning_status = 'PENDING_UPDATE' WHERE default_pool_id = '{pool}'",
            f"UPDATE load_balancer SET provisioning_status = 'PENDING_UPDATE' WHERE id = '{lb}'",
            "COMMIT",
        )
        visible = time.perf_counter()
        made.nudge(lb)
        watching.await_text(b":%d" % (9000 + index))
        waits.append((time.perf_counter() - visible) * 1000)
        watching.close()
        wait(lambda: not pending(world), "ACTIVE")
    found = difference(world, made, before)
    ordered = sorted(waits)
    return {
        "transactions_each": found["transactions"] / times,
        "cpu_ms_each": round(found["cpu"] * 1000 / times, 2),
        "messages_each": found["messages"] / times,
        "p50_ms": round(statistics.median(ordered), 1),
        "p99_ms": round(ordered[-1 - len(ordered) // 100], 1),
    }


def add_vip_ports(world: BenchWorld, first: int, last: int) -> None:
    """The LSPs of VIP ports of load balancers that are about to be created."""
    ports = clouds.more_vip_ports(world.count, first, last)
    for chunk in _chunks(list(ports.values()), 100):
        operations: list[dict[str, Any]] = []
        for index, entry in enumerate(chunk):
            port, name = entry["port"], f"p{index}"
            row = {"name": port["name"], "addresses": port["addresses"][0]}
            row["external_ids"] = ["map", list(map(list, port["external_ids"].items()))]
            operations.append({"op": "insert", "table": "Logical_Switch_Port", "row": row, "uuid-name": name})
            where, change = [["name", "==", entry["switch"]]], ["ports", "insert", ["named-uuid", name]]
            mutation = {"op": "mutate", "table": "Logical_Switch", "where": where, "mutations": [change]}
            operations.append(mutation)
        transact(world.nb.unix, NB, *operations)


def created_at_once(world: BenchWorld, made: Daemon, amount: int = 500, pause: float = 0.0) -> dict[str, Any]:
    """So many populated load balancers in PENDING_CREATE, committed together or `pause` seconds apart."""
    first, last = world.count, world.count + amount
    add_vip_ports(world, first, last)
    before, started = state(world, made), time.perf_counter()
    step = 1 if pause else amount
    for start in range(first, last, step):
        write_octavia(world, clouds.octavia(world.count, start, start + step, "PENDING_CREATE"))
        for number in range(start, start + step):
            made.nudge(clouds.lb_id(number))
        time.sleep(pause)
    wait(lambda: not pending(world), "ACTIVE", 0.1)
    wall = time.perf_counter() - started
    return {"amount": amount, "wall": round(wall, 2), **difference(world, made, before)}


def cascade(world: BenchWorld, made: Daemon, amount: int = 20) -> dict[str, Any]:
    """Cascading deletion of so many of the load balancers that were created last."""
    numbers = range(world.count, world.count + amount)
    ids = ", ".join(f"'{clouds.lb_id(number)}'" for number in numbers)
    before, started = state(world, made), time.perf_counter()
    world.sql(f"UPDATE load_balancer SET provisioning_status = 'PENDING_DELETE' WHERE id IN ({ids})")
    for number in numbers:
        made.nudge(clouds.lb_id(number))
    wait(lambda: not pending(world), "the deletion", 0.1)
    wall = time.perf_counter() - started
    return {"amount": amount, "wall": round(wall, 2), **difference(world, made, before)}


def health_events(
    world: BenchWorld, made: Daemon, amount: int = 1000, seconds: float = 10.0
) -> dict[str, Any]:
    """So many Service_Monitors that go offline, spread evenly over some seconds."""
    rows = world.sb.dump("Service_Monitor")["Service_Monitor"][:amount]
    before, started = state(world, made), time.perf_counter()
    for index, chunk in enumerate(_chunks(rows, 10)):
        operations = [
            {
                "op": "update",
                "table": "Service_Monitor",
                "where": [["_uuid", "==", ["uuid", row["_uuid"]]]],
                "row": {"status": "offline"},
            }
            for row in chunk
        ]
        transact(world.sb.unix, SB, *operations)
        time.sleep(max(0.0, started + (index + 1) * seconds * 10 / amount - time.perf_counter()))
    time.sleep(3)
    found = difference(world, made, before)
    return {"events": len(rows), **found, "percent": round(found["cpu"] / (seconds + 3) * 100, 1)}


def idle(world: BenchWorld, made: Daemon, seconds: float = 20.0) -> dict[str, Any]:
    """Nothing happens but the poll of the database; what follows the first pass is waited for."""
    for _ in range(20):
        before = made.cpu
        time.sleep(3)
        if made.cpu - before < 0.15:
            break
    before = made.cpu
    time.sleep(seconds)
    return {"percent": round((made.cpu - before) / seconds * 100, 2)}


def foreign_changes(world: BenchWorld, made: Daemon, seconds: float = 10.0) -> dict[str, Any]:
    """Another client changes ten LSPs a second that are nobody's members."""
    before, started = made.cpu, time.perf_counter()
    for number in range(int(seconds * 10)):
        name = clouds.object_id("3ac41000", 0, clouds.machines(world.count, 0) - 1)
        pair = ["map", [["neutron:revision_number", str(number + 10)]]]
        change = {"op": "mutate", "table": "Logical_Switch_Port", "where": [["name", "==", name]]}
        old = ["set", ["neutron:revision_number"]]
        mutations = [["external_ids", "delete", old], ["external_ids", "insert", pair]]
        transact(world.nb.unix, NB, {**change, "mutations": mutations})
        time.sleep(max(0.0, started + (number + 1) / 10 - time.perf_counter()))
    return {"percent": round((made.cpu - before) / seconds * 100, 2)}


def pending(world: BenchWorld) -> int:
    """How many load balancers wait for a verdict."""
    query = "SELECT COUNT(*) FROM load_balancer WHERE provisioning_status LIKE 'PENDING%'"
    return int(world.sql(query)[0][0])


def state(world: BenchWorld, made: Daemon) -> dict[str, float]:
    return {
        "cpu": made.cpu,
        "transactions": world.commits(),
        "bytes": world.nb.file.stat().st_size,
        "messages": len(world.agent.messages),
        "neutron_calls": len(world.neutron.calls),
    }


def difference(world: BenchWorld, made: Daemon, before: dict[str, float]) -> dict[str, Any]:
    after = state(world, made)
    return {name: round(after[name] - value, 3) for name, value in before.items()}


def _chunks(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))
