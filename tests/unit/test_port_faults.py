"""Neutron failing at every call of every effect: nothing is lost, nothing foreign is touched.

A walk with all kinds of effects is recorded once; then each of its calls fails in each way, once, and
rounds go on until everything is as it would have been without the fault.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from clocks import Clock
from graphs import LB, VIP_PORT, balancer, listener, member, monitor, pool
from ovnlb.desired.model import LoadBalancer
from ovnlb.observed.bundle import BundleNorthbound
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.ports import Ports
from ovnlb.reconciler.rounds import SETTLED, Result
from port_world import PortWorld, client_of
from servers.neutron import FakeNeutron, serving
from small_cloud import FIP, HM_NAME, MEMBER_FIP, hm_port, nat, port, small_cloud, vip_port

ROUNDS = 4
PATIENCE, HANG = 0.3, 0.5  # of the client and of the server, seconds
FAULTS: dict[str, dict[str, Any]] = {
    "500": {"status": 500},
    "503": {"status": 503},
    "409": {"status": 409},
    "403": {"status": 403},
    "429": {"status": 429},
    "lost-answer": {"lost": True},
    "timeout": {"hang": HANG, "lost": True},
}
FOREIGN = {"port-1", "port-2", "metadata", "users-hm", "other-vip"}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeNeutron]:
    with serving() as found:
        yield found


def graph(**more: Any) -> LoadBalancer:
    return balancer([listener()], [pool([member(1), member(2)], monitor())], **more)


def world_for(server: FakeNeutron, hm: dict[str, Any] | None = None) -> PortWorld:
    """A load balancer with everything, next to ports that are none of ours."""
    server.faults.clear()
    nats = (nat(FIP, VIP_PORT, "10.0.0.10"), nat(MEMBER_FIP, "port-1", "10.0.0.21", "fa:16:3e:02:02:02"))
    foreign = (
        port("metadata", "10.0.0.4", device_owner="network:distributed", device_id="ovnmeta-net-1"),
        port("users-hm", "10.0.0.5", name=HM_NAME),
        port("other-vip", "10.0.0.6", name="ovn-lb-vip-lb-9", device_owner="ovn-lb:vip", device_id="lb-9"),
    )
    marked = vip_port(device_id="")
    world = small_cloud(server, *foreign, *([hm] if hm else []), vip=marked, nats=nats, vip_fip=FIP)
    world.ports = Ports(client_of(server, timeout=PATIENCE, attempts=1), world.nb, world.memory, world._pause)
    return world


PHASES = {
    "create": (lambda server: world_for(server), graph()),
    "repair": (
        lambda server: world_for(server, hm_port(device_owner="network:distributed", device_id="")),
        graph(),
    ),
    "delete": (lambda server: ready(server), graph(provisioning_status="PENDING_DELETE")),
}


def ready(server: FakeNeutron) -> PortWorld:
    """After a first round without faults."""
    world = world_for(server)
    world.balancers = (graph(),)
    assert world.play()[LB].result in SETTLED
    server.calls.clear()
    return world


def run(world: PortWorld, lb: LoadBalancer) -> list[Any]:
    """Rounds until Octavia could be told, at most four; their outcomes."""
    world.balancers = (lb,)
    outcomes = []
    for _ in range(ROUNDS):
        outcomes.append(world.play()[LB])
        if outcomes[-1].result in SETTLED:
            break
    return outcomes


def state_of(world: PortWorld) -> dict[str, Any]:
    """What must be the same with and without the fault."""
    ports = world.server.dump()["ports"]
    hm = [one for one in ports if one["name"] == HM_NAME and one["device_owner"] != "compute:nova"]
    addresses = {one["fixed_ips"][0]["ip_address"] for one in hm}
    rows = world.states[LB].rows
    return {
        "foreign": {one["id"]: one for one in ports if one["id"] in FOREIGN},
        "monitor ports": len(hm),
        "vip": VIP_PORT in {one["id"] for one in ports},
        "sources": {v.partition(":")[2] for row in rows for v in row.ip_port_mappings.values()} <= addresses,
        "rows": len(rows),
        "mapped": sum(len(row.ip_port_mappings) for row in rows),
    }


def calls_of(phase: str) -> list[tuple[str, str]]:
    """The calls of a phase without faults, counted with a server of its own."""
    make, lb = PHASES[phase]
    with serving() as server:
        world = make(server)
        server.calls.clear()
        assert run(world, lb)[-1].result in SETTLED
        return [(call.method, call.path) for call in server.calls]


CALLS = {phase: calls_of(phase) for phase in PHASES}


def cases() -> Iterator[Any]:
    for phase, calls in CALLS.items():
        for number, (method, path) in enumerate(calls):
            for fault in FAULTS:
                yield pytest.param(
                    phase, number, fault, id=f"{phase}-{number}-{method}-{path.split('/')[0]}-{fault}"
                )


def test_the_phases_make_all_kinds_of_calls():
    """Otherwise the cases below would prove little."""
    made = {(method, path.partition("/")[0]) for calls in CALLS.values() for method, path in calls}
    assert made >= {
        ("GET", "ports"),
        ("POST", "ports"),
        ("PUT", "ports"),
        ("DELETE", "ports"),
        ("GET", "floatingips"),
        ("PUT", "floatingips"),
    }


@pytest.mark.parametrize(("phase", "number", "fault"), list(cases()))
def test_one_failing_call(server: FakeNeutron, phase: str, number: int, fault: str) -> None:
    """Whichever call fails, and however: the end is the same, and before it nothing is reported."""
    make, lb = PHASES[phase]
    expected_world = make(server)
    run(expected_world, lb)
    expected = state_of(expected_world)
    world = make(server)
    server.calls.clear()
    method, _path = CALLS[phase][number]
    skip = sum(one[0] == method for one in CALLS[phase][:number])
    server.fail(method, "", skip=skip, **FAULTS[fault])
    outcomes = run(world, lb)
    assert server.faults == []
    if fault == "timeout":
        time.sleep(HANG)  # what the server did not answer in time it still does
    assert all(one.update is None for one in outcomes if one.result not in SETTLED)
    if outcomes[-1].result not in SETTLED:
        # Refused for good: told as such, and the next pass tries again.
        assert fault == "403"
        assert {one.result for one in outcomes} == {Result.TERMINAL}
    got = state_of(world)
    if fault == "403" and phase == "delete":
        # Policy may keep a health-monitor port from going: an orphan then, never a locked LB.
        got["monitor ports"] = expected["monitor ports"]
    assert got == expected
    removed = {call.path.partition("/")[2] for call in server.calls if call.method == "DELETE"}
    assert not removed & FOREIGN
    touched = {call.path.partition("/")[2] for call in server.calls if call.method == "PUT"}
    assert not touched & FOREIGN


@pytest.mark.parametrize("fault", ["500", "timeout", "403"])
def test_neutron_away_for_all_calls(server: FakeNeutron, fault: str) -> None:
    """The load balancer waits, nothing is written that needs Neutron, and all comes right after it."""
    world = world_for(server)
    for method in ("GET", "POST", "PUT", "DELETE"):
        server.fail(
            method,
            "",
            times=10**6,
            **{**FAULTS[fault], **({"hang": 0.0, "lost": True} if fault == "timeout" else {})},
        )
    world.balancers = (graph(provisioning_status="PENDING_UPDATE"),)
    done = world.play()[LB]
    assert done.result is (Result.TERMINAL if fault == "403" else Result.TRANSIENT)
    assert (done.update, world.states.get(LB)) == (None, None)
    server.faults.clear()
    done = world.play()[LB]
    assert done.result in SETTLED
    assert done.update is not None
    assert state_of(world)["mapped"] == 2


def test_a_restart_between_commit_and_effects_loses_nothing(server: FakeNeutron) -> None:
    """The rows are gone, the process too: the next one still refreshes and deletes."""
    world = ready(server)
    gone = graph(provisioning_status="PENDING_DELETE")
    world.balancers = (gone,)
    world.write([world.walk(LB).plan])
    world.memory = PortMemory(world.nb, clock=lambda: world.clock)
    world.ports = Ports(client_of(server), world.nb, world.memory, world._pause)
    assert run(world, gone)[-1].result in SETTLED
    kinds = [(call.method, call.path.partition("/")[0]) for call in world.calls()]
    assert kinds == [("PUT", "floatingips"), ("DELETE", "ports"), ("DELETE", "ports")]
    assert replace(gone).vip.port_id not in {one["id"] for one in server.dump()["ports"]}


def test_what_was_learnt_of_a_subnet_that_nobody_walks_expires() -> None:
    clock = Clock()
    memory = PortMemory(BundleNorthbound(None), clock=clock)
    memory.learn("subnet-1", "port-1", "10.0.0.2")
    clock.now += 61
    memory.unlearn("subnet-2", "port-2")
    assert set(memory._learnt) == {"subnet-2"}
