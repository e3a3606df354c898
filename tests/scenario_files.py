"""The recorded scenarios of tests/data/scenarios as steps that stand on their own.

A scenario leaves out of a step what did not change; here every step carries the `octavia`, `topology`
and `neutron` that hold after its call. tests/data was recorded with another provider: `expected` is
what that one did, which is not always what is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
SCENARIOS = DATA / "scenarios"

Tables = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Step:
    """One step. `octavia` is None until the first rows are committed; `raises` the refused call.

    `fresh` names those of octavia, topology and neutron that the file gives for this very step.
    `nb_before` is the Northbound state that the step found: the previous step's `expected`.
    """

    scenario: str
    index: int
    call: str
    args: Mapping[str, Any]
    octavia: Tables | None
    topology: Tables
    neutron: Tables
    nb_before: Mapping[str, Any]
    expected: Mapping[str, Any]
    statuses: list[Any]
    neutron_calls: list[Any]
    raises: Mapping[str, Any] | None
    result: Any
    txn_count: int
    note: str | None
    fresh: frozenset[str]

    @property
    def id(self) -> str:
        """A test id: scenario, step number, call."""
        return f"{self.scenario}-{self.index:02d}-{self.call}"

    def nb(self, state: str = "expected") -> dict[str, Any]:
        """A bundle's `nb` part: Neutron's tables with the load balancers of `expected` or `nb_before`.

        NAT comes from that state too: a provider changes it.
        """
        return {**self.topology, **getattr(self, state)}


@dataclass(frozen=True)
class Scenario:
    """One scenario file."""

    name: str
    description: str
    notes: list[str]
    steps: tuple[Step, ...]


def scenario_names() -> list[str]:
    """All scenario names, sorted."""
    return sorted(path.stem for path in SCENARIOS.glob("*.json"))


@lru_cache(maxsize=8)
def load_scenario(name: str) -> Scenario:
    """The scenario of that name. Its values are shared: never change them."""
    raw = json.loads((SCENARIOS / f"{name}.json").read_text())
    return Scenario(raw["name"], raw["description"], raw["notes"], tuple(_steps(name, raw)))


def all_steps() -> Iterator[Step]:
    """Every step of every scenario, in order."""
    for name in scenario_names():
        yield from load_scenario(name).steps


def _steps(name: str, raw: Mapping[str, Any]) -> Iterator[Step]:
    held: dict[str, Any] = {"octavia": None, "topology": raw["topology"], "neutron": raw["neutron"]}
    before = raw["nb_before"]
    for index, step in enumerate(raw["steps"]):
        fresh = frozenset(key for key in held if key in step)
        held.update({key: step[key] for key in fresh})
        yield Step(
            scenario=name,
            index=index,
            call=step["call"],
            args=step.get("args") or {},
            octavia=held["octavia"] or None,
            topology=held["topology"],
            neutron=held["neutron"],
            nb_before=before,
            expected=step["expected"],
            statuses=step["statuses"],
            neutron_calls=step["neutron_calls"],
            raises=step.get("raises"),
            result=step.get("result"),
            txn_count=step["txn_count"],
            note=step.get("note"),
            fresh=fresh,
        )
        before = step["expected"]
