"""One-shot repairs: `ovnlb apply` after damage, and after all rows have gone."""

from __future__ import annotations

from typing import Any

from bench import clouds
from bench.command import ran
from bench.world import BenchWorld
from servers.ovsdb import NB, transact


def repair(world: BenchWorld) -> dict[str, Any]:
    """One load balancer in a hundred has lost its vips."""
    amount = max(1, world.count // 100)
    numbers = [index * world.count // amount for index in range(amount)]
    operations = [
        {
            "op": "update",
            "table": "Load_Balancer",
            "where": [["name", "==", clouds.lb_id(number)]],
            "row": {"vips": ["map", []]},
        }
        for number in numbers
    ]
    transact(world.nb.unix, NB, *operations)
    return {"damaged": amount, **_applied(world)}


def rebuild(world: BenchWorld) -> dict[str, Any]:
    """Every Load_Balancer row has gone, and with them checks and attachments."""
    transact(world.nb.unix, NB, {"op": "delete", "table": "Load_Balancer", "where": []})
    found = _applied(world)
    assert len(world.nb.rows("Load_Balancer")) == world.count
    return found


def _applied(world: BenchWorld) -> dict[str, Any]:
    before, messages, calls = world.commits(), len(world.agent.messages), len(world.neutron.calls)
    found = ran(world, "apply")
    return {
        **found,
        "transactions": world.commits() - before,
        "messages": len(world.agent.messages) - messages,
        "neutron_calls": len(world.neutron.calls) - calls,
    }


def mark_old_ports(world: BenchWorld) -> None:
    """Give the VIP ports of old releases their owner, as a first `apply` does: it is not measured here."""
    operations = []
    for port in world.neutron.store["ports"].values():
        if port["name"].startswith("ovn-lb-vip-") and not port["device_owner"]:
            marks = {"device_owner": "ovn-lb:vip", "device_id": port["name"].replace("ovn-lb-vip-", "lb-")}
            port.update(marks)
            pairs = [[f"neutron:{key}", value] for key, value in marks.items()]
            keys = ["set", [key for key, _ in pairs]]
            mutations = [["external_ids", "delete", keys], ["external_ids", "insert", ["map", pairs]]]
            change = {"op": "mutate", "table": "Logical_Switch_Port", "mutations": mutations}
            operations.append({**change, "where": [["name", "==", port["id"]]]})
    if operations:
        transact(world.nb.unix, NB, *operations)
