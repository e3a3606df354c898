"""`python -m bench [--counts 10,100] [--out FILE]`: measure, and write docs/performance/results.json.

Each cloud gets servers of its own; the product runs in processes of its own. The page's tables are
made from the results by `bench.page`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import command, daemon, northd, page, repair, routers, side
from bench.world import BenchWorld, bench_world

# ovn-octavia-provider takes minutes for 20 load balancers in larger clouds.
LARGEST_ORIGINAL = 1000
NEW_BALANCERS = 10
DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "performance"


def served(world: BenchWorld) -> dict[str, Any]:
    """What a running service does."""
    found: dict[str, Any] = {}
    with daemon.daemon(world) as made:
        found["first_pass"] = {"wall": round(made.first_pass, 2), "cpu": round(made.cpu, 2), **made.memory}
        scenes: dict[str, Callable[[BenchWorld, daemon.Daemon], dict[str, Any]]] = {
            "idle": daemon.idle,
            "foreign_changes": daemon.foreign_changes,
            "members_added": daemon.members_added,
            "health_events": daemon.health_events,
            "created_at_once": daemon.created_at_once,
            "cascade": daemon.cascade,
            "router_interface": routers.router_interface,
        }
        for name, scene in scenes.items():
            found[name] = scene(world, made)
            say(world.count, name, found[name])
        found["memory"] = made.memory
    return found


def say(count: int, name: str, found: Any) -> None:
    """Progress on standard error."""
    print(time.strftime("%H:%M:%S"), count, name, found, file=sys.stderr, flush=True)


def measure(count: int) -> dict[str, Any]:
    """Everything for one cloud, each provider on servers of its own."""
    found: dict[str, Any] = {"count": count, "load": round(os.getloadavg()[0], 1), "cores": os.cpu_count()}
    with bench_world(count) as world:
        steps: dict[str, Callable[[], Any]] = {
            "replica": lambda: command.child(world, "replica"),
            "full_check": lambda: command.child(world, "full_check"),
            "plan": lambda: command.ran(world, "plan"),
            "repair": lambda: repair.repair(world),
            "rebuild": lambda: repair.rebuild(world),
        }
        for name, step in steps.items():
            if name == "repair":
                repair.mark_old_ports(world)
            found[name] = step()
            say(count, name, found[name])
        found |= served(world)
    if count <= LARGEST_ORIGINAL:
        with bench_world(count) as world:
            found["original"] = side.original(world, NEW_BALANCERS)
    return found


def main() -> None:
    """Measure the clouds that are asked for, and write results and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default="10,100,1000,10000")
    parser.add_argument("--out", type=Path, default=DOCS / "results.json")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    results["northd"] = northd.measure()
    for count in map(int, options.counts.split(",")):
        results[str(count)] = measure(count)
        options.out.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    page.write(results, options.out.parent)


if __name__ == "__main__":
    main()
