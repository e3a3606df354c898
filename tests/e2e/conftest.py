"""One private stack for the whole session, with the provider that OVNLB_E2E_PROVIDER names (ovnlb unless
said).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import pytest

pytest.register_assert_rewrite("e2e.steps", "stack.cloud", "stack.expected")

from e2e.steps import Steps  # noqa: E402
from stack import stack as stacks  # noqa: E402
from stack.cloud import Cloud, Networks  # noqa: E402
from stack.stack import Stack  # noqa: E402

PROVIDER = cast(Literal["original", "ovnlb"], os.environ.get("OVNLB_E2E_PROVIDER", "ovnlb"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of a session also waits for the stack; some wait for 30 load balancers."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The running stack."""
    with stacks.running(PROVIDER) as running:
        print(f"\n{running.ovn.version}\n{running.report()}")
        yield running


@pytest.fixture(scope="session")
def cloud(stack: Stack) -> Cloud:
    """The administrator's connection."""
    return Cloud(stack)


@pytest.fixture(scope="session")
def networks(cloud: Cloud) -> Networks:
    """The shared networks and router."""
    return cloud.networks()


@pytest.fixture
def steps(cloud: Cloud, networks: Networks) -> Iterator[Steps]:
    """Operations that are checked after each step; at the end nothing may be left behind."""
    taken = Steps(cloud, networks)
    before = taken.left()
    yield taken
    taken.clean()
    taken.nothing_left(before)
