"""A private ovsdb-server with the OVN Northbound schema, on a unix socket, for as long as a block runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DATABASE = "OVN_Northbound"
# Where distributions install it: Debian and Ubuntu, RDO, a build from source.
SCHEMAS = (
    Path("/usr/share/ovn/ovn-nb.ovsschema"),
    Path("/usr/share/openvswitch/ovn-nb.ovsschema"),
    Path("/usr/local/share/ovn/ovn-nb.ovsschema"),
)
_START_PATIENCE = 10


class MissingProgram(RuntimeError):
    """A program or schema that the demo needs is not installed; the text says what to install."""


@contextmanager
def northbound(directory: Path) -> Iterator[str]:
    """Start the server in a directory of its own, yield its remote, stop it. Raises MissingProgram."""
    server, tool = _program("ovsdb-server"), _program("ovsdb-tool")
    database, socket = directory / "nb.db", directory / "nb.sock"
    subprocess.run([tool, "create", database, _schema()], check=True)
    process = subprocess.Popen(
        [
            server,
            "--verbose=console:off",
            f"--remote=punix:{socket}",
            f"--unixctl={directory / 'nb.ctl'}",
            f"--log-file={directory / 'nb.log'}",
            "--no-chdir",
            str(database),
        ]
    )
    try:
        _await(f"unix:{socket}")
        yield f"unix:{socket}"
    finally:
        process.terminate()
        process.wait(timeout=_START_PATIENCE)


def transact(remote: str, operations: Sequence[Any]) -> None:
    """Send OVSDB operations (RFC 7047, 5.2) as somebody else's tool would. Raises RuntimeError."""
    request = json.dumps([DATABASE, *operations])
    done = subprocess.run(
        [_program("ovsdb-client"), "transact", remote, request], capture_output=True, text=True, check=False
    )
    failed = done.returncode or any(item and "error" in item for item in json.loads(done.stdout or "[]"))
    if failed:
        raise RuntimeError(f"ovsdb-client transact: {done.stderr or done.stdout}")


def _await(remote: str) -> None:
    options = ["--verbose=console:off", "--timeout", str(_START_PATIENCE)]
    command = [_program("ovsdb-client"), *options, "wait", remote, DATABASE, "connected"]
    subprocess.run(command, check=True)


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/sbin:/bin")
    if found is None:
        raise MissingProgram(f"{name} is not installed: install the package openvswitch-switch")
    return found


def _schema() -> Path:
    for path in SCHEMAS:
        if path.exists():
            return path
    raise MissingProgram(f"the OVN Northbound schema is not at {SCHEMAS[0]}: install the package ovn-central")
