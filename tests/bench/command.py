"""Scenes of `bench.child` in processes of their own, and one-shot commands of the product among them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from bench.world import BenchWorld


def child(world: BenchWorld, *arguments: str) -> dict[str, Any]:
    """What a scene prints; raises with what it said when it fails."""
    scene, *rest = arguments
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-m", "bench.child", scene, str(world.config()), *rest]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ran(world: BenchWorld, command: str) -> dict[str, Any]:
    """`ovnlb plan` or `ovnlb apply` from nothing; 0 and 2 (something is left to do) are good ends."""
    started = time.perf_counter()
    found = child(world, "command", command)
    assert found["exit"] in (0, 2), found
    return {"wall": round(time.perf_counter() - started, 2), **found}
