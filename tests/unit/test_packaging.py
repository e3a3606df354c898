"""What a distribution promises: origin of the imports, data files, entry points, library set."""

from __future__ import annotations

import importlib
import os
import re
from importlib import metadata, resources
from pathlib import Path

import pytest

import sampling

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("desired", "diff", "observed", "reconciler")
LIBRARY_SET = os.environ.get("OVNLB_LIBRARY_SET")


def _pins(name: str) -> dict[str, str]:
    lines = (CHECKOUT / "tests" / "constraints" / f"{name}.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_imported_from_what_is_under_test(package: str) -> None:
    """With OVNLB_INSTALLED the tests exercise an installed wheel, otherwise this checkout."""
    [folder] = importlib.import_module(f"ovnlb.{package}").__path__
    if os.environ.get("OVNLB_INSTALLED"):
        assert Path(folder).parts[-3:] == ("site-packages", "ovnlb", package)
        assert CHECKOUT / package != Path(folder).resolve()
    else:
        assert Path(folder).resolve() == CHECKOUT / package


@pytest.mark.parametrize("package", PACKAGES)
def test_every_tracked_kind_of_file_is_in_the_package(package: str) -> None:
    """Modules, SQL and type marker of the checkout are all in the imported package."""
    kinds = ("*.py", "*.sql", "*.json", "py.typed")
    source = CHECKOUT / package
    want = {path.relative_to(source) for kind in kinds for path in source.rglob(kind)}
    [folder] = importlib.import_module(f"ovnlb.{package}").__path__
    have = {path.relative_to(folder) for kind in kinds for path in Path(folder).rglob(kind)}
    assert Path("py.typed") in have
    assert want == have


def test_namespace_has_no_module_of_its_own() -> None:
    """``ovnlb`` stays a namespace: four packages and nothing else."""
    top = resources.files("ovnlb")
    found = {entry.name for entry in top.iterdir() if entry.name != "__pycache__"}
    assert found == set(PACKAGES)


def test_entry_points_load() -> None:
    """Every entry point of the distribution names an importable object."""
    points = metadata.distribution("ovnlb").entry_points
    assert {"ovnlb"} <= {point.name for point in points if point.group == "console_scripts"}
    assert all(callable(point.load()) for point in points)


def test_metadata_carries_version_and_licence() -> None:
    """The distribution says which release it is and under which terms it may be used."""
    about = metadata.metadata("ovnlb")
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?(\+[a-z0-9.]+)?", about["Version"])
    assert about["License-Expression"] == "Apache-2.0"


@pytest.mark.parametrize("name", ["2026.2", "newest"])
def test_library_sets_pin_what_they_promise(name: str) -> None:
    """The sets differ in the libraries whose interfaces changed, and every line is an exact pin."""
    promised = {
        "2026.2": {
            "ovs": "3.7.1",
            "ovsdbapp": "2.19.0",
            "openstacksdk": "4.20.0",
            "octavia-lib": "3.12.0",
            "tenacity": "9.1.4",
        },
        "newest": {"ovs": "4.0.0", "ovsdbapp": "3.0.0", "octavia-lib": "3.12.0"},
    }
    pins = _pins(name)
    assert promised[name].items() <= pins.items()
    assert pins["sqlalchemy"].startswith({"2026.2": "2.0.", "newest": "2.1."}[name])


if LIBRARY_SET:

    @pytest.mark.parametrize("name", sorted(_pins(LIBRARY_SET)))
    def test_installed_library_is_of_the_set_under_test(name: str) -> None:
        """Under tox (OVNLB_LIBRARY_SET) a green run means these exact releases; greenlet is optional."""
        found = metadata.distributions()
        installed = {re.sub(r"[._]", "-", each.name.lower()): each.version for each in found}
        pinned = _pins(LIBRARY_SET)[name]
        assert installed.get(name, pinned if name == "greenlet" else "absent") == pinned


@pytest.mark.parametrize(
    ("size", "count", "kept"),
    [
        pytest.param(0, 5, {"n0", "n1", "n2", "n3", "n4"}, id="no-limit"),
        pytest.param(9, 3, {"n0", "n1", "n2"}, id="fewer-than-asked"),
        pytest.param(2, 6, {"n0", "n3"}, id="evenly-spaced"),
    ],
)
def test_scenario_sample(size: int, count: int, kept: set[str]) -> None:
    """The sample is the same in every run and never larger than asked for."""
    assert sampling.sample({f"n{index}" for index in range(count)}, size) == kept
