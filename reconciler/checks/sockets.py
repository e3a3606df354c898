"""Unix sockets from outside: there, listened to, and who may open them. Nothing connects to any.

The driver-agent would leave a process spinning for each connection without a message
(octavia-contract.md section 0), so whether somebody listens is read from the kernel's list.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

KERNEL_LIST = Path("/proc/net/unix")


def described(path: str) -> str:
    """Mode, owner and group, as `0660 octavia:octavia`."""
    found = os.stat(path)
    owner, group = _name(pwd.getpwuid, found.st_uid), _name(grp.getgrgid, found.st_gid)
    return f"{stat.S_IMODE(found.st_mode):04o} {owner}:{group}"


def _name(lookup: Callable[[int], object], number: int) -> str:
    with suppress(KeyError):
        return str(lookup(number)[0])  # type: ignore[index]
    return str(number)


def user() -> str:
    """Who runs this command."""
    return f"user {_name(pwd.getpwuid, os.geteuid())}"


def why_unusable(path: str) -> str:
    """Why the current user cannot connect to a socket, empty when nothing is known against it."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        return f"{path}: {error.strerror}"
    if not stat.S_ISSOCK(mode):
        return f"{path} is no socket"
    if not os.access(path, os.W_OK, effective_ids=True):
        return f"{path} ({described(path)}) may not be opened by {user()}"
    return ""


def listened(path: str) -> bool | None:
    """Whether a process of this network namespace has bound the path; None when that cannot be told."""
    try:
        lines = KERNEL_LIST.read_text().splitlines()[1:]
    except OSError:
        return None
    # Num RefCount Protocol Flags Type St Inode Path; no path for unnamed sockets.
    bound = {parts[7] for line in lines if len(parts := line.split(maxsplit=7)) == 8}
    wanted = os.path.realpath(path)
    return path in bound or any(
        os.path.basename(name) == os.path.basename(path) and os.path.realpath(name) == wanted
        for name in bound
    )
