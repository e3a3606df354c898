"""A second distribution of our entry points, as pip leaves it in site-packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

from ovnlb.reconciler.checks.finding import Finding, Level
from ovnlb.reconciler.checks.packages import ENTRY_POINTS, packages

OURS = {
    "octavia.api.drivers": ("ovn", "ovnlb"),
    "octavia.driver_agent.provider_agents": ("ovn", "ovnlb"),
    "console_scripts": ("ovnlb",),
}
# What ovn-octavia-provider 11.0.0 registers.
ORIGINAL = {
    "octavia.api.drivers": ("ovn",),
    "octavia.driver_agent.provider_agents": ("ovn",),
    "console_scripts": ("octavia-ovn-db-sync-util",),
    "neutron.ovn.db_sync": ("octavia_ovn_sync",),
    "oslo.config.opts": ("octavia.api.drivers.ovn",),
}


def install(site: Path, name: str, version: str, points: Mapping[str, tuple[str, ...]]) -> None:
    """The metadata of an installed distribution."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line for group, names in points.items() for line in (f"[{group}]", *(f"{one} = m:f" for one in names))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")


def look(*sites: Path) -> list[Finding]:
    """The findings for these site directories."""
    return list(packages(metadata.distributions(path=[str(site) for site in sites])))


def test_alone(tmp_path: Path) -> None:
    """Ours alone is ok, also with distributions that have other names in the same groups."""
    install(tmp_path, "ovnlb", "0.1.0", OURS)
    install(
        tmp_path,
        "octavia",
        "19.0.0",
        {"octavia.api.drivers": ("amphora",), "console_scripts": ("octavia-api",)},
    )
    assert [(f.level, f.text) for f in look(tmp_path)] == [
        (Level.OK, "ovnlb 0.1.0 alone registers its entry points")
    ]


def test_the_original_beside_us(tmp_path: Path) -> None:
    """It is named with its version, every name that clashes, and the way out."""
    install(tmp_path, "ovnlb", "0.1.0", OURS)
    install(tmp_path, "ovn-octavia-provider", "11.0.0", ORIGINAL)
    (found,) = look(tmp_path)
    assert found.level is Level.FAILED
    assert found.text.startswith("ovn-octavia-provider 11.0.0 registers ")
    for name in (
        "octavia.api.drivers: ovn",
        "provider_agents: ovn",
        "octavia-ovn-db-sync-util",
        "octavia_ovn_sync",
    ):
        assert name in found.text
    assert "pip uninstall ovn-octavia-provider" in found.text


@pytest.mark.parametrize(
    ("group", "name"), [(group, name) for group, names in ENTRY_POINTS.items() for name in names]
)
def test_each_name_alone_clashes(tmp_path: Path, group: str, name: str) -> None:
    """One name of any group is enough."""
    install(tmp_path, "ovnlb", "0.1.0", OURS)
    install(tmp_path, "another", "1", {group: (name,)})
    (found,) = look(tmp_path)
    assert (found.level, f"{group}: {name}" in found.text) == (Level.FAILED, True)


def test_found_twice_is_one_distribution(tmp_path: Path) -> None:
    """Two entries of sys.path, or another spelling of the name, make no second distribution."""
    install(tmp_path / "a", "ovnlb", "0.1.0", OURS)
    install(tmp_path / "b", "OVNLB", "0.1.0", OURS)
    assert [f.level for f in look(tmp_path / "a", tmp_path / "b")] == [Level.OK]


def test_an_installation_without_entry_points(tmp_path: Path) -> None:
    """A source tree on the path, or an old installation: Octavia would not find the driver."""
    install(tmp_path, "ovnlb", "0.1.0", {"octavia.api.drivers": ("ovnlb",)})
    (found,) = look(tmp_path)
    assert found.level is Level.WARNING
    assert "octavia.api.drivers: ovn," in found.text


def test_what_is_declared_is_what_is_checked() -> None:
    """The installed project registers no name that the check does not know."""
    points = metadata.distribution("ovnlb").entry_points
    assert {(p.group, p.name) for p in points if p.name in ENTRY_POINTS.get(p.group, ())} == {
        (p.group, p.name) for p in points
    }
    assert [f.level for f in packages()] == [Level.OK]
