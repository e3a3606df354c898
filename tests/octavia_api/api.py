"""A private octavia-api with our driver, and all that it needs to be a cloud.

gunicorn, MariaDB and Octavia's driver-agent, both OVN databases and `ovnlb run`; Neutron and Keystone
over HTTP from memory.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from octavia_api.reconciling import Comparison, Northbound, NudgeRelay
from servers.keystone import FakeKeystone, endpoint, network
from servers.mariadb import MariaDb
from servers.neutron import FakeNeutron
from servers.ovsdb import OvsdbServer, wait_until
from stack import settings
from stack.processes import Processes
from stack.services import answers, serve

PROJECT = "b40ec700000040008000000000000001"
HEADERS = {
    "Content-Type": "application/json",
    "X-Auth-Token": "any",
    "X-Project-Id": PROJECT,
    "X-Tenant-Id": PROJECT,
    "X-User-Id": "user",
    "X-Roles": "admin,member,load-balancer_admin",
}


# Endpoints that must not be used: other interface, other region.
ELSEWHERE = (
    endpoint("public", "http://127.0.0.1:9/public"),
    endpoint("internal", "http://127.0.0.1:9/other", region="RegionTwo"),
)


@dataclass(frozen=True)
class Reply:
    """One HTTP answer. `seconds` from request to answer."""

    status: int
    body: dict[str, Any]
    seconds: float

    @property
    def text(self) -> str:
        """The error text that a user reads."""
        return str(self.body.get("faultstring") or self.body.get("debuginfo") or self.body)


def configuration(
    directory: Path, port: int, database: str, keystone: FakeKeystone
) -> dict[str, dict[str, Any]]:
    """octavia.conf: Octavia authenticates towards Neutron, inheriting [service_auth]; users are believed.

    auth_strategy `noauth` would switch quotas off, `testing` takes the identity headers as they are.
    """
    run = directory / "run"
    return {
        "DEFAULT": {"transport_url": "fake://", "host": "api"},
        "api_settings": {
            "bind_host": "127.0.0.1",
            "bind_port": port,
            "auth_strategy": "testing",
            "api_base_uri": f"http://127.0.0.1:{port}",
            "enabled_provider_drivers": "ovn:OVN provider, ovnlb:the same by its own name",
            "default_provider_driver": "ovn",
            "allow_tls_terminated_listeners": "true",
        },
        "database": {"connection": database},
        "certificates": {"cert_generator": "local_cert_generator", "cert_manager": "noop_cert_manager"},
        "controller_worker": {
            "network_driver": "allowed_address_pairs_driver",
            "compute_driver": "compute_noop_driver",
            "amphora_driver": "amphora_noop_driver",
        },
        "driver_agent": {f"{kind}_socket_path": run / f"{kind}.sock" for kind in ("status", "stats", "get")},
        "service_auth": keystone.options,
        "neutron": {"region_name": "RegionOne", "valid_interfaces": "internal"},
        "oslo_messaging": {"topic": "octavia_prov"},
        "ovnlb": {"nudge_socket": run / "relay.sock"},
    }


def of_the_service(api: settings.Sections, directory: Path, nb: str, sb: str, page: int) -> settings.Sections:
    """The same for `ovnlb run`; between the API's nudges and it a relay takes notes."""
    ours = {
        "nudge_socket": directory / "run" / "ovnlb.sock",
        "providers": "ovn,ovnlb",
        "metrics_listen": f"127.0.0.1:{page}",
    }
    return {**api, "ovn": {"ovn_nb_connection": nb, "ovn_sb_connection": sb}, "ovnlb": ours}


