"""A router with many load balancers on its networks gets interfaces on many more networks."""

from __future__ import annotations

import time
from typing import Any

from bench import clouds
from bench.daemon import Daemon, difference, state, wait
from bench.world import BenchWorld
from servers.ovsdb import NB, transact

WANTED = 500


def router_interface(world: BenchWorld, made: Daemon, switches: int = 50) -> dict[str, Any]:
    """A router on the networks of up to 500 load balancers gets so many more switches at once."""
    total = clouds.networks(world.count)
    networks = range(min(total, WANTED // clouds.PER_NETWORK))
    # The networks' IPv4 side: a load balancer without such a VIP has nothing to do there.
    numbers = [n for network in networks for n in clouds.numbers_on(world.count, network)]
    balancers = sum(not clouds.is_v6(number) for number in numbers)
    inside = [_interface(f"in-{network}", *_inside(network)) for network in networks]
    operations, ports = _named(inside)
    router = {"name": "neutron-wide", "ports": ports}
    operations.append({"op": "insert", "table": "Logical_Router", "row": router})
    transact(world.nb.unix, NB, *operations)
    wait(lambda: _attached(world, "Logical_Router", "neutron-wide") >= balancers, "the router's attachments")
    names = [f"neutron-wide-{number}" for number in range(switches)]
    outside = [
        _interface(f"out-{number}", name, f"172.16.{number}.1/24", "") for number, name in enumerate(names)
    ]
    operations, ports = _named(outside)
    operations += [{"op": "insert", "table": "Logical_Switch", "row": {"name": name}} for name in names]
    mutation = {"op": "mutate", "table": "Logical_Router", "where": [["name", "==", "neutron-wide"]]}
    operations.append({**mutation, "mutations": [["ports", "insert", ports]]})
    time.sleep(3)  # what followed the router's own attachments is over
    before, started = state(world, made), time.perf_counter()
    transact(world.nb.unix, NB, *operations)
    wait(
        lambda: all(_attached(world, "Logical_Switch", name) >= balancers for name in (names[0], names[-1])),
        "the switches' attachments",
    )
    wall = time.perf_counter() - started
    return {"load_balancers": balancers, "switches": switches, "wall": round(wall, 2)} | difference(
        world, made, before
    )


def _inside(network: int) -> tuple[str, str, str]:
    address = f"{clouds.address(network, 3, False)}/16"
    return f"neutron-{clouds.network_id(network)}", address, clouds.subnet_id(network, False)


def _interface(name: str, switch: str, address: str, subnet: str) -> dict[str, Any]:
    ids = [["neutron:network_name", switch], *([["neutron:subnet_ids", subnet]] if subnet else [])]
    row = {"name": f"lrp-wide-{name}", "mac": "fa:16:3e:01:00:00", "networks": address}
    return {**row, "external_ids": ["map", ids]}


def _named(interfaces: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Any]:
    """The insertions, and the set that refers to them."""
    operations = [
        {"op": "insert", "table": "Logical_Router_Port", "row": row, "uuid-name": f"i{number}"}
        for number, row in enumerate(interfaces)
    ]
    return operations, ["set", [["named-uuid", f"i{number}"] for number in range(len(interfaces))]]


def _attached(world: BenchWorld, table: str, name: str) -> int:
    select = {"op": "select", "table": table, "where": [["name", "==", name]], "columns": ["load_balancer"]}
    found = transact(world.nb.unix, NB, select)[0]["rows"][0]["load_balancer"]
    return len(found[1]) if found[0] == "set" else 1
