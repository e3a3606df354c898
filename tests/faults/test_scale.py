"""Much at once: 500 load balancers pending, a router with 200 interfaces."""

from __future__ import annotations

import time

import pytest

from clouds import ROUTER_ROW, cloud
from faults.operations import assert_whole, start_cloud, transactions
from servers.ovsdb import wait_until

QUIET = {"resync_interval": 3600, "sweep_interval": 3600}
COUNT = 500


@pytest.mark.timeout(400)
def test_500_load_balancers_pending_at_once(world):
    made = cloud(COUNT, "PENDING_CREATE")
    start_cloud(world, made)
    with world.service(**QUIET) as service:
        started = time.monotonic()
        wait_until(lambda: len(world.balancers()) == COUNT, "the rows", 120)
        rows = time.monotonic() - started
        world.settle(300)
        settled = time.monotonic() - started
        sent = transactions(service)
        print(
            f"{COUNT} created: rows after {rows:.1f} s, ACTIVE after {settled:.1f} s, {sent:.0f} transactions"
        )
        assert sent <= COUNT / 10
        assert_whole(world, service)


@pytest.mark.timeout(300)
def test_a_router_with_200_interfaces_changes(world):
    count, interfaces = 50, 200
    start_cloud(world, cloud(count, pools=1, members=2))
    with world.service(**QUIET) as service:
        assert_whole(world, service)
        before = transactions(service)
        names = [f"wide-{number}" for number in range(interfaces)]
        ports = [f"lrp:{name}" for name in names]
        world.nb.insert(
            {
                "Logical_Switch": [{"_uuid": f"ls:{name}", "name": f"neutron-{name}"} for name in names],
                "Logical_Router_Port": [
                    {
                        "_uuid": f"lrp:{name}",
                        "name": f"lrp-{name}",
                        "mac": "fa:16:3e:01:00:00",
                        "networks": [f"10.{128 + number // 250}.{number % 250}.1/24"],
                        "external_ids": {"neutron:network_name": f"neutron-{name}"},
                    }
                    for number, name in enumerate(names)
                ],
                "Logical_Router": [{"_uuid": "lr:wide", "name": "neutron-wide", "ports": ports}],
            }
        )
        (router,) = [row for row in world.nb.rows("Logical_Router") if row["name"] == ROUTER_ROW]
        uuids = [row["_uuid"] for row in world.nb.rows("Logical_Router_Port") if "wide" in row["name"]]
        world.nb.transact(
            {
                "op": "mutate",
                "table": "Logical_Router",
                "where": [["_uuid", "==", ["uuid", router["_uuid"]]]],
                "mutations": [["ports", "insert", ["set", [["uuid", uuid] for uuid in uuids]]]],
            }
        )
        started = time.monotonic()

        def attached() -> bool:
            rows = {row["name"]: row for row in world.nb.rows("Logical_Switch")}
            return all(len(rows[f"neutron-{name}"]["load_balancer"]) == count for name in names)

        wait_until(attached, "every switch to have every load balancer", 60)
        print(
            f"{count} load balancers on {interfaces} more switches after {time.monotonic() - started:.1f} s"
        )
        assert transactions(service) - before <= 10
        assert_whole(world, service)
