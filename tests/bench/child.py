"""What runs in a process of its own, so that its CPU time and memory are the product's alone.

`python -m bench.child SCENE CONFIG [argument]` prints one JSON object.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ovnlb.desired.verdicts import Outcome, messages, status_update
from ovnlb.observed.connection import Replica
from ovnlb.observed.idl import connect_nb
from ovnlb.reconciler import cli
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.live import LiveInputs, live_inputs
from ovnlb.reconciler.settings import Settings, load_settings
from ovnlb.reconciler.walk import walk_all

COUNTS: Counter[str] = Counter()
ROUNDS = 3


def count_calls() -> None:
    """Count SELECTs and the transactions that are sent, from now on."""

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def statement(_connection: Any, _cursor: Any, text: str, *_rest: Any) -> None:
        COUNTS["queries"] += text.startswith("SELECT")

    plain = Replica.transact

    def transact(self: Replica, command: Any) -> Any:
        outcome = plain(self, command)
        COUNTS["transactions"] += outcome.sent
        return outcome

    Replica.transact = transact  # type: ignore[method-assign]


def memory() -> float:
    """The peak of resident memory in MiB (getrusage would count the parent's before exec)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return round(int(status["VmHWM"].split()[0]) / 1024, 1)


@contextmanager
def timed(result: dict[str, Any], name: str) -> Iterator[None]:
    """Add NAME_wall and NAME_cpu, in seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    result[f"{name}_wall"] = round(time.perf_counter() - wall, 4)
    result[f"{name}_cpu"] = round(time.process_time() - cpu, 4)


def replica(settings: Settings, _argument: str) -> dict[str, Any]:
    """The Northbound replica alone, from nothing."""
    result: dict[str, Any] = {}
    with timed(result, "replica"):
        nb = connect_nb(settings.nb)
    result["memory"] = memory()
    nb.close()
    return result


def check(found: LiveInputs, result: dict[str, Any], name: str) -> None:
    """One full check: graph, walk of everything, and what Octavia would be told."""
    COUNTS.clear()
    found.neutron.refresh()
    with timed(result, name):
        graph = found.graph(Scope())
        done = walk_all(graph, found.world)
        updates = [status_update(walked.lb, walked.desired.members, Outcome()) for walked in done.walked]
        told = list(messages([update for update in updates if update.records]))
    result["load_balancers"] = len(done.walked)
    result["changes"] = sum(len(walked.plan.changes) for walked in done.walked)
    result["effects"] = sum(len(walked.plan.effects) for walked in done.walked)
    result["warnings"] = sum(len(walked.plan.warnings) for walked in done.walked)
    result["failed"] = [failure.reason for failure in done.failed[:3]]
    result["messages"], result["queries"] = len(told), COUNTS["queries"]
    result["transactions"] = COUNTS["transactions"]
    result["fips"] = sum(len(walked.topology.fips) for walked in done.walked)
    if result["changes"]:
        result["first"] = str(next(w.plan.changes[0] for w in done.walked if w.plan.changes))


def full_check(settings: Settings, _argument: str) -> dict[str, Any]:
    """The first check of a process, then checks with a warm replica: the fastest of them."""
    result: dict[str, Any] = {}
    with timed(result, "connect"):
        made = live_inputs(settings)
        found = made.__enter__()
    result["connected_memory"] = memory()
    check(found, result, "first")
    rounds = []
    for _ in range(ROUNDS):
        one: dict[str, Any] = {}
        check(found, one, "warm")
        rounds.append(one)
    result |= min(rounds, key=lambda one: float(one["warm_cpu"]))
    result["memory"] = memory()
    made.__exit__(None, None, None)
    return result


def profiled(settings: Settings, argument: str) -> dict[str, Any]:
    """A warm check under cProfile; the profile goes to the file `argument`."""
    import cProfile

    result: dict[str, Any] = {}
    with live_inputs(settings) as found:
        check(found, result, "first")
        profile = cProfile.Profile()
        profile.enable()
        check(found, result, "warm")
        profile.disable()
        profile.dump_stats(argument)
    return result


SCENES: dict[str, Callable[[Settings, str], dict[str, Any]]] = {
    "replica": replica,
    "full_check": full_check,
    "profiled": profiled,
}


def command(config: str, name: str) -> dict[str, Any]:
    """A command line, as a process of its own runs it."""
    text = io.StringIO()
    with redirect_stdout(text):
        code = cli.main([name, "--config-file", config])
    lines = text.getvalue().splitlines()
    return {
        "exit": code,
        "last_line": lines[-1] if lines else "",
        "cpu": round(time.process_time(), 2),
        "memory": memory(),
    }


def main(scene: str, config: str, argument: str = "") -> None:
    """Run one scene."""
    if scene == "command":
        print(json.dumps(command(config, argument)))
        return
    count_calls()
    print(json.dumps(SCENES[scene](load_settings([config]), argument)))


if __name__ == "__main__":
    main(*sys.argv[1:])
