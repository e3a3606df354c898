"""Every recorded step on a real ovsdb-server: what the original left is taken over in one transaction.

The Northbound holds what the original's step found; the graph is read from a real database. After one
round the rows are exactly the desired ones, and a second round plans and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest

from ovnlb.desired.facts import Health
from ovnlb.desired.octavia import load_all, load_many, open_engine
from ovnlb.desired.rows import AFFINITY_TIMEOUT, LoadBalancerRow, NbState
from ovnlb.diff.compare import in_sync
from ovnlb.observed.bundle import BundleNeutron
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.nb import observe
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.demo.inputs import make_database
from ovnlb.reconciler.rounds import SETTLED, Means, Result, play
from ovnlb.reconciler.walk import World, walk
from ovnlb.reconciler.writing import write_batch
from scenario_files import Step, load_scenario, scenario_names
from servers.mariadb import MariaDb
from servers.octavia_db import write_tables, writer
from servers.ovsdb import OvsdbServer, insert_rows

CLEARED = ("Load_Balancer", "Logical_Switch", "Logical_Router", "NB_Global")
LOADED = ("Logical_Switch_Port", "Logical_Switch", "Logical_Router_Port", "Logical_Router", "NAT")
_markers = count(1)
# Columns of the recordings that Neutron owns and that the installed schema may lack.
NOT_LOADED = {"ha_chassis_group", "gateway_chassis", "gateway_port"}


@pytest.fixture
def replica(nb_server: OvsdbServer) -> Iterator[NbReplica]:
    """A replica of the private server."""
    nb = connect_nb(Endpoint(nb_server.unix, timeout=10))
    yield nb
    nb.close()


@pytest.fixture(scope="module", params=["mariadb", "sqlite"])
def shared_url(
    request: pytest.FixtureRequest, mariadb: MariaDb, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """One Octavia database for all steps: `write_tables` replaces its content."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("octavia") / "octavia.sqlite"
        make_database(path)
        yield f"sqlite:///{path}"
    else:
        name = mariadb.create_octavia()
        yield mariadb.url(name)
        mariadb.drop(name)


def load_northbound(server: OvsdbServer, nb: NbReplica, state: dict[str, Any]) -> None:
    """Make the server hold this state only, and the replica have it."""
    server.transact(*({"op": "delete", "table": table, "where": []} for table in CLEARED))
    tables = {
        name: [without_gateways(row) for row in rows] if isinstance(rows, list) else rows
        for name, rows in state.items()
    }
    marker = next(_markers)
    insert_rows(
        server.unix, "OVN_Northbound", {"NB_Global": [{"_uuid": "global", "nb_cfg": marker}], **tables}
    )
    assert nb.wait_for(lambda: nb.cfg()[0] == marker, 10)


def northbound_before(step: Step) -> dict[str, Any]:
    """The state that the step found; NAT rows of a topology that came with the step, too."""
    state = step.nb("nb_before")
    nat = {row["_uuid"]: row for row in step.topology.get("NAT", [])}
    nat.update((row["_uuid"], row) for row in state.get("NAT", []) if row["_uuid"] in nat)
    return {**state, "NAT": list(nat.values())}


def without_gateways(row: dict[str, Any]) -> dict[str, Any]:
    """A gateway by its chassis group is one by `neutron:is_ext_gw` in every recording, too."""
    return {key: value for key, value in row.items() if key not in NOT_LOADED}


@pytest.mark.parametrize("scenario", scenario_names())
def test_step_is_taken_over(
    scenario: str, nb_server: OvsdbServer, replica: NbReplica, shared_url: str
) -> None:
    """One round makes the rows right whatever the original had left; the second one sends nothing."""
    tables, engine = writer(shared_url), open_engine(shared_url)
    for step in load_scenario(scenario).steps:
        if step.octavia is not None:
            write_tables(tables, step.octavia)
            load_northbound(nb_server, replica, northbound_before(step))
            taken_over(step, replica, engine)
    engine.dispose()
    tables.dispose()


def taken_over(step: Step, nb: NbReplica, engine: Any) -> None:
    """Play the step's load balancers once, then once more."""
    sent: list[int] = []

    def write(plans: Any) -> Any:
        outcome = write_batch(nb, plans)
        sent.append(outcome.transactions)
        return outcome

    world = World(nb, BundleNeutron(step.neutron), Health)
    means = Means(world, partial(load_many, engine), write)
    graph = load_all(engine, ("ovn",))
    uuids = living_uuids(nb)
    ids = [lb.id for lb in graph.load_balancers]
    first = play(ids, means)
    assert {done.result for done in first} <= {*SETTLED, Result.WAITING}, [done.error for done in first]
    assert sum(sent) <= 1
    for done in first:
        assert done.walked is not None
        if done.result is not Result.WAITING:
            exact(done.walked.desired.state, observe(nb, done.lb_id))
    assert living_uuids(nb) >= {item for item in uuids if item[:2] in protocols(first)}
    sent.clear()
    second = play(ids, means)
    assert all(done.result in (Result.NOOP, Result.WAITING) or not done.plans for done in second)
    assert sum(sent) == 0
    for lb in graph.load_balancers:
        assert walk(lb, world).plan.changes == () or waits(first, lb.id)


def waits(outcomes: Any, lb_id: str) -> bool:
    """Whether this load balancer waits for a health-monitor port."""
    return any(done.lb_id == lb_id and done.result is Result.WAITING for done in outcomes)


def living_uuids(nb: NbReplica) -> set[tuple[str, str, str]]:
    """(name, protocol, uuid) of every row that no other row of its name and protocol doubles."""
    rows = [row for name in nb.load_balancer_names() for row in nb.load_balancers(name)]
    keys = [(row.name, row.protocol or "") for row in rows]
    return {(*key, row.uuid or "") for key, row in zip(keys, rows, strict=True) if keys.count(key) == 1}


def protocols(outcomes: Any) -> set[tuple[str, str]]:
    """(LB id, protocol) of the rows that are wanted."""
    return {
        (done.lb_id, row.protocol or "")
        for done in outcomes
        if done.walked is not None
        for row in done.walked.desired.state.rows
    }


def exact(want: NbState, have: NbState) -> None:
    """The rows are the desired ones: nothing is missing, nothing of ours is too much."""
    assert in_sync(want, have), (want, have)
    assert sorted(map(shape, have.rows)) == sorted(map(shape, want.rows))


def shape(row: LoadBalancerRow) -> Any:
    """What must be equal to the letter, order of lists aside."""
    return (
        row.protocol or "",
        sorted(row.vips),
        sorted(row.switches),
        sorted(row.routers),
        sorted(row.selection_fields),
        row.options.get(AFFINITY_TIMEOUT),
        sorted(row.ip_port_mappings.items()),
        sorted(check.vip for check in row.health_checks),
    )
