"""How long a request takes in the same octavia-api: with our driver, and with ovn-octavia-provider 11.0.0.

`python tests/bench/driver_vs_original.py [rounds]` prints for each provider and request the median and
the slowest in ms, until the answer and until nothing is PENDING, and the mean CPU time of the API's
process in ms, which other work on the machine changes least. API, MariaDB, Neutron, Keystone and
driver-agent are the same and one client waits for each answer, so that the difference is the driver's.
Each provider has a virtual environment of its own (tests/stack/venvs.py); beside ours runs `ovnlb run`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "ns")]

from octavia_api.api import PROJECT, Octavia  # noqa: E402
from octavia_api.conftest import CLOUD, SUBNET  # noqa: E402
from servers.mariadb import running_mariadb  # noqa: E402
from servers.neutron import serving  # noqa: E402
from servers.ovsdb import NB, SB, ovsdb_server, wait_until  # noqa: E402
from stack import venvs  # noqa: E402

# The original takes octavia-lib's default paths, whatever [driver_agent] says.
SOCKETS = """
from octavia_lib.api.drivers.driver_lib import DriverLibrary
DriverLibrary.__init__.__defaults__ = tuple("{run}/" + name + ".sock" for name in ("status", "stats", "get"))
"""
Times = dict[str, list[tuple[float, float, float]]]
TICK = 1000 / os.sysconf("SC_CLK_TCK")


def cpu(octavia: Octavia) -> float:
    """CPU time of the API's worker so far, ms."""
    master = octavia.processes.pid("octavia-api")
    (worker,) = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def one_round(octavia: Octavia, times: Times) -> None:
    """A load balancer from its creation to its deletion."""

    def does(name: str, method: str, path: str, kind: str = "", **body: Any) -> Any:
        started, used = time.perf_counter(), cpu(octavia)
        reply = octavia.lbaas(method, path, {kind: body} if kind else None)
        assert reply.status < 300, f"{name}: {reply.text}"
        wait_until(lambda: not octavia.pending(), f"{name} to end", 60)
        ended = (time.perf_counter() - started) * 1000
        times[name].append((reply.seconds * 1000, ended, cpu(octavia) - used))
        return reply.body.get(kind, {}).get("id")

    vip = {"vip_subnet_id": SUBNET, "provider": "ovn", "project_id": PROJECT}
    lb = does("load balancer create", "POST", "/loadbalancers", "loadbalancer", **vip)
    l4 = {"protocol": "TCP", "protocol_port": 80, "loadbalancer_id": lb}
    listener = does("listener create", "POST", "/listeners", "listener", **l4)
    algorithm = {"protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", "listener_id": listener}
    pool = does("pool create", "POST", "/pools", "pool", **algorithm)
    members, backend = f"/pools/{pool}/members", {"protocol_port": 80, "subnet_id": SUBNET}
    member = does("member create", "POST", members, "member", address="10.0.3.1", **backend)
    does("member update", "PUT", f"{members}/{member}", "member", weight=5)
    does("member delete", "DELETE", f"{members}/{member}")
    does("cascade delete", "DELETE", f"/loadbalancers/{lb}?cascade=true")


def start(octavia: Octavia, provider: str) -> None:
    """The API with that provider; the original needs OVN in the API's process."""
    if provider == "ovnlb":
        octavia.start()
        return
    octavia.sections["api_settings"]["enabled_provider_drivers"] = "ovn:OVN provider"
    octavia.sections["ovn"] = octavia.service["ovn"]
    (octavia.directory / "sitecustomize.py").write_text(SOCKETS.format(run=octavia.directory / "run"))
    octavia.processes.env["PYTHONPATH"] = str(octavia.directory)
    octavia.start_octavia()


def measured(provider: str, rounds: int) -> Times:
    """Times by request: (answer, nothing PENDING, CPU); the first round is a warm-up."""
    times: Times = defaultdict(list)
    venv = venvs.octavia_api() if provider == "ovnlb" else venvs.original()
    with (
        running_mariadb() as mariadb,
        serving(CLOUD) as neutron,
        ovsdb_server(NB) as nb,
        ovsdb_server(SB) as sb,
        tempfile.TemporaryDirectory(prefix="ovnlb-b-") as folder,
    ):
        octavia = Octavia(Path(folder), venv, mariadb, neutron, (nb, sb), CLOUD, workers=1)
        try:
            start(octavia, provider)
            for number in range(rounds + 1):
                one_round(octavia, times if number else defaultdict(list))
        finally:
            octavia.stop()
    return times


def lines(provider: str, times: Times) -> Iterator[str]:
    """The table of one provider."""
    for name, spent in times.items():
        answers, ends, used = (sorted(column) for column in zip(*spent, strict=True))
        middle = len(spent) // 2
        yield (
            f"{provider:9} {name:21} answer {answers[middle]:7.1f} (max {answers[-1]:7.1f}) ms  "
            f"ended {ends[middle]:7.1f} (max {ends[-1]:7.1f}) ms CPU {sum(used) / len(used):5.1f} ms"
        )


def main(rounds: int = 20) -> None:
    """Both, one after the other."""
    for provider in ("original", "ovnlb"):
        for line in lines(provider, measured(provider, rounds)):
            print(line, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
