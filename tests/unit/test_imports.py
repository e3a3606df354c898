"""Which package may import what: read from the source, so that nothing has to be importable."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("desired", "diff", "observed", "reconciler")
OWN = {
    "desired": {"desired"},
    "diff": {"desired", "diff"},
    "observed": {"desired", "observed"},
    "reconciler": set(PACKAGES),
}
PURE_THIRD_PARTY = {"netaddr"}
# octavia.py and its parts, octavia_*.py: the only modules that may see SQLAlchemy.
DATABASE = "ovnlb.desired.octavia"


def modules(root: Path) -> dict[str, ast.Module]:
    """Every module of the four packages by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(("ovnlb", *parts)).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text(), str(path))
    return found


def imports(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports, in functions too; `from a import b` gives a.b and a."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "." * node.level + (node.module or "")
            elif node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(found: dict[str, ast.Module]) -> list[str]:
    """Every import that goes against the direction of the packages, as `module: import`."""
    wrong = []
    for name, tree in found.items():
        package = name.split(".")[1]
        for target in imports(tree):
            if not _allowed(name, package, target):
                wrong.append(f"{name}: {target}")
    return sorted(set(wrong))


def _allowed(name: str, package: str, target: str) -> bool:
    if target.startswith("."):
        return False
    parts = target.split(".")
    if parts[0] == "ovnlb":
        return len(parts) == 1 or parts[1] in OWN[package]
    if package in ("observed", "reconciler"):
        return package == "reconciler" or parts[0] != "sqlalchemy"
    if name.startswith(DATABASE):
        return parts[0] not in ("ovs", "ovsdbapp", "openstack")
    return parts[0] in sys.stdlib_module_names or parts[0] in PURE_THIRD_PARTY


def reached(found: dict[str, ast.Module], start: str) -> set[str]:
    """All that importing a module imports at once, through modules of the project."""
    seen: set[str] = set()
    queue = [start]
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in found:
            parents = [name.rsplit(".", depth)[0] for depth in range(1, name.count("."))]
            queue += [*imports(found[name]), *parents]
    return seen


def test_imports_follow_the_direction() -> None:
    """desired and diff are pure, observed knows no diff, nobody knows reconciler."""
    assert violations(modules(ROOT)) == []


def test_all_four_packages_are_read() -> None:
    """An empty folder would make the other tests pass for nothing."""
    names = modules(ROOT)
    assert {name.split(".")[1] for name in names} == set(PACKAGES)
    assert {"ovnlb.desired.compute", "ovnlb.diff.compare", "ovnlb.observed.source"} <= names.keys()


def test_the_database_side_stays_out_of_the_pure_modules() -> None:
    """No other module of desired or diff comes with SQLAlchemy, not even through another one."""
    found = modules(ROOT)
    pure = [
        name for name in found if name.split(".")[1] in ("desired", "diff") and not name.startswith(DATABASE)
    ]
    assert [name for name in pure if "sqlalchemy" in reached(found, name)] == []
    assert "sqlalchemy" in reached(found, DATABASE)


@pytest.mark.parametrize("module", ["ovnlb.reconciler.driver"])
def test_driver_needs_no_ovsdb(module: str) -> None:
    """octavia-api loads the driver: neither ovs nor ovsdbapp may come with it."""
    found = modules(ROOT)
    assert module in found
    roots = {name.split(".")[0] for name in reached(found, module)}
    assert roots & {"ovs", "ovsdbapp"} == set()


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("ovnlb.diff.x", "import sqlalchemy"),
        ("ovnlb.diff.x", "from ovnlb.observed import nb"),
        ("ovnlb.diff.x", "from . import plan"),
        ("ovnlb.desired.x", "from ovnlb.diff.plan import Plan"),
        ("ovnlb.desired.x", "def f():\n    import ovs"),
        ("ovnlb.observed.x", "import ovnlb.diff"),
        ("ovnlb.observed.x", "from ovnlb import reconciler"),
        ("ovnlb.observed.x", "import sqlalchemy"),
    ],
)
def test_a_violation_is_found(name: str, source: str) -> None:
    """The walk itself sees what it is for."""
    assert violations({name: ast.parse(source)})


def test_the_transitive_walk_sees_an_indirect_import() -> None:
    """The driver would be caught through another module, and through a package's __init__."""
    found = {
        "ovnlb.reconciler.driver": ast.parse("from ovnlb.observed.thing import value"),
        "ovnlb.observed": ast.parse("import ovsdbapp"),
        "ovnlb.observed.thing": ast.parse("value = 1"),
    }
    assert "ovsdbapp" in reached(found, "ovnlb.reconciler.driver")
