"""One network with two backends and a VIP port, one load balancer: where effects are tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs import LB, NETWORK, SUBNET, VIP_PORT, balancer, listener, member, monitor, pool
from ovnlb.desired.model import LoadBalancer
from port_world import PortWorld, lsp
from servers.neutron import FakeNeutron

OTHER_NETWORK, MAC, FIP, MEMBER_FIP = "net-2", "aa:bb:cc:00:00:01", "172.24.4.10", "172.24.4.50"
HM_NAME = f"ovn-lb-hm-{SUBNET}"


def port(port_id: str, address: str, **more: Any) -> dict[str, Any]:
    """A Neutron port on the network."""
    number = int(address.rpartition(".")[2])
    return {
        "id": port_id,
        "name": port_id,
        "network_id": NETWORK,
        "device_owner": "compute:nova",
        "device_id": f"vm-{port_id}",
        "mac_address": f"fa:16:3e:00:00:{number:02x}",
        "fixed_ips": [{"subnet_id": SUBNET, "ip_address": address}],
        "project_id": "project-1",
        **more,
    }


def vip_port(**more: Any) -> dict[str, Any]:
    """The VIP port as a provider makes it."""
    made = {"name": f"ovn-lb-vip-{LB}", "device_owner": "ovn-lb:vip", "device_id": f"lb-{LB}"}
    return port(VIP_PORT, "10.0.0.10", **(made | more))


def hm_port(port_id: str = "hm-port", address: str = "10.0.0.3", **more: Any) -> dict[str, Any]:
    """A health-monitor port as a provider makes it."""
    made = {"name": HM_NAME, "device_owner": "ovn-lb-hm:distributed", "device_id": HM_NAME}
    return port(port_id, address, **(made | more))


def nat(external_ip: str, port_id: str, logical_ip: str, mac: str | None = None) -> dict[str, Any]:
    """A NAT row as Neutron makes it; with `mac` a distributed one."""
    return {
        "_uuid": f"nat-{external_ip}",
        "type": "dnat_and_snat",
        "external_ip": external_ip,
        "logical_ip": logical_ip,
        "external_mac": [mac] if mac else [],
        "logical_port": [port_id],
        "external_ids": {"neutron:fip_id": f"fip-{external_ip}", "neutron:fip_port_id": port_id},
    }


def small_cloud(
    server: FakeNeutron,
    *ports: Mapping[str, Any],
    vip: Mapping[str, Any] | None = None,
    nats: tuple[Mapping[str, Any], ...] = (),
    vip_fip: str | None = None,
) -> PortWorld:
    """The cloud with more `ports`, another VIP port, NAT rows, and a floating IP on the VIP's LSP."""
    all_ports = [vip or vip_port(), port("port-1", "10.0.0.21"), port("port-2", "10.0.0.22"), *ports]
    neutron = {
        "networks": [{"id": NETWORK}],
        "subnets": [{"id": SUBNET, "network_id": NETWORK, "cidr": "10.0.0.0/24", "ip_version": 4}],
        "ports": all_ports,
        "floatingips": [
            {
                "id": row["external_ids"]["neutron:fip_id"],
                "floating_ip_address": row["external_ip"],
                "port_id": row["external_ids"]["neutron:fip_port_id"],
                "fixed_ip_address": row["logical_ip"],
                "description": "mine",
            }
            for row in nats
        ],
    }
    lsps = [lsp(one) for one in all_ports]
    if vip_fip:
        lsps[0]["external_ids"]["neutron:port_fip"] = vip_fip
    topology = {
        "Logical_Switch": [
            {
                "_uuid": f"ls-{network}",
                "name": f"neutron-{network}",
                "ports": [f"lsp:{one['id']}" for one in all_ports if one["network_id"] == network],
            }
            for network in (NETWORK, OTHER_NETWORK)
        ],
        "Logical_Switch_Port": lsps,
        "NAT": list(nats),
        "NB_Global": [{"_uuid": "global", "options": {"svc_monitor_mac": MAC}}],
    }
    world = PortWorld(server, topology, neutron)
    world.balancers = (balancer(),)
    return world


def monitored(**more: Any) -> LoadBalancer:
    """The load balancer with both backends and a monitor."""
    return balancer([listener()], [pool([member(1), member(2)], monitor())], **more)
