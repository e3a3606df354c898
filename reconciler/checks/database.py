"""Octavia's database: reachable, of the right schema, readable, and the one with our load balancers."""

from __future__ import annotations

from collections.abc import Iterator

from ovnlb.desired.octavia import check_schema, load_all, open_engine
from ovnlb.desired.octavia_server import count_of, database_server, living_by_provider
from ovnlb.reconciler.checks.finding import Finding, failed, ok, warning
from ovnlb.reconciler.settings import Settings


def database(settings: Settings, patience: float) -> Iterator[Finding]:
    """Raises DatabaseUnavailable and DatabaseUnusable."""
    seconds = max(1, int(patience))
    engine = open_engine(
        settings.database_url,
        connect_timeout=min(settings.database_connect_timeout, seconds),
        read_timeout=seconds,
        option=settings.database_option,
        pool_size=1,
    )
    try:
        server = database_server(engine)
        revision = f", schema revision {server.revision}" if server.revision else ""
        yield ok("database", f"{server.product}{revision}, from {settings.database_option}")
        check_schema(engine)
        graph = load_all(engine, settings.providers)
        yield ok("database tables", "every column that is read is there and readable")
        if server.rights:
            yield ok(
                "database rights",
                f"this user may do more than read ({'; '.join(server.rights)}); only SELECT is needed, see "
                "[ovnlb]database_connection",
            )
        yield _load_balancers(settings, living_by_provider(engine))
        if graph.broken:
            names = ", ".join(broken.id for broken in graph.broken[:5])
            yield failed(
                "load balancers", f"{len(graph.broken)} cannot be read, ovnlb plan says why: {names}"
            )
    finally:
        engine.dispose()


def _load_balancers(settings: Settings, counts: dict[str, int]) -> Finding:
    ours, others = count_of(counts, settings.providers), sum(counts.values())
    named = f"provider {', '.join(settings.providers)} ([ovnlb]providers)"
    if ours:
        return ok("load balancers", f"{ours} of {named}, {others - ours} of others")
    found = (
        ", ".join(f"{count} of {name or 'none'}" for name, count in sorted(counts.items())) or "none at all"
    )
    return warning(
        "load balancers",
        f"none of {named}, but {found}: the wrong database, the wrong providers, or a cloud without any yet",
    )
