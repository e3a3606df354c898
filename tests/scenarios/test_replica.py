"""The live replica answers as a bundle of the same database does, whatever happened in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from ovnlb.observed.bundle import BundleNorthbound
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.northbound import TABLES
from ovnlb.observed.source import Endpoint, NorthboundSource
from scenario_files import all_steps
from servers.ovsdb import OvsdbServer, dump

ROOTS = ("Load_Balancer", "Logical_Switch", "Logical_Router")
_marks = count(1)


def wipe(server: OvsdbServer) -> None:
    """Delete all rows; what they alone refer to goes with them."""
    server.transact(*({"op": "delete", "table": table, "where": []} for table in ROOTS))
    server.transact({"op": "delete", "table": "HA_Chassis_Group", "where": []})


def settle(server: OvsdbServer, nb: NbReplica) -> None:
    """Wait until the replica has taken in everything that was committed before."""
    mark = next(_marks)
    server.transact(
        {"op": "delete", "table": "NB_Global", "where": []},
        {"op": "insert", "table": "NB_Global", "row": {"nb_cfg": mark}},
    )
    assert nb.wait_for(lambda: nb.cfg()[0] == mark, 10)


def answers(source: NorthboundSource, nb: dict[str, Any]) -> dict[str, Any]:
    """Every question of the protocol, asked about everything that the tables name."""

    def names(table: str) -> list[str]:
        return [row["name"] for row in nb[table]]

    switches = [*names("Logical_Switch"), "neutron-nobody"]
    ports = [*names("Logical_Switch_Port"), "no-such-port"]
    addresses = {a for name in ports if (port := source.port(name)) for a in port.addresses} | {"10.9.9.9"}
    subnets = {port.partition("ovn-lb-hm-")[2] for port in _neutron_names(nb)}
    nat = {row[side] for row in nb["NAT"] for side in ("external_ip", "logical_ip")}
    return {
        "balancers": {name: source.load_balancers(name) for name in [*names("Load_Balancer"), "nobody"]},
        "names": sorted(source.load_balancer_names()),
        "switches": {name: source.switch(name) for name in switches},
        "routers_on": {name: source.routers_on(name) for name in switches},
        "routers": {name: source.router(name) for name in [*names("Logical_Router"), "nobody"]},
        "ports": {name: source.port(name) for name in ports},
        "holders": {(s, a): source.ports_with_address(s, a) for s in switches for a in addresses},
        "hm": {subnet: source.hm_port(subnet) for subnet in subnets},
        "nat": {ip: (source.nat_entries(ip), source.nat_entries_of(ip)) for ip in nat},
        "mappings": {ip: source.mapping_sources(ip) for ip in addresses},
        "fip members": {ip: source.fip_member_uses(ip) for ip in addresses},
        "mac": source.monitor_mac(),
    }


def _neutron_names(nb: dict[str, Any]) -> set[str]:
    return {row["external_ids"].get("neutron:port_name", "") for row in nb["Logical_Switch_Port"]}


def assert_same(server: OvsdbServer, nb: NbReplica) -> dict[str, Any]:
    settle(server, nb)
    found = dump(server.unix, server.db, list(TABLES))
    for row in found["Logical_Router_Port"]:
        # Stored as sets: their order is the server's, the replica's is sorted.
        row["networks"] = sorted(row["networks"])
    expected = answers(BundleNorthbound(found), found)
    got = answers(nb, found)
    for question, answer in expected.items():
        assert got[question] == answer, question
    return expected


@pytest.fixture
def nb(nb_server: OvsdbServer) -> Iterator[NbReplica]:
    replica = connect_nb(Endpoint(nb_server.unix, timeout=10))
    yield replica
    replica.close()


def test_every_recorded_state_one_after_the_other(nb_server, nb):
    """All topologies and load balancers of the scenarios through one replica: indexes are kept up."""
    seen, last = 0, None
    for step in all_steps():
        content = step.nb()
        if content == last:
            continue
        last = content
        wipe(nb_server)
        nb_server.insert(_loadable(content))
        expected = assert_same(nb_server, nb)
        assert len(expected["switches"]) == len(content["Logical_Switch"]) + 1
        assert sum(map(len, expected["balancers"].values())) == len(content.get("Load_Balancer", []))
        seen += 1
    assert seen > 300


def _loadable(content: dict[str, Any]) -> dict[str, Any]:
    """Without references to switches, routers and NAT rows that the step no longer has."""
    for table, attached in (("Logical_Switch", "attached_switches"), ("Logical_Router", "attached_routers")):
        names = {row["name"] for row in content.get(table, [])}
        found = content.get(attached) or {}
        content = {**content, attached: {name: rows for name, rows in found.items() if name in names}}
    return content


def busy_topology(choice: random.Random) -> dict[str, list[dict[str, Any]]]:
    """Four switches with ports of all kinds, two routers, NAT, four load balancers."""
    tables: dict[str, list[dict[str, Any]]] = {"Logical_Switch": [], "Logical_Switch_Port": []}
    tables |= {"Logical_Router": [], "Logical_Router_Port": [], "NAT": [], "Load_Balancer": []}
    for number in range(4):
        ports = [f"lsp:{number}-{port}" for port in range(6)]
        for symbol in ports:
            tables["Logical_Switch_Port"].append(_port(symbol, number, choice))
        tables["Logical_Switch"].append(
            {"_uuid": f"ls:{number}", "name": f"neutron-{number}", "ports": ports}
        )
    for number in range(2):
        interfaces = [f"lrp:{number}-{port}" for port in range(3)]
        for symbol in interfaces:
            tables["Logical_Router_Port"].append(
                {"_uuid": symbol, "name": symbol, "mac": "fa:16:3e:00:00:01", "networks": ["10.0.0.1/24"]}
            )
        nat = {"_uuid": f"nat:{number}", "type": "dnat_and_snat", "external_ip": f"172.24.4.{number}"}
        tables["NAT"].append({**nat, "logical_ip": "10.0.0.10"})
        router = {"_uuid": f"lr:{number}", "name": f"neutron-r{number}", "ports": interfaces}
        tables["Logical_Router"].append({**router, "nat": [f"nat:{number}"]})
    tables["Load_Balancer"] = [{"_uuid": f"lb:{number}", "name": f"lb{number % 3}"} for number in range(4)]
    return tables


def _port(symbol: str, switch: int, choice: random.Random) -> dict[str, Any]:
    row: dict[str, Any] = {"_uuid": symbol, "name": symbol, "external_ids": {}, "options": {}}
    row["addresses"] = [f"fa:16:3e:00:00:0{switch} 10.0.0.{choice.randrange(4)} fd00::{choice.randrange(4)}"]
    kind = choice.randrange(4)
    if kind == 0:
        row |= {"type": "router", "addresses": ["router"]}
        # One peer a router port, as OVN wants it: the first ports of switch 0 to 2 lead to both routers.
        row["options"] = {"router-port": f"lrp:{symbol[-1]}-{switch}"}
    elif kind == 1:
        row["external_ids"] = {"neutron:port_name": f"ovn-lb-hm-{choice.randrange(3)}"}
    return row


def _edits(rows: dict[str, list[dict[str, Any]]], choice: random.Random) -> dict[str, Any] | None:
    """One operation on some row, as another client would do it."""

    def pick(table: str) -> dict[str, Any] | None:
        return choice.choice(rows[table]) if rows[table] else None

    def update(table: str, make: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any] | None:
        row = pick(table)
        where = [["_uuid", "==", ["uuid", row["_uuid"]]]] if row else []
        return {"op": "update", "table": table, "where": where, "row": make(row)} if row else None

    def delete(table: str) -> dict[str, Any] | None:
        row = pick(table)
        return (
            {"op": "delete", "table": table, "where": [["_uuid", "==", ["uuid", row["_uuid"]]]]}
            if row
            else None
        )

    def references(table: str) -> list[Any]:
        chosen = choice.sample(rows[table], choice.randrange(len(rows[table]) + 1))
        return ["set", [["uuid", row["_uuid"]] for row in chosen]]

    address = f"10.0.0.{choice.randrange(4)}"
    network = f"neutron-{choice.randrange(5)}"
    makers: list[Callable[[], dict[str, Any] | None]] = [
        lambda: update("Logical_Switch", lambda row: {"load_balancer": references("Load_Balancer")}),
        lambda: update("Logical_Router", lambda row: {"load_balancer": references("Load_Balancer")}),
        lambda: update(
            "Logical_Switch", lambda row: {"name": row["name"].rpartition("+")[0] or f"{row['name']}+x"}
        ),
        lambda: update("Logical_Switch", lambda row: {"ports": _fewer(row["ports"], choice)}),
        lambda: update("Logical_Router", lambda row: {"ports": _fewer(row["ports"], choice)}),
        lambda: update("Logical_Switch_Port", lambda row: {"addresses": f"fa:16:3e:00:00:01 {address}"}),
        lambda: update(
            "Logical_Switch_Port", lambda row: {"type": choice.choice(["localnet", "", "router"])}
        ),
        lambda: update("Logical_Switch_Port", lambda row: {"enabled": choice.random() < 0.5}),
        lambda: update(
            "Logical_Switch_Port",
            lambda row: {"external_ids": ["map", [["neutron:network_name", network]]]},
        ),
        lambda: update(
            "Logical_Router_Port",
            lambda row: {"external_ids": ["map", [["neutron:network_name", network]]]},
        ),
        lambda: update(
            "NAT", lambda row: {"logical_ip": address, "type": choice.choice(["snat", "dnat_and_snat"])}
        ),
        lambda: update("Load_Balancer", lambda row: {"name": f"lb{choice.randrange(3)}"}),
        lambda: delete(choice.choice(ROOTS)) if choice.random() < 0.1 else None,
    ]
    return choice.choice(makers)()


def _fewer(ports: list[str], choice: random.Random) -> list[Any]:
    return ["set", [["uuid", port] for port in ports if choice.random() < 0.9]]


@pytest.mark.parametrize("seed", range(4))
def test_random_edits(nb_server, nb, seed):
    choice, done = random.Random(seed), 0
    while done < 60:
        wipe(nb_server)
        nb_server.insert(busy_topology(choice))
        for _ in range(20):
            rows = dump(nb_server.unix, nb_server.db, list(TABLES))
            operation = _edits(rows, choice)
            if operation is None:
                continue
            nb_server.transact(operation)
            done += 1
            assert_same(nb_server, nb)


def test_restart_with_another_content(nb_server, nb):
    """Rows that went and came while the server was away."""
    choice = random.Random(7)
    nb_server.insert(busy_topology(choice))
    before = assert_same(nb_server, nb)
    told: list[str] = []
    nb.on_change(lambda event: told.append(event.event))
    nb_server.stop()
    assert nb.wait_for(lambda: not nb.connected, 5)
    assert nb.switch("neutron-1") == before["switches"]["neutron-1"]
    nb_server.file.unlink()
    nb_server.create()
    nb_server.start()
    assert nb.wait_for(lambda: nb.reconnects == 1, 20)
    assert told == ["reloaded"]
    assert nb.switch("neutron-1") is None
    assert nb.load_balancers("lb0") == ()
    assert list(nb.load_balancer_names()) == []
    nb_server.insert(busy_topology(choice))
    assert_same(nb_server, nb)
    assert nb.connected


def test_restart_with_the_same_content(nb_server, nb):
    nb_server.insert(busy_topology(random.Random(8)))
    assert_same(nb_server, nb)
    nb_server.kill()
    nb_server.start()
    assert nb.wait_for(lambda: nb.reconnects == 1, 20)
    assert_same(nb_server, nb)


def test_monitor_mac_and_cfg(nb_server, nb):
    assert (nb.monitor_mac(), nb.cfg()) == (None, (0, 0))
    options = ["map", [["svc_monitor_mac", "fa:16:3e:00:00:99"]]]
    nb_server.transact(
        {"op": "insert", "table": "NB_Global", "row": {"options": options, "nb_cfg": 5, "sb_cfg": 4}}
    )
    assert nb.wait_for(lambda: nb.monitor_mac() == "fa:16:3e:00:00:99", 5)
    assert nb.cfg() == (5, 4)


def test_uuid_in_use(nb_server, nb):
    """A row or check of another load balancer takes a UUID; the load balancer's own do not count."""
    rows = {
        "Load_Balancer_Health_Check": [{"_uuid": "check", "vip": "10.0.0.1:80"}],
        "Load_Balancer": [{"_uuid": "row", "name": "lb", "health_check": ["check"]}],
    }
    uuids = nb_server.insert(rows)
    assert nb.wait_for(lambda: nb.uuid_in_use(uuids["row"], "other"), 5)
    assert nb.uuid_in_use(uuids["check"], "other")
    assert not nb.uuid_in_use(uuids["row"], "lb")
    assert not nb.uuid_in_use(uuids["check"], "lb")
    assert not nb.uuid_in_use("00000000-0000-4000-8000-000000000000", "lb")
