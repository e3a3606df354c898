"""Large clouds as rows of every server: Octavia's tables, Northbound topology, Neutron's objects.

A cloud of N: N load balancers with 2 listeners, 2 pools and 10 members each, 50 to a network; every
tenth is IPv6, every fifth has health monitors on both pools, every tenth IPv4 one a floating IP. Ten
LSPs a load balancer: its VIP port, its network's router and health-monitor ports, and machines. Of
the VIP ports every fiftieth is a user's own and every fiftieth was made by an old release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PER_NETWORK = 50
MEMBERS, POOLS = 5, 2
PORTS = 10
PROJECT = "b40ec700-0000-4000-8000-000000000000"
PUBLIC_EVERY = 20
EPOCH = "2026-01-01 12:00:00"
HM_HOST, FIRST_VIP, FIRST_MACHINE = 2, 16, 1024


def object_id(kind: str, number: int, part: int = 0) -> str:
    """The id of an object: the same in every run."""
    return f"{kind}-{part:04x}-4000-8000-{number:012x}"


def lb_id(number: int) -> str:
    """The id of the load balancer of that number."""
    return object_id("1b000000", number)


def network_id(number: int) -> str:
    """The id of a tenant's network."""
    return object_id("4e700000", number)


def subnet_id(number: int, v6: bool) -> str:
    """The id of one of the two subnets of a tenant's network."""
    return object_id("5b4e7000", number, 6 if v6 else 4)


def port_id(number: int) -> str:
    """The id of the VIP port of a load balancer."""
    return object_id("a0700000", number)


def cidr(network: int, v6: bool) -> str:
    """The CIDR of a tenant's subnet."""
    return f"fd00:{network:x}::/64" if v6 else f"10.{network}.0.0/16"


def address(network: int, host: int, v6: bool) -> str:
    """An address of a tenant's subnet."""
    return f"fd00:{network:x}::{host:x}" if v6 else f"10.{network}.{host >> 8}.{host & 255}"


def _chosen(number: int, salt: int, every: int) -> bool:
    """Whether this is one of `every` so many, spread evenly over networks however many there are."""
    return (number * 2654435761 + salt * 40503 >> 8) % every == 0


def is_v6(number: int) -> bool:
    """Whether the load balancer of that number is IPv6."""
    return _chosen(number, 1, 10)


def is_monitored(number: int) -> bool:
    """Whether its pools have health monitors."""
    return _chosen(number, 2, 5)


def floating_ip(number: int) -> str | None:
    """Its floating IP, if it has one."""
    if is_v6(number) or not _chosen(number, 3, 10):
        return None
    return f"198.{18 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def machines(count: int, network: int) -> int:
    """How many machines are on a network: what makes ten LSPs a load balancer."""
    balancers = len(numbers_on(count, network))
    return max(balancers * PORTS - balancers - 8, MEMBERS * POOLS + 2)


