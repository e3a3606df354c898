"""The loop inside octavia-driver-agent instead of a daemon of its own, as kolla and devstack lay it out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.steps import Steps
from stack.cloud import Cloud


@pytest.fixture
def in_the_agent(cloud: Cloud) -> Iterator[None]:
    """Octavia without ``ovnlb run`` but with the provider agent ``ovn``; the daemon again afterwards."""
    cloud.stack.octavia.switch("ovnlb", "agent")
    yield
    cloud.stack.octavia.switch("ovnlb")


@pytest.mark.usefixtures("in_the_agent")
def test_the_agent_alone_serves(steps: Steps) -> None:
    """A load balancer lives and goes with no daemon running."""
    assert not steps.cloud.stack.processes.alive("ovnlb-run")
    lb = steps.balancer()
    listener = steps.create("listener", lb, load_balancer_id=lb, protocol="TCP", protocol_port=80)
    pool = steps.create("pool", lb, listener_id=listener, protocol="TCP", lb_algorithm="SOURCE_IP_PORT")
    member = steps.create(
        "member", lb, pool, address="10.20.0.101", protocol_port=80, subnet_id=steps.networks.private_v4
    )
    steps.update("member", lb, member, pool, weight=3)
    steps.delete("member", lb, member, pool)
    steps.delete_balancer(lb, cascade=True)
