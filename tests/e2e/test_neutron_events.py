"""What happens in Neutron beside a load balancer: routers, gateways, subnets, floating IPs, Neutron's own
repair.
"""

from __future__ import annotations

import pytest

from e2e.steps import Steps
from e2e.test_topology import network_with_subnet, pool_under_listener
from stack.expected import attached, rows_of


def _serves(steps: Steps) -> tuple[str, str]:
    """A load balancer with one member on the private subnet: its id and its pool's."""
    lb = steps.balancer()
    pool = pool_under_listener(steps, lb)
    steps.create(
        "member", lb, pool, address="10.20.0.101", protocol_port=80, subnet_id=steps.networks.private_v4
    )
    return lb, pool


def _routers(steps: Steps, lb: str) -> set[str]:
    return attached(steps.cloud, lb, "Logical_Router")


def test_router_interface_added_and_removed(steps: Steps) -> None:
    """A router that gets an interface on the VIP's subnet is attached; without it, it is not."""
    net = steps.cloud.network
    _, subnet = network_with_subnet(steps, "events", "10.60.0.0/24", None)
    lb = steps.balancer(vip_subnet_id=subnet)
    pool = pool_under_listener(steps, lb)
    steps.create("member", lb, pool, address="10.60.0.9", protocol_port=80, subnet_id=subnet)
    assert _routers(steps, lb) == set()
    router = net.create_router(name="late").id
    steps.undo.append(lambda: net.delete_router(router))
    net.add_interface_to_router(router, subnet_id=subnet)
    steps.eventually(lambda: _routers(steps, lb) == {f"neutron-{router}"}, 20)
    net.remove_interface_from_router(router, subnet_id=subnet)
    steps.eventually(lambda: _routers(steps, lb) == set(), 20)
    steps.check(lb)
    steps.delete_balancer(lb, cascade=True)


def test_gateway_set_and_cleared(steps: Steps) -> None:
    """A router's gateway changes nothing about the rows."""
    net = steps.cloud.network
    router = net.create_router(name="gateway").id
    steps.undo.append(lambda: net.delete_router(router))
    network, subnet = network_with_subnet(steps, "gw", "10.61.0.0/24", router)
    lb = steps.balancer(vip_subnet_id=subnet)
    pool_under_listener(steps, lb)
    net.update_router(router, external_gateway_info={"network_id": steps.networks.public})
    steps.check(lb)
    assert attached(steps.cloud, lb, "Logical_Switch") == {f"neutron-{network}"}
    net.update_router(router, external_gateway_info={})
    steps.check(lb)
    assert _routers(steps, lb) == {f"neutron-{router}"}


def test_second_router_on_the_vip_subnet(steps: Steps) -> None:
    """Both routers are attached, and only the one that stays afterwards."""
    net = steps.cloud.network
    lb, _ = _serves(steps)
    router = net.create_router(name="second").id
    steps.undo.append(lambda: net.delete_router(router))
    port = net.create_port(
        network_id=steps.networks.private, fixed_ips=[{"subnet_id": steps.networks.private_v4}]
    )
    net.add_interface_to_router(router, port_id=port.id)
    both = {f"neutron-{router}", f"neutron-{steps.networks.router}"}
    steps.eventually(lambda: _routers(steps, lb) == both, 20)
    steps.check(lb)
    net.remove_interface_from_router(router, port_id=port.id)
    steps.eventually(lambda: _routers(steps, lb) == both - {f"neutron-{router}"}, 20)
    steps.check(lb)


def test_subnet_deleted_under_a_member(steps: Steps) -> None:
    """Its switch is let go, the other member is as before, and the member can be deleted."""
    net = steps.cloud.network
    lb, pool = _serves(steps)
    (survivor,) = (member.id for member in steps.octavia.members(pool))
    network, subnet = network_with_subnet(steps, "doomed", "10.62.0.0/24", None)
    member = steps.create("member", lb, pool, address="10.62.0.9", protocol_port=80, subnet_id=subnet)
    net.delete_subnet(subnet)
    # no row tells of a subnet's end: the next full pass finds it
    switch = f"neutron-{network}"
    steps.eventually(lambda: switch not in attached(steps.cloud, lb, "Logical_Switch"), 120)
    steps.check(lb)
    assert steps.status(lb)[survivor] == "NO_MONITOR"
    steps.delete("member", lb, member, pool)


def test_floating_ip_moves_to_another_vip(steps: Steps) -> None:
    """The rows of both load balancers follow."""
    first, _ = _serves(steps)
    second, _ = _serves(steps)
    fip = steps.floating_ip(steps.octavia.get_load_balancer(first).vip_port_id)
    steps.cloud.network.update_ip(fip, port_id=steps.octavia.get_load_balancer(second).vip_port_id)
    steps.eventually(lambda: all(steps.rows_differ(lb) is None for lb in (first, second)), 20)
    steps.cloud.network.update_ip(fip, port_id=None)
    steps.eventually(lambda: all(steps.rows_differ(lb) is None for lb in (first, second)), 20)
    for lb in (first, second):
        steps.check(lb)


def test_neutron_repair_beside_us(steps: Steps) -> None:
    """neutron-ovn-db-sync-util in repair mode leaves our rows as they are."""
    stack = steps.cloud.stack
    lb, _ = _serves(steps)
    before = rows_of(steps.cloud, lb)
    for plugin in ("neutron_nb_sync", "neutron_sb_sync"):
        stack.neutron.sync(stack.octavia.venvs["original"], "repair", plugin)
    steps.check(lb)
    assert rows_of(steps.cloud, lb) == before


@pytest.mark.parametrize("mode", ["log", "repair"])
def test_neutron_calls_our_sync_plugin(steps: Steps, mode: str) -> None:
    """The entry point ``octavia_ovn_sync``: ``log`` says what differs, ``repair`` closes it."""
    stack = steps.cloud.stack
    if not steps.ours:
        pytest.fail("the sync plugin of ovnlb is what this tests")
    lb, _ = _serves(steps)
    stack.octavia.stop_daemon()
    try:
        stack.ovn.transact(
            "nb",
            {
                "op": "update",
                "table": "Load_Balancer",
                "where": [["name", "==", lb]],
                "row": {"vips": ["map", []]},
            },
        )
        said = stack.neutron.sync(
            stack.octavia.venv, mode, "octavia_ovn_sync", {"OVNLB_CONFIG_FILES": str(stack.octavia.conf)}
        )
        if mode == "log":
            assert lb in said
            assert steps.rows_differ(lb) is not None
        else:
            assert steps.rows_differ(lb) is None
    finally:
        stack.octavia.start_daemon()
    steps.eventually(lambda: steps.rows_differ(lb) is None)
    steps.check(lb)
