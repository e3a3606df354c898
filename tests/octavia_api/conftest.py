"""One octavia-api for the session; every test starts from an empty cloud and leaves one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from octavia_api.api import Octavia
from servers.mariadb import MariaDb
from servers.neutron import serving
from servers.ovsdb import NB, SB, ovsdb_server
from stack import venvs

NETWORK = "4e700000-0000-4000-8000-000000000001"
SUBNET = "5b4e7000-0000-4000-8000-000000000001"
SUBNET6 = "5b4e7000-0000-4000-8000-000000000006"
OTHER = "5b4e7000-0000-4000-8000-000000000002"
BACKEND = "b0470000-0000-4000-8000-000000000031"  # a server with the address 10.0.3.1
CLOUD = {
    "networks": [
        {"id": NETWORK, "name": "net", "subnets": [SUBNET, SUBNET6], "tenant_id": "p", "status": "ACTIVE"}
    ],
    "subnets": [
        {"id": SUBNET, "network_id": NETWORK, "cidr": "10.0.0.0/16", "ip_version": 4, "name": "v4"},
        {"id": SUBNET6, "network_id": NETWORK, "cidr": "fd00:1::/64", "ip_version": 6, "name": "v6"},
        {"id": OTHER, "network_id": NETWORK, "cidr": "10.9.0.0/24", "ip_version": 4, "name": "other"},
    ],
    "ports": [
        {
            "id": BACKEND,
            "name": "vm",
            "network_id": NETWORK,
            "device_owner": "compute:nova",
            "device_id": "vm",
            "mac_address": "fa:16:3e:00:00:31",
            "fixed_ips": [{"subnet_id": SUBNET, "ip_address": "10.0.3.1"}],
            "status": "ACTIVE",
            "tenant_id": "p",
        }
    ],
}


@pytest.fixture(scope="session")
def octavia_session(mariadb: MariaDb) -> Iterator[Octavia]:
    """The running API with two worker processes."""
    directory = Path(tempfile.mkdtemp(prefix="ovnlb-api-"))
    venv = venvs.octavia_api()
    with serving(CLOUD) as neutron, ovsdb_server(NB) as nb, ovsdb_server(SB) as sb:
        octavia = Octavia(directory, venv, mariadb, neutron, (nb, sb), CLOUD, workers=2)
        try:
            octavia.start()
            yield octavia
            octavia.comparison.close()
        finally:
            octavia.stop()
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def emptied(octavia: Octavia) -> Iterator[Octavia]:
    """The API with an empty cloud; at the end nothing may be left in OVN, nor complained of."""
    octavia.reset()
    yield octavia
    octavia.neutron.faults.clear()
    octavia.settle()
    for lb in octavia.lbaas("GET", "/loadbalancers").body["loadbalancers"]:
        octavia.lbaas("DELETE", f"/loadbalancers/{lb['id']}?cascade=true")
    octavia.settle()
    assert octavia.nb.balancers() == []
    assert octavia.complaints() == []


@pytest.fixture
def octavia(octavia_session: Octavia) -> Iterator[Octavia]:
    """The API for one test."""
    with emptied(octavia_session) as made:
        yield made


@pytest.fixture(scope="class")
def octavia_of_class(octavia_session: Octavia) -> Iterator[Octavia]:
    """The API for a class of tests."""
    with emptied(octavia_session) as made:
        yield made
