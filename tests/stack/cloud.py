"""What a user and an operator do on the stack through the public APIs, with every load balancer operation
timed.

The same calls run on both providers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import openstack

from stack.dataplane import HOST
from stack.processes import tail
from stack.stack import Stack

SETTLE_SECONDS = 90
BACKENDS = (
    101,
    102,
    103,
    104,
)  # last part of the addresses of the shared member ports: 10.20.0.x, fd20::1:x


@dataclass(frozen=True)
class Timing:
    """One operation: seconds of the API call, seconds from the call until the load balancer was settled
    again.
    """

    operation: str
    call: float
    settled: float


@dataclass(frozen=True)
class Networks:
    """Ids that the tests share: an external provider network, a private one of both families, one router."""

    public: str
    public_v4: str
    private: str
    private_v4: str
    private_v6: str
    router: str


def nodes(tree: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Every object of a status tree with its kind."""
    yield "load balancer", tree
    pools = [
        *tree.get("pools", ()),
        *(pool for each in tree.get("listeners", ()) for pool in each.get("pools", ())),
    ]
    for listener in tree.get("listeners", ()):
        yield "listener", listener
    for pool in pools:
        yield "pool", pool
        if pool.get("health_monitor"):
            yield "health monitor", pool["health_monitor"]
        for member in pool.get("members", ()):
            yield "member", member


