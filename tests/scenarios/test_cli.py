"""The command line on real parts: an Octavia database, a private ovsdb-server, Neutron over HTTP."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ovnlb.observed.idl import connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.cli import main
from scenario_files import load_scenario
from servers.neutron import FakeNeutron
from servers.octavia_db import write_tables, writer
from servers.ovsdb import OvsdbServer, insert_rows
from servers.status_agent import StatusAgent, status_agent

LB = "1b000000-0000-4000-8000-000000000001"
GONE_COLUMNS = {"ha_chassis_group", "gateway_chassis"}

Ran = tuple[int, str, str]


@dataclass(frozen=True)
class Cloud:
    """The configuration file and the servers behind it."""

    config: Path
    nb: OvsdbServer
    database: str
    run: Callable[..., Ran]
    agent: StatusAgent


@pytest.fixture
def cloud(
    tmp_path: Path,
    nb_server: OvsdbServer,
    sb_server: OvsdbServer,
    fake_neutron: FakeNeutron,
    octavia_url: str,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Cloud]:
    """The cloud of a recorded scenario after its members were added, before any row is right."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    engine = writer(octavia_url)
    write_tables(engine, step.octavia)
    engine.dispose()
    fake_neutron.load(step.neutron)
    load_topology(nb_server, step.topology)
    with status_agent(octavia_url) as agent:
        options = configuration(nb_server, sb_server, fake_neutron, octavia_url, agent)
        config = tmp_path / "octavia.conf"
        config.write_text(options)

        def run(*arguments: str) -> Ran:
            code = main([arguments[0], "--config-file", str(config), *arguments[1:]])
            out, err = capsys.readouterr()
            return code, out, err

        yield Cloud(config, nb_server, octavia_url, run, agent)


def load_topology(server: OvsdbServer, topology: Any) -> None:
    """Neutron's rows of a recorded scenario."""
    tables = {
        name: [{key: value for key, value in row.items() if key not in GONE_COLUMNS} for row in rows]
        for name, rows in topology.items()
    }
    insert_rows(server.unix, "OVN_Northbound", {"NB_Global": [{"_uuid": "global"}], **tables})


def configuration(
    nb: OvsdbServer, sb: OvsdbServer, neutron: FakeNeutron, url: str, agent: StatusAgent
) -> str:
    """An octavia.conf for these servers."""
    sockets = "".join(f"{name}_socket_path = {agent.path(name)}\n" for name in ("status", "stats", "get"))
    return (
        f"[database]\nconnection = {url}\n"
        f"[ovn]\novn_nb_connection = {nb.unix}\novn_sb_connection = {sb.unix}\n"
        "ovsdb_connection_timeout = 5\n"
        f"[neutron]\nauth_type = none\nendpoint_override = {neutron.url}\n"
        f"[driver_agent]\n{sockets}"
    )


def rows(cloud: Cloud) -> list[dict[str, Any]]:
    """The Load_Balancer rows of the server."""
    return sorted(
        cloud.nb.transact({"op": "select", "table": "Load_Balancer", "where": []})[0]["rows"],
        key=lambda row: row["name"],
    )


def test_plan_apply_plan(cloud: Cloud) -> None:
    """A plan differs, apply writes, the next plan is in sync, and another apply writes nothing."""
    code, out, _ = cloud.run("plan", "--format", "json")
    planned = json.loads(out)
    assert code == 2
    assert planned["format_version"] == "1.0"
    assert {change["reason"] for part in planned["load_balancers"] for change in part["changes"]}
    assert rows(cloud) == []
    code, out, err = cloud.run("apply", "--format", "json")
    assert code == 0, (out, err)
    assert [row["name"] for row in rows(cloud)] == [part["id"] for part in planned["load_balancers"]]
    before = rows(cloud)
    assert cloud.run("plan")[0] == 0
    code, out, _ = cloud.run("apply")
    assert code == 0
    assert "Nothing had to be written." in out
    assert rows(cloud) == before


def test_scope_leaves_the_others_alone(cloud: Cloud) -> None:
    """`--lb` and `--project` limit what is planned and written."""
    assert cloud.run("apply", "--lb", LB)[0] == 0
    assert [row["name"] for row in rows(cloud)] == [LB]
    assert cloud.run("plan", "--lb", LB)[0] == 0
    assert cloud.run("plan")[0] == 2
    code, out, _ = cloud.run("plan", "--project", str(uuid.uuid4()), "--format", "json")
    assert (code, json.loads(out)["load_balancers"]) == (0, [])


def test_unknown_id_is_named(cloud: Cloud) -> None:
    """An id that does not exist ends in a message that names it, and nothing is written."""
    for command in ("plan", "apply"):
        code, _, err = cloud.run(command, "--lb", "no-such-id")
        assert code == 1
        assert "no-such-id" in err
    assert rows(cloud) == []


