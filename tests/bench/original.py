"""ovn-octavia-provider 11.0.0 on a bench's Northbound database, in a process of its own environment.

`python -m bench.original JOB` prints one JSON object; JOB is that of `bench.side`.
Neutron, the Octavia API and the driver-agent library are answered from memory; the time they take is
counted and left out of `provider` figures. Imports nothing of ours but the cloud.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openstack.exceptions
import tenacity
from octavia_lib.api.drivers import data_models, driver_lib
from oslo_config import cfg
from ovn_octavia_provider import driver
from ovn_octavia_provider.common import clients
from ovn_octavia_provider.common import config as ovn_conf
from ovn_octavia_provider.helper import OvnProviderHelper

from bench import clouds

logging.disable(logging.CRITICAL)


class Thing(dict[str, Any]):
    """An object of an API: keys are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


class Fakes:
    """What the provider talks to besides OVN, with the time spent and the calls."""

    def __init__(self, count: int) -> None:
        self.count, self.calls, self.slept = count, Counter[str](), 0.0
        self.cpu = self.wall = 0.0
        self._inside = threading.local()
        network = {name: self._counted("neutron", getattr(self, f"_{name}")) for name in _NETWORK}
        self.network = SimpleNamespace(**network)
        library = {name: self._counted("library", getattr(self, f"_{name}")) for name in _LIBRARY}
        self.library = SimpleNamespace(**library)
        self.chosen: list[int] = []
        self.octavia = SimpleNamespace(
            load_balancers=lambda **filters: [Thing(id=clouds.lb_id(n), name=f"lb{n}") for n in self.chosen]
        )
        self.made: dict[str, Thing] = {}

    def _counted(self, kind: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(answer)
        def counted(*arguments: Any, **named: Any) -> Any:
            status = answer.__name__ == "_update_loadbalancer_status"
            self.calls["messages" if status else kind] += 1
            wall, cpu = time.perf_counter(), time.thread_time()
            try:
                return answer(*arguments, **named)
            finally:
                self.wall += time.perf_counter() - wall
                self.cpu += time.thread_time() - cpu

        return counted

    # Neutron

    def _get_port(self, port_id: str) -> Thing:
        if port_id in self.made:
            return self.made[port_id]
        number = int(port_id[-12:], 16)
        if port_id != clouds.port_id(number):
            raise openstack.exceptions.ResourceNotFound(port_id)
        return _vip_port(number, self.count)

    def _find_port(self, name_or_id: str, network_id: str = "", **_more: Any) -> Thing | None:
        if name_or_id.startswith("ovn-lb-hm-"):
            return _hm_port(name_or_id.removeprefix("ovn-lb-hm-"))
        return None

    def _ports(self, network_id: str = "", name: str = "", **_more: Any) -> list[Thing]:
        if name.startswith("ovn-lb-hm-"):
            return [_hm_port(name.removeprefix("ovn-lb-hm-"))]
        number = int(network_id[-12:], 16) if network_id else 0
        beyond = range(self.count, self.count + EXTRA)
        total = clouds.networks(self.count)
        numbers = [*clouds.numbers_on(self.count, number), *(n for n in beyond if n % total == number)]
        return [_vip_port(one, self.count) for one in numbers]

    def _get_subnet(self, subnet: str) -> Thing:
        network, v6 = int(subnet[-12:], 16), subnet.split("-")[1] == "0006"
        place = {"network_id": clouds.network_id(network), "cidr": clouds.cidr(network, v6)}
        return Thing(id=subnet, ip_version=6 if v6 else 4, **place)

    def _get_network(self, network: str) -> Thing:
        return Thing(id=network, provider_physical_network=None)

    def _ips(self, port_id: str) -> Iterator[Thing]:
        number = int(port_id[-12:], 16)
        fip = clouds.floating_ip(number) if number < self.count else None
        return iter([Thing(id=clouds.object_id("f1000000", number), floating_ip_address=fip)] if fip else [])

    def _create_port(self, **port: Any) -> Thing:
        made = Thing(id=clouds.object_id("a1000000", len(self.made)), **port)
        self.made[made.id] = made
        return made

    def _delete_port(self, port_id: str) -> None:
        self.made.pop(port_id, None)

    def _get_ip(self, fip: str) -> Thing:
        return Thing(id=fip, port_id=None, floating_ip_address=None)

    def _update_ip(self, fip: str, **_values: Any) -> Thing:
        return Thing(id=fip)

    # octavia-lib's driver library, and the statuses

    def _get_loadbalancer(self, lb: str) -> Any:
        return data_models.LoadBalancer.from_dict(load_balancer(int(lb[-12:], 16), self.count))

    def _get_pool(self, pool: str) -> Any:
        found = load_balancer(int(pool[-12:], 16), self.count)["pools"]
        return data_models.Pool.from_dict(next(one for one in found if one["pool_id"] == pool))

    def _get_listener(self, listener: str) -> Any:
        found = load_balancer(int(listener[-12:], 16), self.count)["listeners"]
        return data_models.Listener.from_dict(next(one for one in found if one["listener_id"] == listener))

    def _update_loadbalancer_status(self, status: dict[str, Any]) -> None:
        self.calls["records"] += sum(map(len, status.values()))


EXTRA = 2000
_NETWORK = ("get_port", "find_port", "ports", "get_subnet", "get_network", "ips", "create_port")
_NETWORK += ("delete_port", "get_ip", "update_ip")
_LIBRARY = ("get_loadbalancer", "get_pool", "get_listener", "update_loadbalancer_status")


def _vip_port(number: int, count: int) -> Thing:
    (vip,) = clouds.octavia(count, number, number + 1)["vip"]
    place = {"subnet_id": vip["subnet_id"], "ip_address": vip["ip_address"]}
    name = f"ovn-lb-vip-{clouds.lb_id(number)}"
    return Thing(id=vip["port_id"], name=name, network_id=vip["network_id"], fixed_ips=[place])


def _hm_port(subnet: str) -> Thing:
    network, v6 = int(subnet[-12:], 16), subnet.split("-")[1] == "0006"
    place = {"subnet_id": subnet, "ip_address": clouds.address(network, clouds.HM_HOST + v6, v6)}
    name, port = f"ovn-lb-hm-{subnet}", clouds.object_id("43000000", network, v6)
    return Thing(id=port, name=name, network_id=clouds.network_id(network), fixed_ips=[place])


def load_balancer(number: int, count: int) -> dict[str, Any]:
    """A load balancer as octavia-lib gives it to a provider: children as dicts."""
    tables = clouds.octavia(count, number, number + 1)
    (vip,), lb = tables["vip"], clouds.lb_id(number)
    monitors = {row["pool_id"]: _monitor(row) for row in tables["health_monitor"]}
    return {
        "loadbalancer_id": lb,
        "name": f"lb{number}",
        "admin_state_up": True,
        "project_id": clouds.PROJECT,
        "vip_address": vip["ip_address"],
        "vip_network_id": vip["network_id"],
        "vip_port_id": vip["port_id"],
        "vip_subnet_id": vip["subnet_id"],
        "additional_vips": [],
        "listeners": [_listener(row, lb) for row in tables["listener"]],
        "pools": [_pool(row, lb, tables["member"], monitors.get(row["id"])) for row in tables["pool"]],
    }


def _listener(row: dict[str, Any], lb: str) -> dict[str, Any]:
    own = {"listener_id": row["id"], "loadbalancer_id": lb, "admin_state_up": True, "allowed_cidrs": None}
    return {**own, **{name: row[name] for name in ("protocol", "protocol_port", "default_pool_id")}}


def _pool(
    row: dict[str, Any], lb: str, members: list[dict[str, Any]], monitor: dict[str, Any] | None
) -> dict[str, Any]:
    mine = [_member(one) for one in members if one["pool_id"] == row["id"]]
    number, part = int(row["id"][-12:], 16), int(row["id"].split("-")[1], 16)
    return {
        "pool_id": row["id"],
        "loadbalancer_id": lb,
        "listener_id": clouds.object_id("11500000", number, part),
        "protocol": row["protocol"],
        "lb_algorithm": "SOURCE_IP_PORT",
        "session_persistence": None,
        "admin_state_up": True,
        "members": mine,
        "healthmonitor": monitor,
    }


def _member(row: dict[str, Any]) -> dict[str, Any]:
    place = {"address": row["ip_address"], **{name: row[name] for name in ("protocol_port", "subnet_id")}}
    return {"member_id": row["id"], "pool_id": row["pool_id"], "admin_state_up": True, **place}


def _monitor(row: dict[str, Any]) -> dict[str, Any]:
    timing = {"delay": 5, "timeout": 3, "max_retries": 3, "max_retries_down": 3}
    own = {"healthmonitor_id": row["id"], "pool_id": row["pool_id"], "type": "TCP"}
    return {**own, "admin_state_up": True, **timing}


def populated(number: int, count: int) -> Any:
    """The load balancer as an API request brings it: objects all the way down."""
    made = data_models.LoadBalancer.from_dict(load_balancer(number, count))
    made.listeners = [data_models.Listener.from_dict(one) for one in made.listeners]
    made.pools = [data_models.Pool.from_dict(one) for one in made.pools]
    for pool in made.pools:
        pool.members = [data_models.Member.from_dict(one) for one in pool.members]
        if pool.healthmonitor is not None:
            pool.healthmonitor = data_models.HealthMonitor.from_dict(pool.healthmonitor)
    return made


class Bench:
    """The scenes over one driver."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job, self.count, self.file = job, job["count"], Path(job["nb_file"])
        step = max(1, self.count // job["sample"])
        self.sample = list(range(0, self.count, step))[: job["sample"]]
        self.fakes = Fakes(self.count)
        clients.get_neutron_client = lambda: self.fakes.network
        clients.get_octavia_client = lambda: self.fakes.octavia
        driver_lib.DriverLibrary = lambda *_paths: self.fakes.library
        retried = OvnProviderHelper._find_ovn_lbs_with_retry.retry
        # The same attempts without the waits in between, which are counted instead.
        retried.sleep, retried.stop = self._sleep, tenacity.stop_after_attempt(5)
        self.result: dict[str, Any] = {}

    def _sleep(self, seconds: float) -> None:
        self.fakes.slept += seconds

    @contextmanager
    def measured(self, name: str, amount: int) -> Iterator[None]:
        """Figures per object of `amount`: provider wall and CPU (the fakes' left out), what was sent."""
        fakes = self.fakes
        fakes.calls.clear()
        before = (time.perf_counter() - fakes.wall, time.process_time() - fakes.cpu, self._commits())
        slept = fakes.slept
        yield
        after = (time.perf_counter() - fakes.wall, time.process_time() - fakes.cpu, self._commits())
        wall, cpu, commits = (late - early for late, early in zip(after, before, strict=True))
        calls = {kind: fakes.calls[kind] / amount for kind in ("neutron", "messages", "records")}
        self.result[name] = {
            "amount": amount,
            "wall_each": round(wall / amount, 5),
            "cpu_each": round(cpu / amount, 5),
            "transactions_each": round(commits / amount, 2),
            "slept_each": round((fakes.slept - slept) / amount, 2),
            **{f"{kind}_each": round(value, 2) for kind, value in calls.items()},
        }
        print(self.count, "original", name, self.result[name], file=sys.stderr, flush=True)

    def _commits(self) -> int:
        return self.file.read_bytes().count(b"OVSDB JSON ")

    def _drained(self) -> None:
        self.driver._ovn_helper.requests.join()

    def run(self) -> dict[str, Any]:
        """All scenes."""
        with self.measured("start", 1):
            self.driver = driver.OvnProviderDriver()
        self.result["memory"] = _memory()
        if self.job["created_only"]:
            self._created()
            return self.result
        self.fakes.chosen = self.sample
        self.driver.do_sync(provider="ovn")  # what it writes of its own forms is not the measured work
        with self.measured("sync", len(self.sample)):
            self.driver.do_sync(provider="ovn")
        self._members()
        self._created()
        self._rebuilt()
        self.result["memory"] = _memory()
        return self.result

    def _members(self) -> None:
        chosen = [number for number in self.sample if not clouds.is_monitored(number)][:10]
        with self.measured("member", len(chosen)):
            for index, number in enumerate(chosen):
                row = clouds.member(number, self.count, 0, 0)
                row |= {"id": clouds.object_id("3e3be002", number, index), "protocol_port": 9500 + index}
                self.driver.member_create(data_models.Member.from_dict(_member(row)))
                self._drained()

    def _created(self) -> None:
        first, last = self.job["extra"]
        made = [populated(number, self.count) for number in range(first, last)]
        with self.measured("created", len(made)):
            for lb in made:
                self.driver.loadbalancer_create(lb)
                time.sleep(self.job["pause"])
            self._drained()
        if self.job["created_only"]:
            return
        with self.measured("cascade", len(made)):
            for lb in made:
                self.driver.loadbalancer_delete(lb, cascade=True)
            self._drained()

    def _rebuilt(self) -> None:
        """A tenth of the sample's rows are gone from the Northbound database."""
        lost = self.sample[:5]
        api = self.driver._ovn_helper.ovn_nbdb_api
        for number in lost:
            api.lb_del(clouds.lb_id(number), if_exists=True).execute(check_error=True)
        self.fakes.chosen = lost
        with self.measured("rebuild", len(lost)):
            self.driver.do_sync(provider="ovn")


def _memory() -> float:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return round(int(status["VmHWM"].split()[0]) / 1024, 1)


def main(job: dict[str, Any]) -> None:
    """Configure as a file would, and run."""
    ovn_conf.register_opts()
    cfg.CONF([], project="octavia", default_config_files=[])
    cfg.CONF.set_override("ovn_nb_connection", [job["nb"]], group="ovn")
    cfg.CONF.set_override("ovsdb_connection_timeout", 600, group="ovn")
    print(json.dumps(Bench(job).run()), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
