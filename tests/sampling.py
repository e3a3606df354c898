"""The option ``--scenario-sample N``: keep the tests of N recorded scenarios instead of all of them.

A scenario test has a parameter named ``scenario`` (a name or a file), or one whose value has a ``scenario``.
The scenarios kept are spread evenly over the names, so that every run takes the same ones; tests of anything
else always stay.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ovnlb", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ovnlb")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the option; 0 means every scenario."""
    parser.addoption("--scenario-sample", type=int, default=0, metavar="N", help="run N scenarios, not all")


def name_of(item: pytest.Item) -> str | None:
    """The name of the scenario that a test replays, None for a test of anything else."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    named = [getattr(value, "scenario", None) for value in params.values()]
    for value in (params.get("scenario"), *named):
        if isinstance(value, str | Path):
            return Path(value).stem
    return None


def sample(names: set[str], size: int) -> set[str]:
    """``size`` of the names, evenly spaced in alphabetical order; all when there are no more."""
    ordered = sorted(names)
    if size <= 0 or len(ordered) <= size:
        return set(ordered)
    return {ordered[index * len(ordered) // size] for index in range(size)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of every scenario that is not in the sample."""
    names = {item: name_of(item) for item in items}
    kept = sample({name for name in names.values() if name is not None}, config.getoption("scenario_sample"))
    dropped = [item for item in items if names[item] is not None and names[item] not in kept]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if names[item] is None or names[item] in kept]
