"""`python -m bench [--counts 100,1000] [--out FILE]`: measure, and write docs/performance/results.json.

Each cloud gets servers of its own; the product runs in processes of its own. The page's tables are
made from the results by `bench.page`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import daemon, page
from bench.world import BenchWorld, bench_world

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "performance"


def child(world: BenchWorld, scene: str) -> dict[str, Any]:
    """A scene of `bench.child` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "bench.child", scene, str(world.config())]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def plan(world: BenchWorld) -> dict[str, Any]:
    """`ovnlb plan` from nothing. Its exit code is 0 in sync, 2 with something left to do."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "ovnlb.reconciler.cli", "plan", "--config-file", str(world.config())]
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    text, errors = process.communicate()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode in (0, 2), errors[-3000:]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "wall": round(wall, 2),
        "cpu": round(cpu, 2),
        "exit": process.returncode,
        "last_line": text.splitlines()[-1],
    }


def served(world: BenchWorld) -> dict[str, Any]:
    """What a running service does."""
    found: dict[str, Any] = {}
    with daemon.daemon(world) as made:
        found["first_pass"] = {"wall": round(made.first_pass, 2), "cpu": round(made.cpu, 2), **made.memory}
        scenes: dict[str, Callable[[BenchWorld, daemon.Daemon], dict[str, Any]]] = {
            "idle": daemon.idle,
            "foreign_changes": daemon.foreign_changes,
            "members_added": daemon.members_added,
            "router_interface": daemon.router_interface,
            "health_events": daemon.health_events,
            "created_at_once": daemon.created_at_once,
        }
        for name, scene in scenes.items():
            found[name] = scene(world, made)
            print(name, found[name], file=sys.stderr, flush=True)
        found["memory"] = made.memory
    return found


def measure(count: int) -> dict[str, Any]:
    """Everything for one cloud."""
    found: dict[str, Any] = {"count": count, "load": os.getloadavg()[0], "cores": os.cpu_count()}
    with bench_world(count) as world:
        for name in ("replica", "full_check"):
            found[name] = child(world, name)
            print(count, name, found[name], file=sys.stderr, flush=True)
        found["plan"] = plan(world)
        print(count, "plan", found["plan"], file=sys.stderr, flush=True)
        found |= served(world)
    return found


def main() -> None:
    """Measure the clouds that are asked for, and write results and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default="100,1000,10000")
    parser.add_argument("--out", type=Path, default=DOCS / "results.json")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    for count in map(int, options.counts.split(",")):
        results[str(count)] = measure(count)
        options.out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    page.write(results, options.out.parent)


if __name__ == "__main__":
    main()
