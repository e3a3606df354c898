"""Guests on a stack and the load balancers between them.

b1, b2 and c0 are on the private network (both families), b3 and c1 on another network of the same
router, x0 is outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from stack.cloud import Cloud
from stack.stack import Stack

TCP_PORT, UDP_PORT = 8080, 9090
GUESTS = {"b1": "private", "b2": "private", "c0": "private", "b3": "other", "c1": "other"}


class Lab:
    """A stack with its guests plugged in."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.dataplane, self.cloud = stack, stack.dataplane, Cloud(stack)
        self.octavia = self.cloud.octavia
        self.net = self.cloud.networks()
        self.other = str(self.cloud.network.create_network(name="other").id)
        self.other_v4 = self.cloud.subnet(self.other, "10.30.0.0/24")
        self.cloud.network.add_interface_to_router(self.net.router, subnet_id=self.other_v4)
        self.addresses: dict[str, list[str]] = {}
        self.ports: dict[str, str] = {}
        for name, where in GUESTS.items():
            self._plug(name, where)
        self.dataplane.plug("x0", "02:00:00:00:00:01", ["198.51.100.1/24"], [], "br-ex")
        self.eventually(
            lambda: all(
                self.cloud.network.get_port(port).status == "ACTIVE" for port in self.ports.values()
            )
        )

    def _plug(self, name: str, where: str) -> None:
        private = where == "private"
        subnets = [self.net.private_v4, self.net.private_v6] if private else [self.other_v4]
        port = self.cloud.guest_port(self.net.private if private else self.other, name, subnets)
        self.ports[name] = port.id
        by_subnet = {fixed["subnet_id"]: fixed["ip_address"] for fixed in port.fixed_ips}
        self.addresses[name] = [by_subnet[subnet] for subnet in subnets]
        lengths = [f"{ip}/{64 if ':' in ip else 24}" for ip in self.addresses[name]]
        gateways = ["10.20.0.1", "fd20::1"] if private else ["10.30.0.1"]
        self.dataplane.plug(name, port.mac_address, lengths, gateways, port=port.id)

    def serve_all(self) -> None:
        """TCP and UDP servers in every backend, started where they do not run."""
        for name in ("b1", "b2", "b3"):
            for port, protocol in ((TCP_PORT, "tcp"), (UDP_PORT, "udp")):
                if not self.stack.processes.alive(f"guest-{name}-{protocol}-{port}"):
                    self.dataplane.serve(name, port, protocol)

    def members(self, *names: str, family: int = 4, port: int = TCP_PORT) -> list[dict[str, Any]]:
        """Request bodies of members for these guests."""
        subnets = {
            "b1": (self.net.private_v4, self.net.private_v6),
            "b2": (self.net.private_v4, self.net.private_v6),
        }
        index = 0 if family == 4 else 1
        return [
            {
                "name": name,
                "address": self.addresses[name][index],
                "protocol_port": port,
                "subnet_id": subnets.get(name, (self.other_v4,))[index],
            }
            for name in names
        ]

    def listener(
        self, members: list[dict[str, Any]], protocol: str = "TCP", port: int = 80, **pool: Any
    ) -> dict[str, Any]:
        """Request body of a listener with its pool."""
        return {
            "protocol": protocol,
            "protocol_port": port,
            "default_pool": {
                "name": f"{protocol}-{port}",
                "protocol": protocol,
                "lb_algorithm": "SOURCE_IP_PORT",
                "members": members,
                **pool,
            },
        }

    def balancer(self, *listeners: dict[str, Any], settle: bool = True, **options: Any) -> Any:
        """A load balancer made in one request; with ``settle``, after the data path has it."""
        options = {"vip_subnet_id": self.net.private_v4, **options}
        created = self.cloud.timed(
            "create",
            None,
            self.octavia.create_load_balancer,
            provider="ovn",
            listeners=list(listeners),
            **options,
        )
        if settle:
            self.settle()
        return self.octavia.get_load_balancer(created.id)

    def change(self, lb: Any, call: Callable[..., Any], *args: Any, **changes: Any) -> Any:
        """One API call on a load balancer, then until the data path has it."""
        result = self.cloud.timed("change", lb.id, call, *args, **changes)
        self.settle()
        return result

    def settle(self) -> None:
        """Wait until the data path has what NB says."""
        self.dataplane.settle()

    def pool(self, lb: Any) -> str:
        """The id of the only pool."""
        (pool,) = self.octavia.pools(loadbalancer_id=lb.id)
        return str(pool.id)

    def member(self, lb: Any, name: str) -> Any:
        """The member of that name in the only pool."""
        (found,) = [each for each in self.octavia.members(self.pool(lb)) if each.name == name]
        return found

    def floating_ip(self, lb: Any) -> str:
        """The address of a new floating IP on the VIP, once NB's rows have it."""
        fip = self.cloud.network.create_ip(floating_network_id=self.net.public, port_id=lb.vip_port_id)
        address = str(fip.floating_ip_address)
        self.eventually(
            lambda: any(
                vip.startswith(f"{address}:")
                for row in self.stack.ovn.rows("nb", "Load_Balancer", name=lb.id)
                for vip in row["vips"]
            ),
            20,
        )
        self.settle()
        return address

    def eventually(self, condition: Callable[[], object], seconds: float = 60) -> float:
        """Poll until a condition holds; the seconds that took."""
        begin = time.monotonic()
        while not condition():
            assert time.monotonic() - begin < seconds, (
                f"not so after {seconds:.0f} s\n{self.cloud.logs()}"
            )
            time.sleep(0.1)
        return time.monotonic() - begin

    def clean(self) -> None:
        """Delete every load balancer and floating IP, close the sessions."""
        for running in self.stack.processes.names():
            if "-session-" in running:
                self.stack.processes.stop(running)
        for lb in list(self.octavia.load_balancers()):
            self.cloud.delete(lb.id, cascade=True)
        for fip in list(self.cloud.network.ips()):
            self.cloud.network.delete_ip(fip)
