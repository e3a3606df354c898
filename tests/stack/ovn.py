"""OVN's central part: Northbound and Southbound servers and northd, on unix sockets and loopback TCP."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stack.processes import Processes, StackError


@dataclass(frozen=True)
class Release:
    """Where the programs and schemas of one OVN/OVS release are; ``root`` None means the installed one."""

    root: Path | None = None

    @property
    def share(self) -> Path:
        """The directory that holds ``ovn`` and ``openvswitch`` schemas."""
        return (self.root / "root" / "usr" / "share") if self.root else Path("/usr/share")

    @property
    def path(self) -> str:
        """PATH with this release's programs first."""
        system = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"
        return f"{self.root}/bin:{system}" if self.root else system

    def schema(self, name: str) -> Path:
        """``ovn-nb``, ``ovn-sb`` or ``vswitch``; StackError when that release is not there."""
        folder = "openvswitch" if name == "vswitch" else "ovn"
        found = self.share / folder / f"{name}.ovsschema"
        if not found.exists():
            raise StackError(f"{found} is missing: install ovn-central, ovn-host and openvswitch-switch")
        return found

    def program(self, name: str) -> str:
        """Absolute path of a program of this release."""
        found = shutil.which(name, path=self.path)
        if found is None:
            raise StackError(f"{name} is missing: install ovn-central, ovn-host and openvswitch-switch")
        return found


class Ovn:
    """NB, SB and northd of one stack."""

    def __init__(
        self, processes: Processes, directory: Path, release: Release, nb_port: int, sb_port: int
    ) -> None:
        self.processes, self.directory, self.release = processes, directory, release
        self.ports = {"nb": nb_port, "sb": sb_port}
        self.version = ""

    def socket(self, which: str) -> str:
        """Unix remote of ``nb`` or ``sb``."""
        return f"unix:{self.directory}/{which}.sock"

    def remote(self, which: str) -> str:
        """TCP remote of ``nb`` or ``sb``."""
        return f"tcp:127.0.0.1:{self.ports[which]}"

    def start(self) -> None:
        """Start both servers and northd, and wait for the first round of northd."""
        self.version = self.processes.run(
            "ovn-northd --version", [self.release.program("ovn-northd"), "--version"]
        ).split("\n")[0]
        for which in ("nb", "sb"):
            self.start_server(which)
        self.processes.run(
            "ovn-nbctl init", [self.release.program("ovn-nbctl"), f"--db={self.socket('nb')}", "init"]
        )
        self.processes.run(
            "ovn-sbctl init", [self.release.program("ovn-sbctl"), f"--db={self.socket('sb')}", "init"]
        )
        self.processes.start(
            "ovn-northd",
            [
                self.release.program("ovn-northd"),
                f"--ovnnb-db={self.socket('nb')}",
                f"--ovnsb-db={self.socket('sb')}",
                f"--unixctl={self.directory}/northd.ctl",
                f"--log-file={self.processes.logs}/ovn-northd.log",
                "-vconsole:off",
                "-vsyslog:off",
            ],
        )
        self.sync("sb")

    def start_server(self, which: str) -> None:
        """Start one database server, on its kept file when there is one."""
        database = self.directory / f"{which}.db"
        if not database.exists():
            self.processes.run(
                "ovsdb-tool",
                [
                    self.release.program("ovsdb-tool"),
                    "create",
                    str(database),
                    str(self.release.schema(f"ovn-{which}")),
                ],
            )
        name = f"ovn-{which}"
        self.processes.start(
            name,
            [
                self.release.program("ovsdb-server"),
                str(database),
                f"--remote=p{self.socket(which)}",
                f"--remote=ptcp:{self.ports[which]}:127.0.0.1",
                f"--unixctl={self.directory}/{which}.ctl",
                f"--log-file={self.processes.logs}/{name}.log",
                "-vconsole:off",
                "-vsyslog:off",
            ],
        )
        self.processes.wait_for(name, (self.directory / f"{which}.sock").exists, 10)

    def sync(self, until: str) -> None:
        """Wait until ``sb`` (northd) or ``hv`` (every chassis) has what is in NB now."""
        self.processes.run(
            "ovn-nbctl sync",
            [
                self.release.program("ovn-nbctl"),
                f"--db={self.socket('nb')}",
                f"--wait={until}",
                "--timeout=60",
                "sync",
            ],
        )

    def transact(self, which: str, *operations: Mapping[str, Any]) -> list[dict[str, Any]]:
        """One raw OVSDB transaction on ``nb`` or ``sb``; StackError when the server refuses an operation."""
        schema = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}[which]
        out = self.processes.run(
            "ovsdb-client",
            [
                self.release.program("ovsdb-client"),
                "transact",
                self.socket(which),
                json.dumps([schema, *operations]),
            ],
        )
        results: list[dict[str, Any]] = json.loads(out)
        if refused := [result for result in results if result and result.get("error")]:
            raise StackError(f"{schema} refused: {refused}")
        return results

    def rows(self, which: str, table: str, **equal: Any) -> list[dict[str, Any]]:
        """Rows of a table as plain values: maps are dicts, sets are lists, an uuid is a string."""
        where = [[column, "==", value] for column, value in equal.items()]
        found = self.transact(which, {"op": "select", "table": table, "where": where})[0]["rows"]
        return [{column: plain(value) for column, value in row.items()} for row in found]


def plain(value: Any) -> Any:
    """An OVSDB wire value as a Python value."""
    if isinstance(value, list) and len(value) == 2:
        kind, content = value
        if kind == "map":
            return {plain(key): plain(item) for key, item in content}
        if kind == "set":
            return [plain(item) for item in content]
        if kind == "uuid":
            return content
    return value
