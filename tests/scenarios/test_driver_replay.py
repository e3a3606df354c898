"""Every driver call of every recorded scenario, replayed through the driver class.

The database is real and holds what was committed before the call, Neutron answers over HTTP, the
nudge arrives at a socket. What the recorded provider refused must be refused with the same class and
first sentence, what it accepted must be accepted; where we differ the reason is listed.
"""

from __future__ import annotations

import json
from functools import partial

import pytest
from octavia_lib.api.drivers import exceptions

from driver_world import arguments, driver_of, nudge_socket
from ovnlb.desired.octavia import open_engine
from ovnlb.reconciler.validate import IPVersionsMixingNotSupportedError
from scenario_files import SCENARIOS, all_steps, load_scenario
from servers.neutron import serving
from servers.octavia_db import write_tables, writer

CLASSES = {
    "UnsupportedOptionError": exceptions.UnsupportedOptionError,
    "NotImplementedError": exceptions.NotImplementedError,
    "IPVersionsMixingNotSupportedError": IPVersionsMixingNotSupportedError,
    "Conflict": exceptions.Conflict,
    "DriverError": exceptions.DriverError,
}

# (scenario, step) -> the number in architecture.md section 10 and what we do instead
DIFFERENT = {
    ("refusals_direct", "driver.member_delete"): "9: deleting never refuses",
    ("refusals_direct", "driver.member_batch_update"): "9: an empty batch on an unknown pool is nothing",
}
NOT_DRIVER = ("driver.do_sync", "driver.create_vip_port")

CALLS = [s for s in all_steps() if s.call.startswith("driver.") and s.call not in NOT_DRIVER]
PORT_STEPS = [s for s in all_steps() if s.call == "driver.create_vip_port"]


def before(step):
    """Octavia's rows and Neutron's objects as the call found them."""
    if step.index:
        previous = load_scenario(step.scenario).steps[step.index - 1]
        return previous.octavia, previous.neutron
    return None, json.loads((SCENARIOS / f"{step.scenario}.json").read_text())["neutron"]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """One SQLite database for the module; every step rewrites it."""
    import sqlite3
    from importlib.resources import files

    path = tmp_path_factory.mktemp("octavia") / "octavia.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((files("ovnlb.reconciler") / "octavia_sqlite.sql").read_text())
    connection.close()
    url = f"sqlite:///{path}"
    return url, writer(url)


@pytest.fixture(scope="module")
def neutron():
    with serving() as server:
        yield server


@pytest.fixture
def bench(database, neutron, tmp_path):
    url, _ = database
    neutron.calls.clear()
    neutron.faults.clear()
    with nudge_socket(tmp_path / "n") as nudges:
        yield driver_of(neutron, partial(open_engine, url), nudges), nudges


def lb_of(step):
    """The load balancer that the call is about, None when nothing committed tells."""
    first = step.args["provider_objects"][0]
    rows, _ = before(step)
    if isinstance(first, dict) and first.get("loadbalancer_id"):
        return first["loadbalancer_id"]
    pool_id = first if isinstance(first, str) else first.get("pool_id")
    pools = {pool["id"]: pool["load_balancer_id"] for pool in (rows or {}).get("pool", ())}
    return pools.get(pool_id)


@pytest.mark.parametrize("step", CALLS, ids=lambda step: step.id)
def test_call(step, bench, database, neutron):
    driver, nudges = bench
    octavia, held = before(step)
    write_tables(database[1], octavia or {})
    neutron.load(held)
    method = step.call.removeprefix("driver.")
    args = arguments(method, step.args["provider_objects"])
    raised = step.raises
    if (step.scenario, step.call) in DIFFERENT:
        assert raised is not None, "the listed difference is no longer one"
        raised = None
    if raised is not None and raised["class"] == "AttributeError":
        assert "session_persistence" in str(step.args)
        raised = {**raised, "class": "UnsupportedOptionError", "user_fault_string": _persistence(step)}
    if raised is None:
        getattr(driver, method)(*args)
        assert nudges.received() == [lb_of(step)]
    else:
        with pytest.raises(CLASSES[raised["class"]]) as caught:
            getattr(driver, method)(*args)
        assert type(caught.value) is CLASSES[raised["class"]]
        assert caught.value.user_fault_string.startswith(raised["user_fault_string"])
        assert nudges.received() == []
    changed = [call.path for call in neutron.changes()]
    if raised is None or method != "loadbalancer_create":
        assert changed == []
    else:
        assert [p["name"] for p in neutron.dump()["ports"] if p["name"].startswith("ovn-lb-vip")] == []


def _persistence(step):
    """9: an unsupported session persistence is a 501; the recorded provider broke where it meant this."""
    held = [one.get("session_persistence") for one in step.args["provider_objects"]]
    kind = next(one["type"] for one in held if one)
    return f"OVN provider does not support {kind} session persistence. Only SOURCE_IP type is supported."


def vip_request(step):
    """What octavia-api passed: (LB id, project, VIP, additional VIPs), from what came out of it."""
    posts = [call["args"] for call in step.neutron_calls if call["method"] == "create_port"]
    if not posts:
        lb = load_scenario(step.scenario).steps[step.index + 1].args["provider_objects"][0]
        return lb["loadbalancer_id"], lb["project_id"], dict(step.result[0]), []
    first, *more = posts
    vip = {"vip_network_id": first["network_id"], "vip_subnet_id": first["fixed_ips"][0]["subnet_id"]}
    if "ip_address" in first["fixed_ips"][0]:
        vip["vip_address"] = first["fixed_ips"][0]["ip_address"]
    additional = [{"network_id": p["network_id"], "port_id": None, **p["fixed_ips"][0]} for p in more]
    return first["device_id"].removeprefix("lb-"), first["project_id"], vip, additional


@pytest.mark.parametrize("step", PORT_STEPS, ids=lambda step: step.id)
def test_create_vip_port(step, bench, neutron):
    driver, nudges = bench
    _, held = before(step)
    neutron.load(held)
    neutron.ids[:] = [c["result"]["id"] for c in step.neutron_calls if isinstance(c.get("result"), dict)]
    for number, call in enumerate(step.neutron_calls):
        if call.get("raises") == "HttpException":
            neutron.fail("POST", "ports", status=500, skip=number)
        elif call.get("raises") == "ConflictException":
            message = "IP address fd00:1::21 already allocated in subnet"
            neutron.fail("POST", "ports", status=409, message=message, skip=number)
    request = vip_request(step)
    if step.raises is None:
        vip, additional = driver.create_vip_port(*request)
        assert [vip, additional] == step.result
    else:
        with pytest.raises(CLASSES[step.raises["class"]]):
            driver.create_vip_port(*request)
        assert neutron.dump()["ports"] == held["ports"]
    ours = [(c.method, c.body or c.path) for c in neutron.changes()]
    assert ours == [_as_request(call) for call in step.neutron_calls]
    assert nudges.received() == []


def _as_request(call):
    if call["method"] == "create_port":
        return "POST", call["args"]
    return "DELETE", f"ports/{call['args']['port']}"