def networks(count: int) -> int:
    """How many networks (and routers) a cloud has."""
    return max(2, -(-count // PER_NETWORK))


def numbers_on(count: int, network: int) -> range:
    """The load balancers on a network."""
    return range(network, count, networks(count))


def octavia(
    count: int, first: int = 0, last: int | None = None, status: str = "ACTIVE"
) -> dict[str, list[dict[str, Any]]]:
    """Octavia's tables of the load balancers `first` to `last` (exclusive) of a cloud of `count`."""
    names = ("load_balancer", "vip", "listener", "pool", "member", "health_monitor")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for number in range(first, count if last is None else last):
        _balancer(tables, number, count, status)
    return tables


def _balancer(tables: dict[str, list[dict[str, Any]]], number: int, count: int, status: str) -> None:
    network, v6, own = number % networks(count), is_v6(number), {"load_balancer_id": lb_id(number)}
    state = {"provisioning_status": status, "operating_status": "ONLINE", "project_id": PROJECT}
    tables["load_balancer"].append({"id": lb_id(number), "name": f"lb{number}", "provider": "ovn", **state})
    place = {"subnet_id": subnet_id(network, v6), "network_id": network_id(network)}
    host = FIRST_VIP + number // networks(count)
    vip = {"ip_address": address(network, host, v6), "port_id": port_id(number)}
    tables["vip"].append({**own, **vip, **place})
    for part in range(POOLS):
        pool = object_id("b0010000", number, part)
        tables["pool"].append({"id": pool, "protocol": "TCP", **own, **state})
        listener = {"id": object_id("11500000", number, part), "protocol": "TCP", "protocol_port": 80 + part}
        tables["listener"].append({**listener, "default_pool_id": pool, **own, **state})
        if is_monitored(number):
            monitor = {"id": object_id("43a17000", number, part), "pool_id": pool, **state}
            tables["health_monitor"].append(monitor)
        for index in range(MEMBERS):
            tables["member"].append(member(number, count, part, index, status))


def member(number: int, count: int, part: int, index: int, status: str = "ACTIVE") -> dict[str, Any]:
    """A member row."""
    network, v6 = number % networks(count), is_v6(number)
    machine = (number // networks(count) * 10 + part * MEMBERS + index) % machines(count, network)
    return {
        "id": object_id("3e3be000", number, part * 256 + index),
        "pool_id": object_id("b0010000", number, part),
        "ip_address": address(network, FIRST_MACHINE + machine, v6),
        "protocol_port": 8080,
        "subnet_id": subnet_id(network, v6),
        "weight": 1,
        "provisioning_status": status,
        "operating_status": "ONLINE" if is_monitored(number) else "NO_MONITOR",
        "project_id": PROJECT,
        "created_at": EPOCH,
    }


# The Northbound topology, network by network.


def topology(count: int) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Tables of the bundle form, one transaction's worth each; public networks first."""
    total = networks(count)
    for public in range(0, total, PUBLIC_EVERY):
        yield _public(public // PUBLIC_EVERY)
    for network in range(total):
        yield _network(count, network)


def public_switch(number: int) -> str:
    """The name of a provider network's switch."""
    return f"neutron-{object_id('9b11c000', number)}"


def _public(number: int) -> dict[str, list[dict[str, Any]]]:
    port = {"_uuid": "lsp:p", "name": f"provnet-{number}", "type": "localnet", "addresses": ["unknown"]}
    port |= {"external_ids": {}, "options": {"network_name": f"physnet{number}"}}
    switch = {"_uuid": "ls:p", "name": public_switch(number), "ports": ["lsp:p"]}
    switch |= {"external_ids": {"neutron:network_name": f"public{number}"}}
    return {"Logical_Switch": [switch], "Logical_Switch_Port": [port]}


def _network(count: int, network: int) -> dict[str, list[dict[str, Any]]]:
    name = f"neutron-{network_id(network)}"
    ports = [*_router_ports(network, name), *hm_ports(network, count, name)]
    ports += [vip_port(number, count, name) for number in numbers_on(count, network)]
    ports += [_machine(network, machine, name) for machine in range(machines(count, network))]
    for index, port in enumerate(ports):
        port["_uuid"] = f"lsp:{index}"
    router = f"neutron-{object_id('40073000', network)}"
    nats = [nat for number in numbers_on(count, network) for nat in _nats(number, count)]
    interfaces = list(_interfaces(network, name))
    return {
        "Logical_Switch": [
            {
                "_uuid": "ls:1",
                "name": name,
                "external_ids": {"neutron:network_name": f"net{network}", "neutron:mtu": "1442"},
                "ports": [port["_uuid"] for port in ports],
            }
        ],
        "Logical_Switch_Port": ports,
        "NAT": nats,
        "Logical_Router": [
            {
                "_uuid": "lr:1",
                "name": router,
                "external_ids": {"neutron:router_name": f"router{network}"},
                "ports": [one["_uuid"] for one in interfaces],
                "nat": [nat["_uuid"] for nat in nats],
            }
        ],
        "Logical_Router_Port": interfaces,
    }


def _interfaces(network: int, switch: str) -> Iterator[dict[str, Any]]:
    for v6 in (False, True):
        yield {
            "_uuid": f"lrp:{v6:d}",
            "name": f"lrp-{object_id('a9900000', network, v6)}",
            "mac": _mac(network, 1 + v6),
            "networks": [f"{address(network, 1, v6)}/{64 if v6 else 16}"],
            "external_ids": {"neutron:network_name": switch, "neutron:subnet_ids": subnet_id(network, v6)},
        }
    yield {
        "_uuid": "lrp:gateway",
        "name": f"lrp-{object_id('a9900000', network, 9)}",
        "mac": _mac(network, 9),
        "networks": [f"198.51.{network >> 8}.{network & 255}/16"],
        "external_ids": {
            "neutron:network_name": public_switch(network // PUBLIC_EVERY),
            "neutron:is_ext_gw": "True",
        },
    }


def _mac(network: int, port: int) -> str:
    return f"fa:16:{network >> 8:02x}:{network & 255:02x}:{port >> 8:02x}:{port & 255:02x}"


def _port(
    port: str, network: int, switch: str, owner: str, host: int, v6: bool, **more: str
) -> dict[str, Any]:
    """An LSP as Neutron writes it."""
    text, size = address(network, host, v6), 64 if v6 else 16
    return {
        "name": port,
        "type": "",
        "addresses": [f"{_mac(network, host)} {text}"],
        "options": {"requested-chassis": f"compute-{host % 100}"},
        "enabled": [True],
        "external_ids": {
            "neutron:cidrs": f"{text}/{size}",
            "neutron:device_id": "",
            "neutron:device_owner": owner,
            "neutron:host_id": f"compute-{host % 100}",
            "neutron:network_name": switch,
            "neutron:port_capabilities": "",
            "neutron:port_name": "",
            "neutron:project_id": PROJECT,
            "neutron:revision_number": "4",
            "neutron:security_group_ids": "5ec94001-0000-4000-8000-000000000001",
            "neutron:subnet_pool_addr_scope4": "",
            "neutron:subnet_pool_addr_scope6": "",
            "neutron:vnic_type": "normal",
            **{key.replace("__", ":"): value for key, value in more.items()},
        },
    }


def _machine(network: int, machine: int, switch: str) -> dict[str, Any]:
    host, port = FIRST_MACHINE + machine, object_id("3ac41000", network, machine)
    made = _port(port, network, switch, "compute:nova", host, False, neutron__device_id=port)
    v6 = address(network, host, True)
    made["addresses"] = [f"{made['addresses'][0]} {v6}"]
    made["external_ids"]["neutron:cidrs"] += f" {v6}/64"
    return made


def vip_port(number: int, count: int, switch: str) -> dict[str, Any]:
    """The LSP of a load balancer's VIP port."""
    network, v6, host = number % networks(count), is_v6(number), FIRST_VIP + number // networks(count)
    owner, name, device = "ovn-lb:vip", f"ovn-lb-vip-{lb_id(number)}", f"lb-{lb_id(number)}"
    if _chosen(number, 4, 50):
        owner, name, device = "", f"web{number}", ""
    elif _chosen(number, 5, 50):
        # An old release's: without owner and device. The name says whose it is.
        owner, device = "", ""
    ids = {"neutron__port_name": name, "neutron__device_id": device}
    if (fip := floating_ip(number)) is not None:
        ids["neutron__port_fip"] = fip
    made = _port(port_id(number), network, switch, owner, host, v6, **ids)
    return {**made, "options": {}}


def hm_ports(network: int, count: int, switch: str) -> Iterator[dict[str, Any]]:
    """The LSPs of a network's health-monitor ports: of the subnets where members are monitored."""
    for v6 in sorted({is_v6(number) for number in numbers_on(count, network) if is_monitored(number)}):
        name = f"ovn-lb-hm-{subnet_id(network, v6)}"
        ids = {"neutron__port_name": name, "neutron__device_id": name}
        port, owner = object_id("43000000", network, v6), "ovn-lb-hm:distributed"
        yield {**_port(port, network, switch, owner, HM_HOST + v6, v6, **ids), "type": "localport"}


def _router_ports(network: int, switch: str) -> Iterator[dict[str, Any]]:
    for v6 in (False, True):
        port = object_id("a9900000", network, v6)
        made = _port(port, network, switch, "network:router_interface", 1, v6)
        yield {**made, "type": "router", "addresses": ["router"], "options": {"router-port": f"lrp-{port}"}}


def _nats(number: int, count: int) -> Iterator[dict[str, Any]]:
    if (fip := floating_ip(number)) is None:
        return
    network, host = number % networks(count), FIRST_VIP + number // networks(count)
    yield {
        "_uuid": f"nat:{number}",
        "type": "dnat_and_snat",
        "external_ip": fip,
        "logical_ip": address(network, host, False),
        "external_ids": {
            "neutron:fip_id": object_id("f1000000", number),
            "neutron:fip_port_id": port_id(number),
        },
    }


def more_vip_ports(count: int, first: int, last: int) -> dict[str, dict[str, Any]]:
    """The VIP ports of load balancers beyond a cloud of `count`, with the switch that gets each."""
    found = {}
    for number in range(first, last):
        switch = f"neutron-{network_id(number % networks(count))}"
        found[port_id(number)] = {"switch": switch, "port": vip_port(number, count, switch)}
    return found


def northbound_global() -> dict[str, list[dict[str, Any]]]:
    """NB_Global as Neutron and northd leave it."""
    options = {"svc_monitor_mac": "fa:16:3e:ff:ff:fe", "ignore_lsp_down": "false"}
    return {"NB_Global": [{"_uuid": "global", "options": options}]}