def test_held_lock_stops_apply(cloud: Cloud) -> None:
    """While another process holds the lock `apply` writes nothing and says why; `plan` still works."""
    holder = connect_nb(Endpoint(cloud.nb.unix, timeout=5), lock=True)
    try:
        assert holder.wait_for(lambda: holder.has_lock, 5)
        code, _, err = cloud.run("apply")
        assert code == 1
        assert "lock" in err
        assert cloud.run("plan")[0] == 2
        assert rows(cloud) == []
    finally:
        holder.close()


def test_show_tells_graph_rows_and_differences(cloud: Cloud) -> None:
    """`show` has the graph, the desired and found rows, and the differences; afterwards none."""
    code, out, _ = cloud.run("show", LB)
    assert code == 2
    assert "Differences:" in out
    assert f"Load balancer {LB}" in out
    cloud.run("apply")
    code, out, _ = cloud.run("show", LB, "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert document["graph"]["id"] == LB
    assert document["found"]["Load_Balancer"][0]["name"] == LB
    assert document["load_balancers"][0]["changes"] == []


def test_snapshot_gives_the_same_plan_offline(cloud: Cloud, tmp_path: Path) -> None:
    """A plan made from the bundle, without any server, is the plan made live."""
    cloud.run("apply", "--lb", LB)
    bundle = tmp_path / "bundle.json"
    assert cloud.run("snapshot", "--out", str(bundle))[0] == 0
    live = json.loads(cloud.run("plan", "--with", "desired", "--format", "json")[1])
    offline = cloud.run("plan", "--from", str(bundle), "--with", "desired", "--format", "json")
    assert json.loads(offline[1]) == live
    assert offline[0] == 2
    one = tmp_path / "one.json"
    assert cloud.run("snapshot", "--lb", LB, "--out", str(one))[0] == 0
    assert cloud.run("plan", "--from", str(one))[0] == 0


def test_snapshot_of_one_load_balancer_knows_who_shares_its_ports(cloud: Cloud, tmp_path: Path) -> None:
    """Its health monitor goes, another load balancer's still probes from the same port: the port stays."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    subnet, member = step.octavia["member"][0]["subnet_id"], step.octavia["member"][0]["ip_address"]
    monitors = [
        {"id": str(uuid.uuid4()), "pool_id": pool["id"], "type": "TCP", "provisioning_status": status}
        for pool, status in zip(step.octavia["pool"], ("PENDING_DELETE", "ACTIVE"), strict=True)
    ]
    write_tables(writer(cloud.database), {**step.octavia, "health_monitor": monitors})
    vm = next(row for row in step.topology["Logical_Switch_Port"] if member in str(row["addresses"]))
    ids = {
        "neutron:port_name": f"ovn-lb-hm-{subnet}",
        "neutron:device_owner": "ovn-lb-hm:distributed",
        "neutron:device_id": f"ovn-lb-hm-{subnet}",
    }
    port = {"name": str(uuid.uuid4()), "type": "localport", "addresses": "fa:16:3e:aa:00:09 10.0.0.9"}
    balancer = {
        "name": step.octavia["load_balancer"][1]["id"],
        "ip_port_mappings": ["map", [[member, f"{vm['name']}:10.0.0.9"]]],
    }
    cloud.nb.transact(
        {
            "op": "insert",
            "table": "Logical_Switch_Port",
            "row": {**port, "external_ids": ["map", list(map(list, ids.items()))]},
            "uuid-name": "hm",
        },
        {
            "op": "mutate",
            "table": "Logical_Switch",
            "where": [["name", "==", step.topology["Logical_Switch"][0]["name"]]],
            "mutations": [["ports", "insert", ["named-uuid", "hm"]]],
        },
        {"op": "insert", "table": "Load_Balancer", "row": balancer},
    )
    live = cloud.run("plan", "--lb", LB, "--format", "json")[1]
    bundle = str(tmp_path / "one.json")
    assert cloud.run("snapshot", "--lb", LB, "--out", bundle)[0] == 0
    offline = cloud.run("plan", "--from", bundle, "--format", "json")[1]
    effects = [effect["kind"] for part in json.loads(live)["load_balancers"] for effect in part["effects"]]
    assert "delete_hm_port" not in effects
    assert json.loads(offline)["load_balancers"] == json.loads(live)["load_balancers"]


def test_statuses_in_sending_order(cloud: Cloud) -> None:
    """`plan --with statuses` lists the messages that octavia-lib would take, the LB's record last."""
    document = json.loads(cloud.run("plan", "--with", "statuses", "--format", "json")[1])
    sent = document["statuses"]
    assert sent
    assert list(sent[-1])[-1] == "loadbalancers"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("[ovn]\novn_nb_connection = tcp:127.0.0.1", "ovn_nb_connection"),
        ("[ovn]\novn_nb_connection = unix:/nonexistent/nb.sock", "/nonexistent/nb.sock"),
        ("[ovn]\novn_nb_ca_cert = /nonexistent/ca.pem\novn_nb_connection = ssl:127.0.0.1:1", "ca"),
        ("[database]\nconnection = mysql://nobody@127.0.0.1:1/octavia", "127.0.0.1"),
        ("[database]\nconnection = postgresql://host/octavia", "connection"),
        ("[neutron]\nauth_type = none\nendpoint_override = http://127.0.0.1:1", "Neutron"),
    ],
    ids=["nb-malformed", "nb-missing", "tls-missing", "db-down", "db-unknown", "neutron-down"],
)
def test_bad_configuration_is_named(cloud: Cloud, line: str, names: str, tmp_path: Path) -> None:
    """A wrong option or a lost server: exit 1, a message that names it, nothing written."""
    extra = tmp_path / "extra.conf"
    extra.write_text(line + "\n")
    for command in ("plan", "apply"):
        code, out, err = cloud.run(command, "--config-file", str(extra))
        assert (code, out) == (1, "")
        assert names in err
        assert "Traceback" not in err
    assert rows(cloud) == []