class Octavia:
    """The running API, its databases, its Neutron with `cloud`, and the service that reconciles."""

    def __init__(
        self,
        directory: Path,
        venv: Path,
        mariadb: MariaDb,
        neutron: FakeNeutron,
        northbound: tuple[OvsdbServer, OvsdbServer],
        cloud: Mapping[str, Any],
        workers: int,
    ) -> None:
        self.directory, self.venv, self.neutron, self.workers = directory, venv, neutron, workers
        self.mariadb, self.schema, self.cloud = mariadb, mariadb.create_octavia(), cloud
        self.port, self.page = settings.free_ports(2)
        for name in ("run", "logs", "tmp"):
            (directory / name).mkdir()
        environment = {
            "PATH": f"{venv}/bin:/usr/bin:/bin",
            "HOME": str(directory / "tmp"),
            "TMPDIR": str(directory / "tmp"),
            "LANG": "C.UTF-8",
        }
        self.processes = Processes(directory / "logs", environment)
        self.keystone = FakeKeystone([network([endpoint("internal", neutron.url), *ELSEWHERE])])
        self.sections = configuration(directory, self.port, mariadb.url(self.schema), self.keystone)
        self.conf, self.service_conf = directory / "octavia.conf", directory / "ovnlb.conf"
        nb, sb = northbound
        self.service = of_the_service(self.sections, directory, nb.remote, sb.remote, self.page)
        self.nudges = NudgeRelay(directory / "run" / "relay.sock", directory / "run" / "ovnlb.sock")
        self.nb = Northbound(nb, cloud)
        neutron.told = self.nb.told
        self._read = 0

    def start(self) -> None:
        """driver-agent, service and API; returns when all of them answer."""
        self.service_conf.write_text(settings.render(self.service).replace("%", "%%"))
        service = [str(self.venv / "bin" / "ovnlb"), "run", "--config-file", str(self.service_conf)]
        self.processes.start("ovnlb", service)
        self.start_octavia()
        self.processes.wait_for("ovnlb", lambda: answers(f"http://127.0.0.1:{self.page}/readyz"), 120)
        self.comparison = Comparison(self.service_conf)

    def start_octavia(self) -> None:
        """driver-agent and API alone."""
        self.conf.write_text(settings.render(self.sections).replace("%", "%%"))
        self.processes.start(
            "driver-agent", [str(self.venv / "bin" / "octavia-driver-agent"), "--config-file", str(self.conf)]
        )
        serve(
            self.processes,
            self.venv,
            "octavia-api",
            "octavia",
            self.port,
            f"--config-file {self.conf}",
            workers=self.workers,
        )
        get = self.directory / "run" / "get.sock"
        self.processes.wait_for("driver-agent", get.exists)
        self.processes.wait_for("octavia-api", lambda: answers(f"http://127.0.0.1:{self.port}/"), 120)

    def stop(self) -> None:
        """Stops what was started."""
        self.processes.stop_all()
        self.nudges.close()
        self.keystone.close()

    def reset(self, *ports: dict[str, Any]) -> None:
        """The cloud as it was made, with these ports more; nothing noted."""
        self.neutron.faults.clear()
        self.neutron.load({**self.cloud, "ports": [*self.cloud["ports"], *ports]})
        self.nb.load(self.neutron.dump()["ports"])
        self.neutron.calls.clear()
        self.nudges.mute = False
        self.nudges.received()

    def ports(self) -> list[dict[str, Any]]:
        """Neutron's ports that are not the cloud's."""
        return [port for port in self.neutron.dump()["ports"] if port not in self.cloud["ports"]]

    def pending(self) -> list[tuple[Any, ...]]:
        """Everything that is PENDING below load balancers that are not DELETED."""
        tables = ("load_balancer", "listener", "pool", "member", "health_monitor", "l7policy")
        one = "SELECT id, provisioning_status FROM {} WHERE provisioning_status LIKE 'PENDING%%'"
        return self.rows(" UNION ALL ".join(one.format(table) for table in tables))

    def settle(self, seconds: float = 120) -> None:
        """Wait until the service has ended everything that is PENDING and no row differs from the desired."""
        wait_until(lambda: not self.pending(), "everything to settle", seconds, 0.02)
        wait_until(lambda: not self.comparison.differences(), "the rows to be as desired", seconds, 0.02)

    def complaints(self) -> list[str]:
        """What the service has logged as an error since the last question."""
        with (self.directory / "logs" / "ovnlb.out").open(errors="replace") as log:
            log.seek(self._read)
            lines = log.readlines()
            self._read = log.tell()
        return [line for line in lines if " ERROR " in line or "Traceback" in line]

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
        """One request below /v2."""
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.port}/v2{path}"
        asked = urllib.request.Request(url, data, HEADERS, method=method)
        started = time.perf_counter()
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status, raw = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, raw = error.code, error.read()
        seconds = time.perf_counter() - started
        return Reply(status, json.loads(raw) if raw else {}, seconds)

    def lbaas(self, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
        """One request below /v2/lbaas."""
        return self.request(method, f"/lbaas{path}", body)

    def rows(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """What a query on Octavia's database gives."""
        connection = pymysql.connect(
            unix_socket=str(self.mariadb.socket), user="root", database=self.schema, autocommit=True
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())

    def log(self) -> str:
        """What the API wrote."""
        return (self.directory / "logs" / "octavia-api.out").read_text(errors="replace")
