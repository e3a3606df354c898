"""What a command works on: the graph in its scope and the world around it, live or from a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ovnlb.desired.graph import Graph
from ovnlb.reconciler.walk import World


@dataclass(frozen=True, slots=True)
class Scope:
    """Which load balancers a command is about; all when both are empty."""

    ids: tuple[str, ...] = ()
    project: str | None = None

    @property
    def partial(self) -> bool:
        """Whether load balancers are left out: such a scope never prunes."""
        return bool(self.ids) or self.project is not None


class UnknownLoadBalancer(LookupError):
    """An id that was asked for and is not in the Octavia database (or not of our providers)."""


class Inputs(Protocol):
    """A source of graphs, with the world to plan them in."""

    @property
    def world(self) -> World:
        """Where the graphs are planned."""

    def graph(self, scope: Scope) -> Graph:
        """The graph in scope. Raises UnknownLoadBalancer for an id that does not exist."""


def scoped(graph: Graph, scope: Scope) -> Graph:
    """The part of a whole graph that is in scope."""
    _require_ids(graph, scope.ids)
    wanted = set(scope.ids)
    return Graph(
        tuple(
            lb
            for lb in graph.load_balancers
            if (not wanted or lb.id in wanted) and scope.project in (None, lb.project_id)
        ),
        tuple(broken for broken in graph.broken if not wanted or broken.id in wanted),
    )


def _require_ids(graph: Graph, ids: Sequence[str]) -> None:
    """Raise UnknownLoadBalancer when one of the ids is not in the graph."""
    known = {lb.id for lb in graph.load_balancers} | {broken.id for broken in graph.broken}
    missing = [lb_id for lb_id in ids if lb_id not in known]
    if missing:
        raise UnknownLoadBalancer(
            f"load balancer {', '.join(missing)}: not in the Octavia database, or of another provider"
        )
