"""What a library or a server says, and which of the four kinds it is."""

from __future__ import annotations

import json

import pytest
from ovs.db import idl
from ovsdbapp import exceptions

from ovnlb.observed.commit import CommitFailed
from ovnlb.observed.remotes import Unreachable, WrongDatabase
from ovnlb.reconciler.errors import (
    NotLeader,
    StalePlan,
    Terminal,
    Transient,
    of_connection,
    of_ovsdb,
    refuses_persistent_uuids,
)
from servers.ovsdb import OvsdbServer, TransactionError

LBS = ("lb-1", "lb-2")
UUID = "f3e1c4a0-0000-4000-8000-000000000001"
ROW = {"op": "insert", "table": "Load_Balancer", "row": {}}
REFERENCE = {
    "op": "mutate",
    "table": "Load_Balancer",
    "where": [],
    "mutations": [["health_check", "insert", ["set", [["uuid", UUID]]]]],
}
REFUSED = {
    "duplicate uuid": ([{**ROW, "uuid": UUID}] * 2, StalePlan),
    "referential integrity violation": ([ROW, REFERENCE], StalePlan),
    "constraint violation": ([{**ROW, "row": {"protocol": "icmp"}}], Terminal),
    "unknown column": ([{**ROW, "row": {"colour": 1}}], Terminal),
    "syntax error": ([{**ROW, "uuidx": 1}], Terminal),
    "not owner": ([{"op": "assert", "lock": "nobody_has_it"}], NotLeader),
}


@pytest.mark.parametrize(("operations", "kind"), REFUSED.values(), ids=REFUSED)
def test_what_a_real_server_refuses(nb_server: OvsdbServer, operations, kind, request):
    with pytest.raises(TransactionError) as refusal:
        nb_server.transact(*operations)
    error = of_ovsdb(CommitFailed(idl.Transaction.ERROR, str(refusal.value)), LBS)
    assert type(error) is kind
    assert "lb-1" in str(error)
    assert json.loads(str(refusal.value))["error"] == request.node.callspec.id


STATUSES = {
    "not locked": (CommitFailed(idl.Transaction.NOT_LOCKED), NotLeader),
    "try again": (CommitFailed(idl.Transaction.TRY_AGAIN, "8 times"), StalePlan),
    "no details": (CommitFailed(idl.Transaction.ERROR, "no error details available"), Terminal),
    "no leader": (CommitFailed(idl.Transaction.ERROR, '{"error": "cluster error"}'), Transient),
    "disk full": (CommitFailed(idl.Transaction.ERROR, '{"error": "I/O error"}'), Transient),
    "permission": (CommitFailed(idl.Transaction.ERROR, '{"error": "permission error"}'), Terminal),
    "time": (exceptions.TimeoutException(commands=[], timeout=3, cause="slow"), Transient),
    "away": (Unreachable("gone"), Transient),
    "socket": (ConnectionResetError("gone"), Transient),
    "wrong": (WrongDatabase("no such database"), Terminal),
}


@pytest.mark.parametrize(("error", "kind"), STATUSES.values(), ids=STATUSES)
def test_statuses_and_library_errors(error, kind):
    assert type(of_ovsdb(error, LBS)) is kind


@pytest.mark.parametrize("error", [StalePlan({"lb-1": "x"}), Transient("x"), Terminal("x"), NotLeader("x")])
def test_the_four_kinds_stay_what_they_are(error):
    assert of_ovsdb(error, LBS) is error


def test_a_fault_of_ours_is_not_disguised():
    fault = ZeroDivisionError()
    assert of_ovsdb(fault, LBS) is fault
    assert of_connection(fault) is fault


def test_stale_plans_name_every_lb_of_the_transaction():
    error = of_ovsdb(CommitFailed(idl.Transaction.TRY_AGAIN), LBS)
    assert list(error.stale) == ["lb-1", "lb-2"]


def test_only_a_refused_uuid_member_means_an_old_server(nb_server: OvsdbServer):
    texts = {}
    for member in ("'uuid'", "uuidx"):
        with pytest.raises(TransactionError) as refusal:
            nb_server.transact({**ROW, member: UUID})
        texts[member] = str(refusal.value)
    assert refuses_persistent_uuids(CommitFailed("error", texts["'uuid'"]))
    assert not refuses_persistent_uuids(CommitFailed("error", texts["uuidx"]))
    assert not refuses_persistent_uuids(CommitFailed("error", "no error details available"))
