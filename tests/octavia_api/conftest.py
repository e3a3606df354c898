"""One octavia-api for the session; every test starts from an empty cloud and leaves one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from octavia_api.api import Octavia
from servers.mariadb import MariaDb
from servers.neutron import serving
from stack import venvs

NETWORK = "4e700000-0000-4000-8000-000000000001"
SUBNET = "5b4e7000-0000-4000-8000-000000000001"
SUBNET6 = "5b4e7000-0000-4000-8000-000000000006"
OTHER = "5b4e7000-0000-4000-8000-000000000002"
CLOUD = {
    "networks": [
        {"id": NETWORK, "name": "net", "subnets": [SUBNET, SUBNET6], "tenant_id": "p", "status": "ACTIVE"}
    ],
    "subnets": [
        {"id": SUBNET, "network_id": NETWORK, "cidr": "10.0.0.0/16", "ip_version": 4, "name": "v4"},
        {"id": SUBNET6, "network_id": NETWORK, "cidr": "fd00:1::/64", "ip_version": 6, "name": "v6"},
        {"id": OTHER, "network_id": NETWORK, "cidr": "10.9.0.0/24", "ip_version": 4, "name": "other"},
    ],
}


@pytest.fixture(scope="session")
def octavia_session(mariadb: MariaDb) -> Iterator[Octavia]:
    """The running API with two worker processes."""
    directory = Path(tempfile.mkdtemp(prefix="ovnlb-api-"))
    with serving(CLOUD) as neutron:
        octavia = Octavia(directory, venvs.octavia_api(), mariadb, neutron, workers=2)
        try:
            octavia.start()
            yield octavia
        finally:
            octavia.stop()
            shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def octavia(octavia_session: Octavia) -> Iterator[Octavia]:
    """The API with an empty cloud; afterwards nothing may be left of the test."""
    octavia_session.neutron.load(CLOUD)
    octavia_session.neutron.faults.clear()
    octavia_session.neutron.calls.clear()
    octavia_session.nudges.received()
    yield octavia_session
    octavia_session.neutron.faults.clear()
    octavia_session.standin.settle()
    for lb in octavia_session.lbaas("GET", "/loadbalancers").body["loadbalancers"]:
        octavia_session.lbaas("DELETE", f"/loadbalancers/{lb['id']}?cascade=true")
    octavia_session.standin.settle()
