"""What the API's worker processes hold: descriptors by kind, and threads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_LISTEN = "0A"


def workers(master: int) -> list[int]:
    """Pids of the worker processes of gunicorn's master process."""
    return [int(pid) for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split()]


def footprint(pid: int, agents: Mapping[int, str]) -> Counter[str]:
    """How many descriptors of each kind a process has open, and its threads.

    `agents`: User-Agent by local TCP port, as a server saw it. Kinds: "listening", "tcp from PORT"
    (accepted there), "tcp as AGENT", "tcp to PORT", "unix", what the kernel calls others ("eventpoll",
    "pipe"), or a file's path.
    """
    sockets = _sockets(pid, agents)
    held: Counter[str] = Counter()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            held[_kind(os.readlink(descriptor), sockets)] += 1
    held["threads"] = len(os.listdir(f"/proc/{pid}/task"))
    return held


def _kind(target: str, sockets: dict[str, str]) -> str:
    if target.startswith("socket:["):
        return sockets.get(target[len("socket:[") : -1], "socket")
    if target.startswith("anon_inode:"):
        return target[len("anon_inode:") :].strip("[]")
    return target.split(":[")[0]


def _sockets(pid: int, agents: Mapping[int, str]) -> dict[str, str]:
    """Inode -> kind of every socket of the process' network namespace."""
    tcp = _table(pid, "tcp")
    listening = {_port(row[1]) for row in tcp if row[3] == _LISTEN}
    kinds = {row[6]: "unix" for row in _table(pid, "unix")}
    for row in tcp:
        here, there = _port(row[1]), _port(row[2])
        if row[3] == _LISTEN:
            kinds[row[9]] = "listening"
        else:
            to = f"tcp as {agents[here].split()[0]}" if here in agents else f"tcp to {there}"
            kinds[row[9]] = f"tcp from {here}" if here in listening else to
    return kinds


def _table(pid: int, name: str) -> list[list[str]]:
    lines = Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    return [line.split() for line in lines]


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
