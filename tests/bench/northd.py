"""What ovn-northd spends on 20 populated load balancers, written by either provider."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench import daemon, side
from bench.world import BenchWorld, bench_world, cpu_seconds
from servers.ovsdb import NB, transact

COUNT, AMOUNT, SPREAD = 100, 20, 3.0


@contextmanager
def northd(world: BenchWorld) -> Iterator[subprocess.Popen[bytes]]:
    """One beside the servers of a world; it has taken in all that there is."""
    control = world.directory / "northd.ctl"
    argv = ["ovn-northd", f"--ovnnb-db={world.nb.unix}", f"--ovnsb-db={world.sb.unix}"]
    argv += [f"--unixctl={control}", "-vconsole:off"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        settle(world)
        yield process
    finally:
        process.terminate()
        process.wait(30)


def settle(world: BenchWorld) -> None:
    """Wait until northd has taken in everything."""
    bump = {"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["nb_cfg", "+=", 1]]}
    transact(world.nb.unix, NB, bump)

    def behind() -> bool:
        (row,) = world.nb.rows("NB_Global")
        return bool(row["sb_cfg"] < row["nb_cfg"])

    daemon.wait(lambda: not behind(), "northd")


def measure() -> dict[str, Any]:
    """CPU seconds of northd, at once and spread over a minute."""
    found: dict[str, Any] = {"count": COUNT, "amount": AMOUNT}
    for name, pause in (("at_once", 0.0), ("spread", SPREAD)):
        with bench_world(COUNT) as world, northd(world) as process:
            with daemon.daemon(world) as made:
                time.sleep(5)
                settle(world)
                before = cpu_seconds(process.pid)
                daemon.created_at_once(world, made, AMOUNT, pause)
                settle(world)
                ours = cpu_seconds(process.pid) - before
            first = COUNT + side.BEYOND
            daemon.add_vip_ports(world, first, first + AMOUNT)
            settle(world)
            before = cpu_seconds(process.pid)
            side.original(world, AMOUNT, created_only=True, pause=pause)
            settle(world)
            found[name] = {"ovnlb": round(ours, 2), "original": round(cpu_seconds(process.pid) - before, 2)}
            print("northd", name, found[name], flush=True)
    return found
