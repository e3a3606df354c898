"""The world of the fault tests: as everywhere, with Octavia's own driver-agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from faults.octavia_agent import OctaviaAgent
from servers.mariadb import MariaDb
from servers.ovsdb import NB, ovsdb_server
from service_world import ServiceWorld, service_world
from stack import venvs

# Quickest first: what is broken for all of them shows soon.
ORDER = ("test_servers", "test_scale", "test_killed", "test_two_daemons")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the modules of this folder into that order, where they stand."""
    here = [place for place, item in enumerate(items) if item.path.parent == Path(__file__).parent]
    ordered = sorted((items[place] for place in here), key=lambda item: ORDER.index(item.path.stem))
    for place, item in zip(here, ordered, strict=True):
        items[place] = item


@pytest.fixture(scope="session")
def octavia_venv() -> Path:
    """A virtual environment with Octavia."""
    return venvs.octavia()


@pytest.fixture(scope="session")
def make_agent(octavia_venv: Path) -> Callable[[str], AbstractContextManager[OctaviaAgent]]:
    """Starts Octavia's driver-agent over a database."""

    @contextmanager
    def made(url: str) -> Iterator[OctaviaAgent]:
        agent = OctaviaAgent(octavia_venv, url)
        try:
            agent.start()
            yield agent
        finally:
            agent.close()

    return made


@pytest.fixture(scope="module")
def world_of_module(
    mariadb: MariaDb, tmp_path_factory: pytest.TempPathFactory, make_agent: Any
) -> Iterator[ServiceWorld]:
    """One world for the tests of a module; NB listens on TCP too."""
    directory = tmp_path_factory.mktemp("world")
    with service_world(mariadb, directory, lambda: ovsdb_server(NB, tcp=True), make_agent) as made:
        yield made


@pytest.fixture
def world(world_of_module: ServiceWorld) -> ServiceWorld:
    """That world, emptied."""
    world_of_module.reset()
    return world_of_module