class Cloud:
    """openstacksdk on one stack."""

    def __init__(self, stack: Stack, user: str = "admin", project: str = "admin") -> None:
        self.stack = stack
        self.connection: openstack.connection.Connection = stack.connect(user, project)
        self.network = self.connection.network
        self.octavia = self.connection.load_balancer
        self.timings: list[Timing] = []
        self.settled_at = 0.0

    def timed(
        self, operation: str, lb_id: str | None, call: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Make a call, wait until its load balancer (``lb_id``, else the one created) is ACTIVE again,
        record both times.
        """
        begin = time.monotonic()
        result = call(*args, **kwargs)
        called = time.monotonic() - begin
        self.active(lb_id or result.id)
        self.timings.append(Timing(operation, called, self.settled_at - begin))
        return result

    def active(self, lb_id: str) -> Any:
        """Wait until nothing of a load balancer is PENDING; AssertionError unless it is ACTIVE then.

        ``settled_at`` is when the load balancer itself was not: what can be asked of both providers.
        """
        deadline, self.settled_at = time.monotonic() + SETTLE_SECONDS, 0.0
        while True:
            found = self.octavia.get_load_balancer(lb_id)
            if not found.provisioning_status.startswith("PENDING"):
                self.settled_at = self.settled_at or time.monotonic()
                if not self.pending(lb_id):
                    break
            assert time.monotonic() < deadline, (
                f"{found.provisioning_status}, {self.pending(lb_id)} for {SETTLE_SECONDS} s:\n{self.logs()}"
            )
            time.sleep(0.03)
        assert found.provisioning_status == "ACTIVE", (
            f"{found.provisioning_status}: {self.tree(lb_id)}\n{self.logs()}"
        )
        return found

    def pending(self, lb_id: str) -> list[tuple[str, str, str]]:
        """Kind, id and status of everything PENDING below a load balancer; not asked of the original,
        which leaves some.
        """
        if self.stack.octavia.provider == "original":
            return []
        found = (
            (kind, node["id"], node["provisioning_status"]) for kind, node in nodes(self.tree(lb_id))
        )
        return [each for each in found if each[2].startswith("PENDING")]

    def delete(self, lb_id: str, cascade: bool = False) -> None:
        """Delete a load balancer and wait until the API no longer shows it."""
        begin = time.monotonic()
        self.octavia.delete_load_balancer(lb_id, cascade=cascade)
        called = time.monotonic() - begin
        self.gone(lb_id)
        name = "load balancer delete, cascade" if cascade else "load balancer delete"
        self.timings.append(Timing(name, called, time.monotonic() - begin))

    def gone(self, lb_id: str) -> None:
        """Wait until the API no longer shows a load balancer."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while (found := self.octavia.find_load_balancer(lb_id)) is not None:
            assert found.provisioning_status != "ERROR", f"delete ended in ERROR:\n{self.logs()}"
            assert time.monotonic() < deadline, (
                f"{found.provisioning_status} for {SETTLE_SECONDS} s:\n{self.logs()}"
            )
            time.sleep(0.03)

    def tree(self, lb_id: str) -> Mapping[str, Any]:
        """Octavia's status tree of a load balancer."""
        body: Mapping[str, Any] = self.octavia.get(f"/lbaas/loadbalancers/{lb_id}/status").json()
        return body["statuses"]["loadbalancer"]  # type: ignore[no-any-return]

    def logs(self) -> str:
        """The ends of the logs that explain a failure."""
        logs = self.stack.place.directory("logs")
        names = (
            "ovnlb-run.out",
            "octavia-driver-agent.log",
            "octavia-driver-agent.out",
            "octavia-api.log",
        )
        return "\n".join(f"== {name}\n{tail(logs / name, 12)}" for name in names)

    def subnet(self, network: str, cidr: str, **options: Any) -> str:
        """A subnet's id; in IPv6 ones addresses can be chosen (DHCPv6)."""
        if ":" in cidr:
            options = {
                "ipv6_ra_mode": "dhcpv6-stateful",
                "ipv6_address_mode": "dhcpv6-stateful",
                **options,
            }
        return str(
            self.network.create_subnet(
                network_id=network, cidr=cidr, ip_version=6 if ":" in cidr else 4, **options
            ).id
        )

    def networks(self) -> Networks:
        """The shared networks, made at the first call."""
        if self.network.find_network("public") is None:
            public = self.network.create_network(
                name="public",
                is_router_external=True,
                provider_network_type="flat",
                provider_physical_network="public",
            ).id
            self.subnet(
                public, "198.51.100.0/24", name="public-v4", gateway_ip="198.51.100.1", enable_dhcp=False
            )
            private = self.network.create_network(name="private").id
            subnets = (
                self.subnet(private, "10.20.0.0/24", name="private-v4"),
                self.subnet(private, "fd20::/64", name="private-v6"),
            )
            router = self.network.create_router(
                name="router1", external_gateway_info={"network_id": public}
            )
            for subnet in subnets:
                self.network.add_interface_to_router(router, subnet_id=subnet)
            for last in BACKENDS:
                addresses = zip(subnets, (f"10.20.0.{last}", f"fd20::1:{last}"), strict=True)
                self.network.create_port(
                    name=f"backend-{last}",
                    network_id=private,
                    fixed_ips=[
                        {"subnet_id": subnet, "ip_address": address} for subnet, address in addresses
                    ],
                )
        find = self.network.find_subnet
        return Networks(
            self.network.find_network("public").id,
            find("public-v4").id,
            self.network.find_network("private").id,
            find("private-v4").id,
            find("private-v6").id,
            self.network.find_router("router1").id,
        )

    def guest_port(self, network: str, name: str, subnets: Iterable[str], **options: Any) -> Any:
        """A port as Nova would make it for a guest on our chassis, without port security."""
        return self.network.create_port(
            network_id=network,
            name=name,
            fixed_ips=[{"subnet_id": subnet} for subnet in subnets],
            is_port_security_enabled=False,
            security_group_ids=[],
            binding_host_id=HOST,
            device_owner="compute:nova",
            device_id=name,
            **options,
        )

    def provider_ports(self) -> dict[str, str]:
        """Neutron ports that a load balancer provider owns: id -> name."""
        return {
            port.id: port.name
            for port in self.network.ports()
            if port.device_owner.startswith("ovn-lb") or port.name.startswith("ovn-lb-")
        }
