"""The interpreter of plans that the property tests rest on does what a real ovsdb-server does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import strategies as world
from fakes.memory_nb import apply_in_memory
from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff import columns
from ovnlb.diff.compare import plan
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.apply import apply
from servers.ovsdb import OvsdbServer

PLANS = 200
SWITCHES = ("neutron-net1", "neutron-net2", "neutron-public", "neutron-other")
TABLES = ("Load_Balancer", "Logical_Switch", "Logical_Router")


@pytest.fixture
def replica(nb_server: OvsdbServer) -> Iterator[NbReplica]:
    """A replica of the private server."""
    nb = connect_nb(Endpoint(nb_server.unix, timeout=10))
    yield nb
    nb.close()


def load(server: OvsdbServer, nb: NbReplica, have: NbState) -> bool:
    """Make the server hold these rows, with their UUIDs, and nothing else; whether the replica has them.

    The switches are new each time, and tell the replica's new state from an equal one before.
    """
    server.transact(*({"op": "delete", "table": table, "where": []} for table in TABLES))
    made = server.insert(
        {
            "Logical_Switch": [{"_uuid": f"ls:{name}", "name": name} for name in SWITCHES],
            "Logical_Router": [{"_uuid": "lr", "name": "neutron-router"}],
            "Load_Balancer_Health_Check": [
                {"_uuid": check.uuid, **columns.check(check)}
                for row in have.rows
                for check in row.health_checks
            ],
            "Load_Balancer": [
                {
                    "_uuid": row.uuid,
                    **columns.own(row),
                    "health_check": [check.uuid for check in row.health_checks],
                }
                for row in have.rows
            ],
            "attached_switches": _references(have, "switches"),
            "attached_routers": _references(have, "routers"),
        }
    )
    switches = {UUID(made[f"ls:{name}"]) for name in SWITCHES}
    found, lb_id = plain(have.rows), have.rows[0].name if have.rows else ""
    return nb.wait_for(
        lambda: (
            switches == set(nb.table("Logical_Switch").rows)
            and set(nb.table("Logical_Router").rows) == {UUID(made["lr"])}
            and plain(nb.load_balancers(lb_id)) == found
        ),
        5,
    )


def _references(have: NbState, side: str) -> dict[str, list[Any]]:
    names = sorted({name for row in have.rows for name in getattr(row, side)})
    return {name: [row.uuid for row in have.rows if name in getattr(row, side)] for name in names}


def plain(rows: tuple[LoadBalancerRow, ...]) -> dict[str, LoadBalancerRow]:
    """Rows by UUID, in one form: no mapping type of a source, checks by their UUID."""
    return {
        row.uuid or "": replace(
            row,
            **{
                name: dict(getattr(row, name))
                for name in ("external_ids", "vips", "options", "ip_port_mappings")
            },
            health_checks=tuple(
                replace(check, options=dict(check.options), external_ids=dict(check.external_ids))
                for check in sorted(row.health_checks, key=lambda check: check.uuid or "")
            ),
        )
        for row in rows
    }


def test_memory_and_server_agree_on_generated_plans(nb_server: OvsdbServer, replica: NbReplica) -> None:
    """The same plan leaves the same rows in both, in one transaction, and no check without a row."""
    agreed = 0
    hashes = replica.ipv6_hash()

    @settings(
        max_examples=PLANS,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(world.cases(hashes), world.cases(hashes), st.booleans(), st.data())
    def agree(case: world.Case, other: world.Case, moved: bool, data: st.DataObject) -> None:
        nonlocal agreed
        start = _renamed(other.want, case.lb.id) if moved else case.want
        have = data.draw(world.damaged_states(start))
        made = plan(case.want, have, lb_id=case.lb.id, pending=case.pending)
        assume(made.changes)
        assert load(nb_server, replica, have)
        assert apply(replica, made).transactions == 1
        expected = plain(apply_in_memory(have, made).rows)
        assert plain(replica.load_balancers(case.lb.id)) == expected
        on_server = nb_server.dump("Load_Balancer", "Load_Balancer_Health_Check")
        assert {row["_uuid"] for row in on_server["Load_Balancer"]} == expected.keys()
        assert {row["_uuid"] for row in on_server["Load_Balancer_Health_Check"]} == {
            check.uuid for row in expected.values() for check in row.health_checks
        }
        agreed += 1

    agree()
    assert agreed >= PLANS


def _renamed(state: NbState, name: str) -> NbState:
    return NbState(tuple(replace(row, name=name) for row in state.rows))
