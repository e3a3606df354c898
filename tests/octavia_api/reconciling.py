"""The rest of the cloud around octavia-api: both OVN databases, `ovnlb run`, and the nudges between.

The service is a process of the same virtual environment as octavia-api, with a configuration of its
own; Octavia's driver-agent takes its statuses. What a test asks of the rows is asked over a replica
that never writes.
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from driver_world import NudgeSocket, named_in
from ovnlb.desired.facts import switch_name
from ovnlb.reconciler.connections import connect
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.settings import load_settings
from ovnlb.reconciler.walk import World, walk
from port_world import lsp
from servers.neutron import Call
from servers.ovsdb import OvsdbServer


class NudgeRelay:
    """Notes octavia-api's nudges, and passes them on to the service at `onward` unless `mute`."""

    def __init__(self, path: Path, onward: Path) -> None:
        self.mute = False
        self._onward = str(onward)
        self._incoming = NudgeSocket(path)
        self._sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._noted: list[str | None] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def received(self) -> list[str | None]:
        """The load balancers of the nudges since the last question."""
        with self._lock:
            self._pass_on()
            noted, self._noted = self._noted, []
            return noted

    def _run(self) -> None:
        while not self._closing.is_set():
            if select.select([self._incoming.socket], [], [], 0.2)[0]:
                with self._lock:
                    self._pass_on()

    def _pass_on(self) -> None:
        for datagram in self._incoming.datagrams():
            self._noted.append(named_in(datagram))
            if not self.mute:
                with suppress(OSError):  # as a driver does when nobody listens
                    self._sender.sendto(datagram, socket.MSG_DONTWAIT, self._onward)

    def close(self) -> None:
        """End of the session."""
        self._closing.set()
        self._thread.join()
        self._sender.close()
        self._incoming.close()


class Northbound:
    """What Neutron keeps in the Northbound database: a switch, a router, and a port for each of its own."""

    def __init__(self, server: OvsdbServer, cloud: Mapping[str, Any]) -> None:
        self.server, self._uuids = server, dict[str, str]()
        (network,) = cloud["networks"]
        self._switch = switch_name(network["id"])
        interfaces = [self._interface(subnet) for subnet in cloud["subnets"]]
        server.insert(
            {
                "Logical_Switch": [{"name": self._switch, "external_ids": {"neutron:network_name": "net"}}],
                "Logical_Router": [{"name": "neutron-router", "ports": [row["_uuid"] for row in interfaces]}],
                "Logical_Router_Port": interfaces,
            }
        )
        self.load(cloud["ports"])

    def _interface(self, subnet: Mapping[str, Any]) -> dict[str, Any]:
        base, _, length = subnet["cidr"].partition("/")
        gateway = f"{base}1" if ":" in base else f"{base.rpartition('.')[0]}.1"
        ids = {"neutron:network_name": self._switch, "neutron:subnet_ids": subnet["id"]}
        return {
            "_uuid": f"lrp:{subnet['id']}",
            "name": f"lrp-{subnet['id']}",
            "mac": "fa:16:3e:00:00:01",
            "networks": [f"{gateway}/{length}"],
            "external_ids": ids,
        }

    def load(self, ports: Any) -> None:
        """These ports and no others."""
        for port_id in list(self._uuids):
            self._remove(port_id)
        for port in ports:
            self._add(port)

    def told(self, call: Call) -> None:
        """A call that Neutron has answered: the Northbound follows before the answer is sent."""
        kind, _, port_id = call.path.partition("/")
        if kind != "ports" or call.status >= 400:
            return
        if call.method == "POST":
            self._add(call.reply["port"])
        elif call.method == "PUT":
            self._remove(port_id)
            self._add(call.reply["port"])
        elif call.method == "DELETE":
            self._remove(port_id)

    def _add(self, port: Mapping[str, Any]) -> None:
        form = lsp(port)
        row = {
            "name": form["name"],
            "type": form["type"],
            "addresses": ["set", form["addresses"]],
            "external_ids": ["map", [list(pair) for pair in form["external_ids"].items()]],
        }
        made = self.server.transact(
            {"op": "insert", "table": "Logical_Switch_Port", "row": row, "uuid-name": "made"},
            self._mutation("insert", ["named-uuid", "made"]),
        )
        self._uuids[port["id"]] = made[0]["uuid"][1]

    def _remove(self, port_id: str) -> None:
        self.server.transact(self._mutation("delete", ["uuid", self._uuids.pop(port_id)]))

    def _mutation(self, how: str, port: list[str]) -> dict[str, Any]:
        return {
            "op": "mutate",
            "table": "Logical_Switch",
            "where": [["name", "==", self._switch]],
            "mutations": [["ports", how, ["set", [port]]]],
        }

    def balancers(self) -> list[dict[str, Any]]:
        """The Load_Balancer rows."""
        return self.server.rows("Load_Balancer")


class Comparison:
    """Walks every load balancer without writing anything."""

    def __init__(self, config: Path) -> None:
        self._stack = ExitStack()
        settings = load_settings([str(config)])
        made = self._connections = connect(settings, self._stack, lock=False)
        made.southbound.start(lambda event: None)
        self._world = World(
            made.nb, made.neutron, made.southbound.health, ports=PortMemory(made.nb, monitor_mac=False)
        )

    def differences(self) -> list[str]:
        """What the service would still change."""
        found = []
        for lb in self._connections.database.load(self._connections.database.living()).load_balancers:
            walked = walk(lb, self._world)
            found += [f"{one.op} {one.table} {one.column} {one.key}" for one in walked.plan.changes]
        return found

    def close(self) -> None:
        """Disconnect."""
        self._stack.close()
