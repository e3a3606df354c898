"""How long a driver call takes: our driver against MariaDB, a Neutron over HTTP, and a nudge socket.

`python tests/bench/driver_calls.py [calls]` prints the median and the 99th percentile in ms.
"""

from __future__ import annotations

import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "ns")]

from driver_world import driver_of, model, nudge_socket  # noqa: E402
from ovnlb.desired.octavia_url import open_engine  # noqa: E402
from ovnlb.reconciler.driver import OvnlbProviderDriver  # noqa: E402
from servers.mariadb import running_mariadb  # noqa: E402
from servers.neutron import serving  # noqa: E402
from servers.octavia_db import write_tables, writer  # noqa: E402

LBS = 1400
CLOUD = {
    "networks": [{"id": "net"}],
    "subnets": [{"id": "sub", "network_id": "net", "cidr": "10.0.0.0/16"}],
}
ROWS = {
    "load_balancer": [{"id": f"lb-{n}", "provider": "ovn"} for n in range(LBS)],
    "vip": [
        {"load_balancer_id": f"lb-{n}", "ip_address": "10.0.0.10", "subnet_id": "sub"} for n in range(LBS)
    ],
    "pool": [{"id": f"pool-{n}", "load_balancer_id": f"lb-{n}"} for n in range(LBS)],
    "member": [
        {"id": f"m-{n}", "pool_id": f"pool-{n}", "ip_address": "10.0.0.2", "protocol_port": 80}
        for n in range(LBS)
    ],
}


def calls(driver: OvnlbProviderDriver) -> dict[str, Callable[[int], object]]:
    """Name -> one call, given its number."""

    def member(n: int, **more: object) -> object:
        return model(
            "member", {"pool_id": f"pool-{n % LBS}", "address": "10.0.0.3", "protocol_port": 80, **more}
        )

    vip = {"vip_network_id": "net", "vip_subnet_id": "sub"}
    return {
        "constructor": lambda n: OvnlbProviderDriver(),
        "listener_create": lambda n: driver.listener_create(
            model("listener", {"loadbalancer_id": f"lb-{n % LBS}", "protocol": "TCP"})
        ),
        "member_create": lambda n: driver.member_create(member(n, subnet_id="sub")),
        "member_create, no subnet": lambda n: driver.member_create(member(n, subnet_id=None)),
        "member_batch_update of 50": lambda n: driver.member_batch_update(
            f"pool-{n % LBS}", [member(n, subnet_id="sub") for _ in range(50)]
        ),
        "health_monitor_delete": lambda n: driver.health_monitor_delete(
            model("healthmonitor", {"pool_id": f"pool-{n % LBS}"})
        ),
        "create_vip_port": lambda n: driver.create_vip_port(str(uuid.uuid4()), "p", dict(vip), []),
    }


def main(count: int = 300) -> None:
    """Runs every call `count` times after a warm-up."""
    with running_mariadb() as server, serving(CLOUD) as neutron, tempfile.TemporaryDirectory() as folder:
        url = server.url(server.create_octavia())
        write_tables(writer(url), ROWS)
        with nudge_socket(Path(folder) / "n") as nudges:
            engine = partial(open_engine, url, connect_timeout=2, read_timeout=2, pool_size=2)
            for name, call in calls(driver_of(neutron, engine, nudges)).items():
                spent = []
                for n in range(count + 3):
                    started = time.perf_counter()
                    call(n)
                    spent.append((time.perf_counter() - started) * 1000)
                    nudges.received()
                ordered = sorted(spent[3:])
                p99 = ordered[int(len(ordered) * 0.99)]
                print(f"{name:28} median {ordered[len(ordered) // 2]:8.3f} ms   p99 {p99:8.3f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
