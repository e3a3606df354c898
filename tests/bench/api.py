"""Neutron's side of a bench's cloud, in the form of its API."""

from __future__ import annotations

from typing import Any

from bench import clouds


def neutron(count: int) -> dict[str, list[dict[str, Any]]]:
    """Neutron's networks, subnets, floating IPs, and the ports that a provider makes or is given."""
    found: dict[str, list[dict[str, Any]]] = {"networks": [], "subnets": [], "floatingips": [], "ports": []}
    own = {"project_id": clouds.PROJECT}
    for network in range(clouds.networks(count)):
        name = clouds.network_id(network)
        found["networks"].append({"id": name, "name": f"net{network}", **own})
        for v6 in (False, True):
            subnet = {"id": clouds.subnet_id(network, v6), "network_id": name, "name": "", **own}
            found["subnets"].append(subnet | {"cidr": clouds.cidr(network, v6), "ip_version": 6 if v6 else 4})
        ports = [clouds.vip_port(number, count, "") for number in clouds.numbers_on(count, network)]
        ports += clouds.hm_ports(network, count, "")
        found["ports"] += [_port(network, lsp) for lsp in ports]
    for number in range(count):
        if (fip := clouds.floating_ip(number)) is not None:
            row = {"id": clouds.object_id("f1000000", number), "port_id": clouds.port_id(number)}
            found["floatingips"].append({**row, "floating_ip_address": fip, **own})
    return found


def _port(network: int, lsp: dict[str, Any]) -> dict[str, Any]:
    """The port behind an LSP, as Neutron's API shows it."""
    ids, (mac, address) = lsp["external_ids"], lsp["addresses"][0].split()
    return {
        "id": lsp["name"],
        "name": ids["neutron:port_name"],
        "network_id": clouds.network_id(network),
        "device_owner": ids["neutron:device_owner"],
        "device_id": ids["neutron:device_id"],
        "mac_address": mac,
        "fixed_ips": [{"subnet_id": clouds.subnet_id(network, ":" in address), "ip_address": address}],
        "project_id": clouds.PROJECT,
        "created_at": "2026-01-01T12:00:00Z",
        "binding:host_id": "",
    }
