"""The metrics of the service as data: for the page, the alert rules and the dashboard."""

from __future__ import annotations

from dataclasses import dataclass

from ovnlb.reconciler.metrics import Metrics


@dataclass(frozen=True)
class Metric:
    """A metric as Prometheus names it. `series`: every name under which it has samples."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    series: frozenset[str]


def metrics() -> tuple[Metric, ...]:
    """Every metric, in the order of the code."""
    found = Metrics()
    labels = {
        one._name: tuple(one._labelnames) for one in vars(found).values() if hasattr(one, "_labelnames")
    }
    return tuple(
        Metric(
            f"{family.name}_total" if family.type == "counter" else family.name,
            family.type,
            labels[family.name],
            family.documentation,
            _series(family.name, family.type),
        )
        for family in found.registry.collect()
    )


def _series(name: str, kind: str) -> frozenset[str]:
    ends = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(kind, ("",))
    return frozenset(f"{name}{end}" for end in ends)
