"""ovn-octavia-provider 11.0.0 from the package index on the servers of a bench, beside ours."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench import daemon
from bench.world import BenchWorld
from stack import venvs

SAMPLE = 20
# Its new load balancers have numbers beyond those that ours creates.
BEYOND = 1000
_TESTS = str(Path(__file__).resolve().parent.parent)


def original(
    world: BenchWorld, amount: int, *, created_only: bool = False, pause: float = 0.0
) -> dict[str, Any]:
    """Its scenes, see `bench.original`, with so many new load balancers."""
    first = world.count + BEYOND
    if not created_only:
        daemon.add_vip_ports(world, first, first + amount)
    job = {
        "count": world.count,
        "sample": min(SAMPLE, world.count),
        "extra": [first, first + amount],
        "nb": world.nb.remote,
        "nb_file": str(world.nb.file),
        "created_only": created_only,
        "pause": pause,
    }
    command = [str(venvs.original() / "bin" / "python"), "-m", "bench.original", json.dumps(job)]
    environment = {**os.environ, "PYTHONPATH": _TESTS}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    assert done.returncode == 0, "ovn-octavia-provider failed"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
