"""Members and VIPs elsewhere than on one private subnet: other subnets, other routers, provider networks."""

from __future__ import annotations

from e2e.steps import Steps
from stack.expected import attached


def pool_under_listener(steps: Steps, lb: str) -> str:
    """A TCP listener on port 80 and its pool; the pool's id."""
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    return steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")


def network_with_subnet(steps: Steps, name: str, cidr: str, router: str | None) -> tuple[str, str]:
    """A network with one subnet, connected to a router; undone at the end of the test."""
    net = steps.cloud.network
    network = str(net.create_network(name=name).id)
    steps.undo.append(lambda: net.delete_network(network))
    subnet = steps.cloud.subnet(network, cidr)
    if router:
        net.add_interface_to_router(router, subnet_id=subnet)
        steps.undo.append(lambda: net.remove_interface_from_router(router, subnet_id=subnet))
    return network, subnet


def test_member_in_another_subnet_of_the_router(steps: Steps) -> None:
    """The member's switch is attached while the member is there."""
    network, subnet = network_with_subnet(steps, "second", "10.30.0.0/24", steps.networks.router)
    lb = steps.balancer()
    pool = pool_under_listener(steps, lb)
    assert attached(steps.cloud, lb, "Logical_Router") == {f"neutron-{steps.networks.router}"}
    member = steps.create("member", lb, pool, address="10.30.0.9", protocol_port=80, subnet_id=subnet)
    assert f"neutron-{network}" in attached(steps.cloud, lb, "Logical_Switch")
    steps.delete("member", lb, member, pool)
    steps.delete_balancer(lb, cascade=True)


def test_member_behind_another_router(steps: Steps) -> None:
    """A member's router that the VIP does not share is attached too."""
    net = steps.cloud.network
    router = net.create_router(name="router-b")
    steps.undo.append(lambda: net.delete_router(router.id))
    network, subnet = network_with_subnet(steps, "third", "10.40.0.0/24", router.id)
    lb = steps.balancer()
    pool = pool_under_listener(steps, lb)
    steps.create("member", lb, pool, address="10.40.0.9", protocol_port=80, subnet_id=subnet)
    assert f"neutron-{router.id}" in attached(steps.cloud, lb, "Logical_Router")
    assert f"neutron-{network}" in attached(steps.cloud, lb, "Logical_Switch")
    steps.delete_balancer(lb, cascade=True)


def test_vip_on_a_providernetwork_with_subnet(steps: Steps) -> None:
    """The provider network's switch is never attached; the router of the members serves the VIP."""
    lb = steps.balancer(vip_subnet_id=steps.networks.public_v4)
    pool = pool_under_listener(steps, lb)
    steps.create(
        "member", lb, pool, address="10.20.0.191", protocol_port=80, subnet_id=steps.networks.private_v4
    )
    assert f"neutron-{steps.networks.public}" not in attached(steps.cloud, lb, "Logical_Switch")
    assert attached(steps.cloud, lb, "Logical_Router") == {f"neutron-{steps.networks.router}"}
    steps.delete_balancer(lb, cascade=True)


def test_vip_without_any_router(steps: Steps) -> None:
    """A network of its own: only its switch is attached."""
    network, subnet = network_with_subnet(steps, "alone", "10.50.0.0/24", None)
    lb = steps.balancer(vip_subnet_id=subnet)
    pool = pool_under_listener(steps, lb)
    steps.create("member", lb, pool, address="10.50.0.9", protocol_port=80, subnet_id=subnet)
    assert attached(steps.cloud, lb, "Logical_Switch") == {f"neutron-{network}"}
    assert attached(steps.cloud, lb, "Logical_Router") == set()
    steps.delete_balancer(lb, cascade=True)
