"""The fault catalogue against the tests: every entry of the listed kinds has a test that names it.

tests/cases/catalogue.json holds the entries (B..: reported faults, L..: faults found by reading) with
their kind. A test names one in its own name (`..._B030`) or in the id of a parameter.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
CATALOGUE: dict[str, dict[str, Any]] = json.loads((TESTS / "cases" / "catalogue.json").read_text())
KINDS = {
    "member status": 10,
    "health monitor": 7,
    "FIP": 9,
    "leaked ports": 4,
    "member without subnet": 4,
    "config/auth/endpoint": 7,
    "IPv6": 7,
    "cascade delete": 1,
    "sync tool": 15,
    "upgrade/legacy data": 6,
    "race/concurrency": 9,
    "stale vips": 9,
    "provider network": 4,
    "wrong ls association": 3,
    "OVN version": 12,
}
ENTRY = re.compile(r"(?<![A-Za-z0-9])([BL]\d{2,3})(?![A-Za-z0-9])")


def named(source: str) -> Iterator[str]:
    """The entries that the tests of a module name: in names of tests and in texts but docstrings."""
    tree = ast.parse(source)
    documents = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from ENTRY.findall(node.name.replace("_", " "))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents:
            yield from ENTRY.findall(node.value.replace("_", " "))


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """The entries that any test module names; this one does not count."""
    modules = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__) and "ns" not in path.parts]
    return {entry for path in modules for entry in named(path.read_text())}


def test_every_entry_has_a_test(tested: set[str]) -> None:
    """But for those that are listed as missing."""
    listed = {entry for entry, found in CATALOGUE.items() if "missing" not in found}
    assert sorted(listed - tested) == []


def test_at_most_one_entry_in_ten_is_missing(tested: set[str]) -> None:
    """Each with its reason; one that has a test by now counts as tested."""
    missing = [entry for entry, found in CATALOGUE.items() if "missing" in found and entry not in tested]
    assert len(missing) <= len(CATALOGUE) / 10
    assert all(CATALOGUE[entry]["missing"] for entry in missing)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_listed_in_full(kind: str) -> None:
    """As many entries as the catalogue has of that kind, each with words of its own."""
    found = [entry for entry, item in CATALOGUE.items() if item["kind"] == kind]
    assert len(found) >= KINDS[kind]
    assert all(CATALOGUE[entry]["fault"] for entry in found)


def test_names_are_read_from_names_and_ids_only() -> None:
    """Docstrings and comments prove nothing."""
    source = '''
"""Module B001."""
# B002
def test_one_B003(): "Docstring B004."
ids = ["B005-x", "zB006", "L07: y", "B1"]
def helper_B008(): pass
'''
    assert sorted(named(source)) == ["B003", "B005", "L07"]