def test_apply_reports_the_verdicts(cloud: Cloud) -> None:
    """What was PENDING is ACTIVE afterwards; without a driver-agent the rows are written, exit 1."""
    cloud.agent.stop()
    for name in ("status", "stats", "get"):
        cloud.agent.path(name).unlink(missing_ok=True)
    code, out, err = cloud.run("apply")
    assert code == 1
    assert "not reported to Octavia" in out
    assert "driver-agent" in err
    assert len(rows(cloud)) == 2
    assert "PENDING_UPDATE" in statuses(cloud)
    cloud.agent.start()
    assert cloud.run("apply")[0] == 0
    assert statuses(cloud) == {"ACTIVE"}


def statuses(cloud: Cloud) -> set[str]:
    """The provisioning statuses of all load balancers and their children."""
    engine = sa.create_engine(cloud.database)
    with engine.connect() as connection:
        found = {
            status
            for table in ("load_balancer", "listener", "pool", "member")
            for (status,) in connection.execute(sa.text(f"SELECT provisioning_status FROM {table}"))
        }
    engine.dispose()
    return found


def test_one_broken_lb_does_not_stop_the_others(cloud: Cloud) -> None:
    """An LB without a VIP row is listed as an error, the other one is written, the exit code says so."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    engine = writer(cloud.database)
    vips = [row for row in step.octavia["vip"] if row["load_balancer_id"] != LB]
    write_tables(engine, {**step.octavia, "vip": vips})
    engine.dispose()
    code, out, _ = cloud.run("apply", "--format", "json")
    assert code == 1
    assert [row["name"] for row in rows(cloud)] == [vips[0]["load_balancer_id"]]
    assert LB in out
    code, out, _ = cloud.run("plan", "--format", "json")
    assert (code, [item["id"] for item in json.loads(out)["errors"]]) == (1, [LB])


def test_broken_lb_of_another_provider_is_not_ours(cloud: Cloud) -> None:
    """Named by --lb it is unknown, as it is when its rows can be read."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    vips = [row for row in step.octavia["vip"] if row["load_balancer_id"] != LB]
    balancers = [
        {**row, "provider": "amphora" if row["id"] == LB else row["provider"]}
        for row in step.octavia["load_balancer"]
    ]
    write_tables(writer(cloud.database), {**step.octavia, "vip": vips, "load_balancer": balancers})
    code, out, err = cloud.run("plan", "--lb", LB)
    assert (code, out) == (1, "")
    assert f"load balancer {LB}: not in the Octavia database, or of another provider" in err


def test_snapshot_records_whether_weight_0_drains(cloud: Cloud, tmp_path: Path) -> None:
    """The plan from a bundle is the one of the configuration that the bundle was made under."""
    step = load_scenario("two_lbs_same_network").steps[9]
    assert step.octavia is not None
    members = [{**row, "weight": 0} for row in step.octavia["member"]]
    write_tables(writer(cloud.database), {**step.octavia, "member": members})
    drained = json.loads(cloud.run("plan", "--with", "desired", "--format", "json")[1])
    with cloud.config.open("a") as config:
        config.write("[ovnlb]\ndrain_on_zero_weight = false\n")
    bundle = str(tmp_path / "bundle.json")
    cloud.run("snapshot", "--out", bundle)
    live = json.loads(cloud.run("plan", "--with", "desired", "--format", "json")[1])
    assert live != drained
    assert json.loads(cloud.run("plan", "--from", bundle, "--with", "desired", "--format", "json")[1]) == live
