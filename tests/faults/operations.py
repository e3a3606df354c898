"""What octavia-api commits, for the load balancers of `clouds`, and what must hold afterwards."""

from __future__ import annotations

import itertools
import random
import threading
from datetime import UTC, datetime
from typing import Any

from clouds import Cloud, lb_id, object_id
from ovnlb.reconciler.service import Service
from servers.ovsdb import wait_until
from service_world import ServiceWorld

PROJECT_QUOTAS = ("load_balancer", "listener", "pool", "member", "health_monitor")
_ports = itertools.count(9000)


def now() -> datetime:
    """As Octavia writes updated_at."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


def start_cloud(world: ServiceWorld, made: Cloud) -> None:
    """The cloud's rows everywhere, and quotas that count them."""
    world.load(made.octavia, made.topology, made.neutron)
    world.sql("DELETE FROM quotas")
    counts = ", ".join(f"(SELECT COUNT(*) FROM {table})" for table in PROJECT_QUOTAS)
    columns = ", ".join(f"in_use_{table}" for table in PROJECT_QUOTAS)
    project = made.octavia["load_balancer"][0]["project_id"]
    world.sql(f"INSERT INTO quotas (project_id, {columns}) SELECT '{project}', {counts}")


def update_member(world: ServiceWorld, number: int, part: int = 0) -> int:
    """A member gets another port; returns it. Refused (-1) while the load balancer is not ACTIVE."""
    port = next(_ports) % 60000 + 1024
    pool, listener = object_id("b0010000", number, part), object_id("11500000", number, part)
    with world.engine.begin() as connection:

        def run(text: str, **values: Any) -> int:
            import sqlalchemy as sa

            return connection.execute(sa.text(text), values).rowcount

        locked = run(
            "UPDATE load_balancer SET provisioning_status = 'PENDING_UPDATE', updated_at = :t "
            "WHERE id = :i AND provisioning_status = 'ACTIVE'",
            t=now(),
            i=lb_id(number),
        )
        if not locked:
            return -1
        pending = "SET provisioning_status = 'PENDING_UPDATE' WHERE id = :i"
        run(f"UPDATE listener {pending}", i=listener)
        run(f"UPDATE pool {pending}", i=pool)
        run(
            "UPDATE member SET provisioning_status = 'PENDING_UPDATE', protocol_port = :p WHERE id = :i",
            p=port,
            i=object_id("3e3be000", number, part * 100),
        )
    return port


def delete_balancer(world: ServiceWorld, number: int) -> None:
    """A cascade delete: only the load balancer's own row changes."""
    world.sql(
        "UPDATE load_balancer SET provisioning_status = 'PENDING_DELETE', updated_at = :t WHERE id = :i",
        t=now(),
        i=lb_id(number),
    )


class Load:
    """Users who update members all the time, in a thread, with nudges."""

    def __init__(self, world: ServiceWorld, count: int) -> None:
        self._world, self._count = world, count
        self._stop = threading.Event()
        self.operations = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        draw = random.Random(7)
        while not self._stop.wait(0.05):
            number = draw.randrange(self._count)
            self._world.nudge(lb_id(number))
            if update_member(self._world, number) > 0:
                self.operations += 1


def assert_whole(world: ServiceWorld, service: Service, patience: float = 60.0) -> None:
    """Nothing PENDING, rows as desired, none doubled, quotas right, and a second pass writes nothing."""
    world.settle(patience)
    wait_until(lambda: not world.differences(service), "nothing to be left to do", patience)
    assert world.doubled() == []
    for table in PROJECT_QUOTAS:
        living = (
            "SELECT COUNT(*) FROM load_balancer WHERE provisioning_status <> 'DELETED'"
            if table == "load_balancer"
            else f"SELECT COUNT(*) FROM {table}"
        )
        assert world.sql(f"SELECT in_use_{table} FROM quotas") == world.sql(living), table
    assert transactions_of_a_pass(service) == 0


def transactions(service: Service) -> float:
    """OVSDB transactions of a service so far."""
    return service.metrics.registry.get_sample_value("ovnlb_ovsdb_txn_total", {"status": "success"}) or 0.0


def transactions_of_a_pass(service: Service) -> float:
    """What one more full pass sends."""
    wait_until(lambda: service.leading and service.first_pass.is_set(), "a first pass", 30)
    wait_until(lambda: service.queue.idle, "an idle queue", 30)
    before, at = transactions(service), service.resync.last_success
    service.resync.request("test")
    wait_until(lambda: service.resync.last_success != at, "a second pass", 60)
    return transactions(service) - before
