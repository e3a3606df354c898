"""Who uses an address, and NAT rows of floating IPs, on a real ovsdb-server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ovnlb.diff.plan import Change, Op, Plan, Reason
from ovnlb.observed.idl import NbReplica, connect_nb
from ovnlb.observed.source import Endpoint, MappingUse, MemberUse
from ovnlb.reconciler.apply import apply
from ovnlb.reconciler.errors import StalePlan
from servers.ovsdb import OvsdbServer, dump, insert_rows

HM = "ovn-lb-hm-sub-1"


@pytest.fixture
def nb(nb_server: OvsdbServer) -> Iterator[NbReplica]:
    insert_rows(nb_server.unix, "OVN_Northbound", tables())
    found = connect_nb(Endpoint(nb_server.unix, timeout=10))
    yield found
    found.close()


def balancer(name: str, pool: str, fip: str | None = None, **mappings: str) -> dict[str, Any]:
    external_ids = {"pool_p:D" if name == "lb-2" else "pool_p": pool}
    if fip:
        external_ids["neutron:vip_fip"] = fip
    return {
        "_uuid": name,
        "name": name,
        "external_ids": external_ids,
        "ip_port_mappings": {key.replace("_", "."): value for key, value in mappings.items()},
    }


def hm_port(name: str, owner: str | None) -> dict[str, Any]:
    owned = {} if owner is None else {"neutron:device_owner": owner}
    return {
        "_uuid": name,
        "name": name,
        "addresses": ["fa:16:3e:00:00:01 10.0.0.2"],
        "external_ids": {"neutron:port_name": HM, **owned},
    }


def tables() -> dict[str, Any]:
    member = "member_m_10.0.0.21:80_sub-1"
    return {
        "Load_Balancer": [
            balancer(
                "lb-1", member, "172.24.4.1", **{"10_0_0_21": "p1:10.0.0.2", "10_0_0_22": "p2:10.0.0.2"}
            ),
            balancer(
                "lb-2", member + ",member_n_10.0.0.22:80", "172.24.4.2", **{"10_0_0_21": "p1:10.0.0.20"}
            ),
            balancer("lb-3", member, **{"10_0_0_21": "p1:010.0.0.2"}),
        ],
        "Logical_Switch_Port": [
            hm_port("a-users", "compute:nova"),
            hm_port("b-old", "network:distributed"),
            hm_port("c-new", "ovn-lb-hm:distributed"),
        ],
        "Logical_Switch": [
            {"_uuid": "ls", "name": "neutron-n", "ports": ["a-users", "b-old", "c-new"]},
        ],
        "Logical_Router": [{"_uuid": "lr", "name": "neutron-r", "nat": ["nat"]}],
        "NAT": [
            {
                "_uuid": "nat",
                "type": "dnat_and_snat",
                "external_ip": "172.24.4.50",
                "logical_ip": "10.0.0.21",
                "external_mac": ["fa:16:3e:00:00:09"],
                "logical_port": ["p1"],
                "external_ids": {"neutron:fip_id": "fip", "neutron:fip_port_id": "p1"},
            }
        ],
    }


def test_sources_by_exact_address_L34(nb: NbReplica) -> None:
    assert nb.mapping_sources("10.0.0.2") == (MappingUse("lb-1", "p1"), MappingUse("lb-1", "p2"))
    assert nb.mapping_sources("10.0.0.20") == (MappingUse("lb-2", "p1"),)
    assert nb.mapping_sources("10.0.0.200") == ()


def test_sources_follow_changes(nb: NbReplica, nb_server: OvsdbServer) -> None:
    where = [["name", "==", "lb-1"]]
    nb_server.transact(
        {"op": "update", "table": "Load_Balancer", "where": where, "row": {"ip_port_mappings": ["map", []]}}
    )
    assert nb.wait_for(lambda: nb.mapping_sources("10.0.0.2") == (), 10)
    assert nb.fip_member_uses("10.0.0.21") == (MemberUse("lb-1", "sub-1"), MemberUse("lb-2", "sub-1"))
    nb_server.transact({"op": "delete", "table": "Load_Balancer", "where": where})
    assert nb.wait_for(lambda: nb.fip_member_uses("10.0.0.21") == (MemberUse("lb-2", "sub-1"),), 10)


def test_members_of_balancers_with_a_floating_ip(nb: NbReplica) -> None:
    assert nb.fip_member_uses("10.0.0.22") == (MemberUse("lb-2", ""),)
    assert nb.fip_member_uses("10.0.0.2") == ()


def test_monitor_port_is_told_by_its_owner(nb: NbReplica) -> None:
    found = nb.hm_port("sub-1")
    assert found is not None
    assert found.name == "b-old"


def cleared(nb: NbReplica, lb_id: str) -> Plan:
    (entry,) = nb.nat_entries_of("10.0.0.21")
    assert (entry.external_mac, entry.logical_port) == ("fa:16:3e:00:00:09", "p1")
    changes = (
        Change(
            Op.SET, "NAT", entry.uuid, "external_mac", None, entry.external_mac, None, Reason.MEMBER_ADDED
        ),
        Change(
            Op.SET, "NAT", entry.uuid, "logical_port", None, entry.logical_port, None, Reason.MEMBER_ADDED
        ),
    )
    return Plan(lb_id, changes)


def test_two_plans_centralise_one_fip_in_one_transaction_B073(nb: NbReplica, nb_server: OvsdbServer) -> None:
    applied = apply(nb, [cleared(nb, "lb-1"), cleared(nb, "lb-2")])
    assert applied.transactions == 1
    (row,) = dump(nb_server.unix, "OVN_Northbound", ["NAT"])["NAT"]
    assert (row["external_mac"], row["logical_port"]) == ([], [])
    (entry,) = nb.nat_entries("172.24.4.50")
    assert (entry.external_mac, entry.logical_port, entry.distributed) == (None, None, False)


def test_row_that_neutron_wrote_meanwhile_is_stale(nb: NbReplica, nb_server: OvsdbServer) -> None:
    plan = cleared(nb, "lb-1")
    nb_server.transact(
        {"op": "update", "table": "NAT", "where": [], "row": {"external_mac": "fa:16:3e:00:00:0a"}}
    )
    with pytest.raises(StalePlan):
        apply(nb, plan)
