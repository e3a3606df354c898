"""A real data path: ovs-vswitchd with its userspace datapath and ovn-controller in a network namespace of
their own.

Guests are further network namespaces, joined to the integration bridge by veth pairs. Namespaces have no
names: each is
held open by a process and ends with it, its veth pairs with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stack.ovn import Ovn
from stack.processes import Processes

HERE = Path(__file__).resolve().parent
CHASSIS = "chassis-1"
HOST = "host-1"
MTU = 1442


class Dataplane:
    """One chassis (a gateway too) that serves the physical network ``public`` on ``br-ex``."""

    def __init__(self, processes: Processes, directory: Path, ovn: Ovn) -> None:
        self.processes, self.directory, self.ovn = processes, directory, ovn
        self.remote = f"unix:{directory}/db.sock"

    def start(self) -> None:
        """Start the switch and ovn-controller and wait until the chassis is in SB."""
        release, env = (
            self.ovn.release,
            {"OVS_RUNDIR": str(self.directory), "OVN_RUNDIR": str(self.directory)},
        )
        database = self.directory / "conf.db"
        self.processes.run(
            "ovsdb-tool",
            [
                release.program("ovsdb-tool"),
                "create",
                str(database),
                str(release.schema("vswitch")),
            ],
        )
        self.hold_namespace("chassis")
        self.processes.start(
            "ovs-db",
            [
                release.program("ovsdb-server"),
                str(database),
                f"--remote=p{self.remote}",
                f"--unixctl={self.directory}/ovsdb.ctl",
                f"--log-file={self.processes.logs}/ovs-db.log",
                "-vconsole:off",
                "-vsyslog:off",
            ],
        )
        self.processes.wait_for("ovs-db", (self.directory / "db.sock").exists, 10)
        self.vsctl("--no-wait", "init")
        self.processes.start(
            "ovs-vswitchd",
            [
                *self.inside("chassis"),
                release.program("ovs-vswitchd"),
                self.remote,
                "--disable-system",
                f"--unixctl={self.directory}/vswitchd.ctl",
                f"--log-file={self.processes.logs}/ovs-vswitchd.log",
                "-vconsole:off",
                "-vsyslog:off",
            ],
            env,
        )
        self._configure()
        self.processes.start(
            "ovn-controller",
            [
                *self.inside("chassis"),
                release.program("ovn-controller"),
                self.remote,
                f"--log-file={self.processes.logs}/ovn-controller.log",
                "-vconsole:off",
                "-vsyslog:off",
            ],
            env,
        )
        self.processes.wait_for(
            "ovn-controller", lambda: self.ovn.rows("sb", "Chassis", name=CHASSIS), 30
        )

    def _configure(self) -> None:
        identity = {
            "system-id": CHASSIS,
            "hostname": HOST,
            "ovn-remote": self.ovn.socket("sb"),
            "ovn-encap-type": "geneve",
            "ovn-encap-ip": "127.0.0.1",
            "ovn-bridge-datapath-type": "netdev",
            "ovn-bridge-mappings": "public:br-ex",
            "ovn-cms-options": "enable-chassis-as-gw",
        }
        self.vsctl(
            "add-br",
            "br-int",
            "--",
            "set",
            "bridge",
            "br-int",
            "datapath_type=netdev",
            "fail_mode=secure",
            "--",
            "add-br",
            "br-ex",
            "--",
            "set",
            "bridge",
            "br-ex",
            "datapath_type=netdev",
            "--",
            "set",
            "Open_vSwitch",
            ".",
            *(f"external_ids:{key}={value}" for key, value in identity.items()),
        )

    def vsctl(self, *arguments: str) -> str:
        """ovs-vsctl on this chassis."""
        return self.processes.run(
            "ovs-vsctl",
            [self.ovn.release.program("ovs-vsctl"), f"--db={self.remote}", "--timeout=20", *arguments],
        )

    def settle(self) -> None:
        """Wait until the flows of all that is in NB now are in the switch and its caches are revalidated."""
        self.ovn.sync("hv")
        self.processes.run(
            "revalidator/wait",
            [
                self.ovn.release.program("ovs-appctl"),
                "-t",
                f"{self.directory}/vswitchd.ctl",
                "revalidator/wait",
            ],
        )

    def hold_namespace(self, name: str) -> int:
        """A network namespace with its loopback up, held by a process; returns the pid to enter it by."""
        holder = f"netns-{name}"
        pid = self.processes.start(holder, ["unshare", "-n", "sleep", "infinity"])
        own = Path("/proc/self/ns/net").readlink()
        self.processes.wait_for(
            holder,
            lambda: (
                Path(f"/proc/{pid}/ns/net").readlink() != own
                and Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
            ),
            10,
        )
        self.processes.run("ip link", [*self.inside(name), "ip", "link", "set", "lo", "up"])
        return pid

    def inside(self, name: str) -> list[str]:
        """The command prefix that runs something in a held namespace."""
        return ["nsenter", "-t", str(self.processes.pid(f"netns-{name}")), "-n"]

    def plug(
        self,
        name: str,
        mac: str,
        addresses: Sequence[str],
        gateways: Sequence[str],
        bridge: str = "br-int",
        port: str = "",
    ) -> None:
        """A guest namespace with ``eth0`` (addresses as ip/length) on a bridge, bound to the logical port
        ``port``.
        """
        pid = self.hold_namespace(name)
        link = f"v{pid}"
        guest, chassis = self.inside(name), self.inside("chassis")
        run = self.processes.run
        run(
            "veth",
            [
                *chassis,
                "ip",
                "link",
                "add",
                link,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                str(pid),
            ],
        )
        run(
            "sysctl",
            [
                *guest,
                "sysctl",
                "-qw",
                "net.ipv6.conf.eth0.accept_dad=0",
                "net.ipv6.conf.eth0.accept_ra=0",
            ],
        )
        for prefix, device in ((guest, "eth0"), (chassis, link)):
            run("offload", [*prefix, sys.executable, str(HERE / "offload.py"), device])
        run("link", [*guest, "ip", "link", "set", "eth0", "address", mac, "mtu", str(MTU), "up"])
        run("link", [*chassis, "ip", "link", "set", link, "up"])
        for address in addresses:
            run(
                "addr",
                [
                    *guest,
                    "ip",
                    "addr",
                    "add",
                    address,
                    "dev",
                    "eth0",
                    *(["nodad"] if ":" in address else []),
                ],
            )
        identity = ["--", "set", "Interface", link, f"external_ids:iface-id={port}"] if port else []
        self.vsctl("add-port", bridge, link, *identity)
        for gateway in gateways:
            run("route", [*guest, "ip", "route", "add", "default", "via", gateway, "dev", "eth0"])

    def unplug(self, name: str) -> None:
        """End a guest: its servers, its port on the bridge, its namespace."""
        for running in self.processes.names():
            if running.startswith(f"guest-{name}-"):
                self.processes.stop(running)
        link = f"v{self.processes.pid(f'netns-{name}')}"
        self.vsctl("--if-exists", "del-port", link)
        self.processes.stop(f"netns-{name}")

    def serve(self, name: str, port: int, protocol: str = "tcp") -> None:
        """Start a server in a guest that answers every request with the guest's name; returns once it
        listens.
        """
        process = f"guest-{name}-{protocol}-{port}"
        ready = self.directory / f"{process}.ready"
        ready.unlink(missing_ok=True)
        self.processes.start(
            process,
            [
                *self.inside(name),
                sys.executable,
                str(HERE / "server.py"),
                name,
                protocol,
                str(port),
                str(ready),
            ],
        )
        self.processes.wait_for(process, ready.exists, 20)

    def silence(self, name: str, port: int, protocol: str = "tcp") -> None:
        """Stop that server: its port is closed."""
        self.processes.stop(f"guest-{name}-{protocol}-{port}")

    def ask(
        self,
        name: str,
        address: str,
        port: int,
        times: int = 1,
        protocol: str = "tcp",
        timeout: float = 2.0,
    ) -> dict[str, int]:
        """From a guest, open ``times`` connections; how often each server answered, failures by error
        name.
        """
        out = self.processes.run(
            "client",
            [
                *self.inside(name),
                sys.executable,
                str(HERE / "client.py"),
                protocol,
                address,
                str(port),
                str(times),
                str(timeout),
            ],
            seconds=times * (timeout + 1) + 20,
        )
        return {word.rpartition("=")[0]: int(word.rpartition("=")[2]) for word in out.split()}

    def open_session(self, name: str, session: str, address: str, port: int) -> Path:
        """Open a TCP connection in a guest that asks five times a second; the file with a line for each
        answer.
        """
        record = self.directory / f"session-{session}"
        record.unlink(missing_ok=True)
        self.processes.start(
            f"guest-{name}-session-{session}",
            [
                *self.inside(name),
                sys.executable,
                str(HERE / "session.py"),
                address,
                str(port),
                "0.2",
                str(record),
            ],
        )
        return record

    def close_session(self, name: str, session: str) -> None:
        """Close such a connection."""
        self.processes.stop(f"guest-{name}-session-{session}")

    def begin_probe(self, name: str, address: str, port: int, seconds: float) -> Path:
        """Start asking in a guest; the file that gets the monotonic time of the first answer."""
        record = self.processes.logs / f"guest-{name}-probe.out"
        record.unlink(missing_ok=True)
        program = [sys.executable, str(HERE / "probe.py"), address, str(port), str(seconds)]
        self.processes.start(f"guest-{name}-probe", [*self.inside(name), *program])
        return record

    def first_answer(self, name: str, record: Path) -> float:
        """When the probe got its first answer; StackError when it got none."""
        self.processes.finish(f"guest-{name}-probe")
        return float(record.read_text())
