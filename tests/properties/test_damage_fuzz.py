"""Random damage to a right database of 200 load balancers: one pass repairs it, the second is empty.

Seeds on values: OVNLB_FUZZ_SEEDS (100 unless said). Some of them on a real ovsdb-server:
OVNLB_FUZZ_SERVER_SEEDS (100 unless said), all on one server, one after the other.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import pytest

from damage import DAMAGE
from fakes.memory_nb import apply_in_memory
from many_balancers import (
    ROUTER,
    SWITCHES,
    MemoryNorthbound,
    damage,
    shows,
    uuids_to_keep,
    wanted,
    written,
)
from ovnlb.desired.rows import LoadBalancerRow, NbState
from ovnlb.diff import canon, columns
from ovnlb.diff.compare import in_sync, plan
from ovnlb.diff.plan import Plan
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.nb import observe
from ovnlb.observed.source import Endpoint
from ovnlb.reconciler.writing import write_batch
from servers.ovsdb import OvsdbServer

COUNT = 200
SEEDS = int(os.environ.get("OVNLB_FUZZ_SEEDS", "100"))
SERVER_SEEDS = int(os.environ.get("OVNLB_FUZZ_SERVER_SEEDS", "100"))
SHARE = 0.10
WANT = wanted(COUNT)
RIGHT = written(WANT)


def planned(lb_id: str, have: NbState, nb: Any) -> Plan:
    """The plan that repairs one load balancer of which nothing is pending."""
    return plan(WANT[lb_id], have, lb_id=lb_id, pending={}, in_use=lambda uuid: nb.uuid_in_use(uuid, lb_id))


def test_the_right_database_is_right() -> None:
    """200 load balancers of all shapes, nothing to do, before any damage."""
    northbound = MemoryNorthbound(RIGHT)
    assert len(WANT) == COUNT
    protocols = Counter(row.protocol for state in WANT.values() for row in state.rows)
    assert min(protocols[name] for name in ("tcp", "udp", "sctp")) > 20
    assert sum(len(row.health_checks) for state in WANT.values() for row in state.rows) > 100
    for lb_id in WANT:
        assert planned(lb_id, northbound.observe(lb_id), northbound).changes == ()


def test_damage_on_values_is_repaired_in_one_pass() -> None:
    """Every seed converges, no uuid of a living row changes, every kind of damage was really there."""
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        found = damage(WANT, RIGHT, seed)
        states = {**RIGHT, **found.states}
        northbound = MemoryNorthbound(states, found.foreign)
        repaired = {}
        for lb_id in WANT:
            have = northbound.observe(lb_id)
            made = planned(lb_id, have, northbound)
            if lb_id in found.kinds:
                seen.update(_there(found.kinds[lb_id], made, have, RIGHT[lb_id]))
            else:
                assert made.changes == (), (seed, lb_id)
            repaired[lb_id] = apply_in_memory(have, made)
            exact(WANT[lb_id], repaired[lb_id], (seed, lb_id, found.kinds.get(lb_id)))
        after = MemoryNorthbound(repaired, found.foreign)
        for lb_id in found.kinds:
            again = planned(lb_id, after.observe(lb_id), after)
            assert again.changes == (), (seed, lb_id, found.kinds[lb_id])
        kept(states, repaired, seed)
    often_enough(seen, SEEDS)


def _there(kinds: tuple[str, ...], made: Plan, have: NbState, right: NbState) -> set[str]:
    """The kinds that are certain to have been there: alone, and seen by the plan."""
    return set(kinds) if len(set(kinds)) == 1 and shows(kinds, made, have, right) else set()


def often_enough(seen: Mapping[str, int], seeds: int) -> None:
    """Each kind of damage in at least a tenth of the seeds."""
    rare = {kind: seen.get(kind, 0) for kind in DAMAGE if seen.get(kind, 0) < SHARE * seeds}
    assert not rare, f"of {seeds} seeds: {rare}"


def exact(want: NbState, have: NbState, where: object) -> None:
    """The rows say what they must, one a protocol, and everything in them can be read."""
    assert in_sync(want, have), where
    assert sorted(row.protocol or "" for row in have.rows) == sorted(row.protocol or "" for row in want.rows)
    for row in have.rows:
        for vip, backends in row.vips.items():
            for endpoint in (vip, *filter(None, backends.split(","))):
                assert canon.canonical_endpoint(endpoint) == endpoint, (where, row.vips)
        assert sorted(check.vip for check in row.health_checks) == sorted(
            check.vip for one in want.rows if one.protocol == row.protocol for check in one.health_checks
        ), where


def kept(before: Mapping[str, NbState], after: Mapping[str, NbState], seed: int) -> None:
    """Whoever had one row of a protocol has the same one."""
    was, now = uuids_to_keep(before, WANT), uuids_to_keep(after, WANT)
    assert {key: now.get(key) for key in was} == was, seed


# On a real server


@pytest.fixture
def replica(nb_server: OvsdbServer) -> Iterator[NbReplica]:
    """A replica of a server that holds the right database."""
    nb_server.transact(
        *(_named("Logical_Switch", name) for name in SWITCHES), _named("Logical_Router", ROUTER)
    )
    for lb_id in WANT:
        insert(nb_server, RIGHT[lb_id].rows)
    nb = connect_nb(Endpoint(nb_server.unix, timeout=30))
    yield nb
    nb.close()


def _named(table: str, name: str) -> dict[str, Any]:
    return {"op": "insert", "table": table, "row": {"name": name}}


def insert(server: OvsdbServer, rows: tuple[LoadBalancerRow, ...]) -> None:
    """Rows with their UUIDs, health checks and references, as another client would write them."""
    attached: dict[str, dict[str, list[str]]] = {"attached_switches": {}, "attached_routers": {}}
    for row in rows:
        for side, names in (("attached_switches", row.switches), ("attached_routers", row.routers)):
            for name in names:
                attached[side].setdefault(name, []).append(row.uuid or "")
    checks = [check for row in rows for check in row.health_checks]
    server.insert(
        {
            "Load_Balancer_Health_Check": [{"_uuid": one.uuid, **columns.check(one)} for one in checks],
            "Load_Balancer": [
                {
                    "_uuid": row.uuid,
                    **columns.own(row),
                    "health_check": [check.uuid for check in row.health_checks],
                }
                for row in rows
            ],
            **attached,
        }
    )


def remove(server: OvsdbServer, names: Any) -> None:
    """All rows of these names."""
    where = [[["name", "==", name]] for name in names]
    server.transact(*({"op": "delete", "table": "Load_Balancer", "where": one} for one in where))


def foreign_rows(server: OvsdbServer, uuids: set[str]) -> list[Any]:
    """Rows of somebody else with all that the server says of them, their version too."""
    where = [[["_uuid", "==", ["uuid", uuid]]] for uuid in sorted(uuids)]
    selects = [{"op": "select", "table": "Load_Balancer", "where": one} for one in where]
    return [result["rows"] for result in server.transact(*selects)] if selects else []


def test_damage_on_a_server_is_repaired_in_one_transaction(
    nb_server: OvsdbServer, replica: NbReplica
) -> None:
    """The same on a real ovsdb-server; foreign rows stay equal to their last byte and version."""
    seen: Counter[str] = Counter()
    alien: set[str] = set()
    for seed in range(SERVER_SEEDS):
        right = {lb_id: observe(replica, lb_id) for lb_id in WANT}
        found = damage(WANT, right, seed)
        remove(nb_server, found.states)
        alien = {row.uuid or "" for row in found.foreign}
        insert(nb_server, (*(row for state in found.states.values() for row in state.rows), *found.foreign))
        states = {**right, **found.states}
        assert replica.wait_for(lambda states=states, alien=alien: _has(replica, states, alien), 20), seed
        before = foreign_rows(nb_server, alien)
        have = {lb_id: observe(replica, lb_id) for lb_id in WANT}
        plans = [planned(lb_id, have[lb_id], replica) for lb_id in WANT]
        by_id = {one.lb_id: one for one in plans}
        for lb_id, kinds in found.kinds.items():
            seen.update(_there(kinds, by_id[lb_id], have[lb_id], right[lb_id]))
        outcome = write_batch(replica, [one for one in plans if one.changes])
        assert (outcome.failed, outcome.transactions) == ({}, 1), seed
        after = {lb_id: observe(replica, lb_id) for lb_id in WANT}
        for lb_id in WANT:
            exact(WANT[lb_id], after[lb_id], (seed, lb_id, found.kinds.get(lb_id)))
            assert planned(lb_id, after[lb_id], replica).changes == (), (seed, lb_id)
        kept(have, after, seed)
        assert foreign_rows(nb_server, alien) == before, seed
        nb_server.transact(
            *(
                {"op": "delete", "table": "Load_Balancer", "where": [["_uuid", "==", ["uuid", uuid]]]}
                for uuid in sorted(alien)
            )
        )
    often_enough(seen, SERVER_SEEDS)


def _has(replica: NbReplica, states: Mapping[str, NbState], alien: set[str]) -> bool:
    """Whether the replica has exactly the damaged rows and the foreign ones."""
    with replica.snapshot():
        if any(replica.row("Load_Balancer", UUID(uuid)) is None for uuid in alien):
            return False
        for lb_id, state in states.items():
            found = {row.uuid for row in observe(replica, lb_id).rows}
            if found != {row.uuid for row in state.rows}:
                return False
    return True
