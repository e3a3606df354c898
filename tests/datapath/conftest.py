"""A stack with guests, on the installed OVN and, where it can be had, on a newer one unpacked beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("datapath.lab", "stack.cloud", "stack.dataplane", "stack.expected")

from datapath.lab import Lab  # noqa: E402
from stack import stack as stacks  # noqa: E402
from stack import venvs  # noqa: E402
from stack.newer_ovn import Unobtainable, unpack  # noqa: E402
from stack.ovn import Release  # noqa: E402

SUITE = "trixie"  # Debian 13: OVN 25.03
_RELEASES: dict[str, Release] = {"installed": Release()}


def pytest_configure(config: pytest.Config) -> None:
    """Have the newer release ready before tests are collected; say so in one line when there is none."""
    if os.environ.get("OVNLB_NEWER_OVN", "1") == "0":
        return
    try:
        _RELEASES["newer"] = unpack(SUITE, venvs.home() / f"ovn-{SUITE}")
    except Unobtainable as why:
        print(f"OVN of Debian {SUITE} cannot be had here, only the installed release is tested: {why}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test runs on each release; releases one after the other."""
    if "lab" in metafunc.fixturenames:
        metafunc.parametrize("lab", list(_RELEASES), indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of a session also waits for the stack; some wait for 30 load balancers."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The guests and the networks, on one release."""
    with stacks.running("ovnlb", _RELEASES[request.param]) as running:
        print(f"\n{running.ovn.version}\n{running.report()}")
        yield Lab(running)


@pytest.fixture(autouse=True)
def _left_as_found(lab: Lab) -> Iterator[None]:
    """Every guest serves before a test, and no load balancer remains after it."""
    lab.serve_all()
    yield
    lab.clean()
