"""A world for the driver in tests: a Neutron over HTTP, a database, and a socket that is nudged."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import openstack
from keystoneauth1 import noauth, session
from octavia_lib.api.drivers import data_models as dm

from ovnlb.reconciler import nudge
from ovnlb.reconciler.driver import OvnlbProviderDriver
from ovnlb.reconciler.driver_lookup import DriverLookup
from ovnlb.reconciler.driver_world import DriverWorld
from ovnlb.reconciler.neutron_client import NeutronClient, Retry
from servers.neutron import FakeNeutron


class NudgeSocket:
    """The receiving end of the nudges, at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.setblocking(False)

    def received(self) -> list[str | None]:
        """The load balancers of the nudges that have arrived since the last question."""
        return [named_in(datagram) for datagram in self.datagrams()]

    def datagrams(self) -> Iterator[bytes]:
        """The datagrams that have arrived since the last question."""
        while True:
            try:
                yield self.socket.recv(4096)
            except BlockingIOError:
                return

    def close(self) -> None:
        self.socket.close()


def named_in(datagram: bytes) -> str | None:
    """The load balancer that a nudge names; AssertionError when the datagram is no nudge."""
    read = nudge.decode(datagram)
    assert read is not None, datagram
    assert len(datagram) <= nudge.MAX_BYTES
    return read.lb_id


@contextmanager
def nudge_socket(path: Path) -> Iterator[NudgeSocket]:
    """A bound nudge socket for the length of a block."""
    made = NudgeSocket(path)
    try:
        yield made
    finally:
        made.close()


def client_of(neutron: FakeNeutron, **retry: Any) -> NeutronClient:
    """Our client, speaking HTTP to that Neutron."""
    sess = session.Session(auth=noauth.NoAuth(endpoint=neutron.url), timeout=5)
    connect = partial(openstack.connection.Connection, session=sess, network_endpoint_override=neutron.url)
    return NeutronClient(lambda: connect().network, Retry(**{"attempts": 2, "pause": 0.01, **retry}))


def driver_of(neutron: FakeNeutron, open_engine: Any, nudges: NudgeSocket) -> OvnlbProviderDriver:
    """The driver in that world."""
    return OvnlbProviderDriver(
        DriverWorld(DriverLookup(open_engine), client_of(neutron), partial(nudge.send, str(nudges.path)))
    )


# octavia-lib's objects out of their recorded form

_CHILDREN = {
    "listeners": "listener",
    "pools": "pool",
    "members": "member",
    "healthmonitor": "healthmonitor",
    "default_pool": "pool",
    "l7policies": "l7policy",
}
_MODELS = {
    "loadbalancer": dm.LoadBalancer,
    "listener": dm.Listener,
    "pool": dm.Pool,
    "member": dm.Member,
    "healthmonitor": dm.HealthMonitor,
    "health_monitor": dm.HealthMonitor,
    "l7policy": dm.L7Policy,
    "l7rule": dm.L7Rule,
}


def model(kind: str, values: dict[str, Any]) -> Any:
    """The object of that kind, children included; keys that are absent stay Unset."""
    made = dict(values)
    for key, child in _CHILDREN.items():
        held = made.get(key)
        if isinstance(held, list):
            made[key] = [model(child, one) if isinstance(one, dict) else one for one in held]
        elif isinstance(held, dict):
            made[key] = model(child, held)
    return _MODELS[kind](**made)


def arguments(method: str, recorded: list[Any]) -> list[Any]:
    """The arguments of a driver method from a scenario's `provider_objects`."""
    kind = next((k for k in sorted(_MODELS, key=len, reverse=True) if method.startswith(k)), None)
    if kind is None or "metadata" in method or "failover" in method or method.startswith("validate"):
        return list(recorded)
    if method == "member_batch_update":
        return [recorded[0], [model("member", one) for one in recorded[1]]]
    return [model(kind, one) if isinstance(one, dict) else one for one in recorded]
