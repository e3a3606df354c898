"""Bundles: what a plan depends on, in one JSON file, so that it can be made again without servers.

`{"format_version": "1.0", "octavia": {table: [rows]}, "neutron": {"networks", "subnets", "ports",
"floatingips"}, "nb": {table: [rows with "_uuid"]}, "sb": {table: [rows]}, "options":
{"drain_on_zero_weight": true}}`. A missing part is an empty one, a missing option has its default. No
secrets: rows hold only the columns that a plan reads.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ovnlb.desired.graph import Graph, MalformedRow, from_dicts
from ovnlb.observed.bundle import BundleNorthbound
from ovnlb.observed.bundle_form import BundleError
from ovnlb.observed.bundle_neutron import BundleNeutron
from ovnlb.observed.sb import bundle_health
from ovnlb.reconciler.inputs import Scope, scoped
from ovnlb.reconciler.walk import World
from ovnlb.reconciler.whole_file import write_whole

FORMAT_VERSION = "1.0"
PARTS = ("octavia", "neutron", "nb", "sb")


def read_bundle(path: str) -> dict[str, Any]:
    """The bundle in a file, `-` for standard input. Raises BundleError naming the file."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
        bundle = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(f"bundle {path}: {error}") from None
    if not isinstance(bundle, dict):
        raise BundleError(f"bundle {path}: must be a JSON object")
    version = str(bundle.get("format_version", FORMAT_VERSION))
    if version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise BundleError(f"bundle {path}: format_version {version} is not readable, {FORMAT_VERSION} is")
    return bundle


def write_bundle(path: str, parts: Mapping[str, Any]) -> None:
    """Write a bundle to a file, `-` for standard output; complete or not at all. Raises BundleError."""
    text = json.dumps({"format_version": FORMAT_VERSION, **parts}, indent=1, sort_keys=True) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        write_whole(path, text)
    except OSError as error:
        raise BundleError(f"bundle {path}: {error}") from None


class BundleInputs:
    """Everything a plan needs, out of a bundle. Raises BundleError on a malformed part."""

    def __init__(self, bundle: Mapping[str, Any]) -> None:
        health = bundle_health(bundle.get("sb"))
        self.world = World(
            nb=BundleNorthbound(bundle.get("nb")),
            neutron=BundleNeutron(bundle.get("neutron")),
            health=lambda: health,
            drain=_drain(bundle),
        )
        octavia = bundle.get("octavia") or {}
        if not isinstance(octavia, Mapping):
            raise BundleError("bundle: 'octavia' must be an object of tables")
        try:
            self._graph = from_dicts(octavia)
        except MalformedRow as error:
            raise BundleError(f"bundle: octavia: {error}") from None

    def graph(self, scope: Scope) -> Graph:
        """The graph of the load balancers in scope."""
        return scoped(self._graph, scope)


def _drain(bundle: Mapping[str, Any]) -> bool:
    """Whether the configuration that the bundle was made under lets members of weight 0 drain."""
    options = {} if bundle.get("options") is None else bundle["options"]
    drain = options.get("drain_on_zero_weight", True) if isinstance(options, Mapping) else None
    if not isinstance(drain, bool):
        raise BundleError("bundle: 'options' must be an object, drain_on_zero_weight true or false")
    return drain
