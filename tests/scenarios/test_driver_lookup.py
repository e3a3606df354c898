"""The driver's short read of the Octavia database: what it finds, and what a bad database does to it."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time

import pytest
import sqlalchemy as sa
from octavia_lib.api.drivers import data_models as dm
from octavia_lib.api.drivers import exceptions

from ovnlb.desired.octavia_url import open_engine
from ovnlb.reconciler.driver import OvnlbProviderDriver
from ovnlb.reconciler.driver_lookup import CONNECTIONS, PAUSE, TIMEOUT, DriverLookup
from ovnlb.reconciler.driver_world import DriverWorld
from ovnlb.reconciler.validate import VipFacts
from servers.octavia_db import write_tables, writer

LB, POOL, MEMBER = "lb-1", "pool-1", "member-1"
ROWS = {
    "load_balancer": [{"id": LB, "provider": "ovn"}, {"id": "lb-2", "provider": "ovn"}],
    "vip": [
        {"load_balancer_id": LB, "ip_address": "10.0.0.10", "subnet_id": "sub-4"},
        {"load_balancer_id": "lb-2", "ip_address": "10.0.0.11", "subnet_id": "sub-4"},
    ],
    "additional_vip": [
        {"load_balancer_id": LB, "ip_address": "fd00::10", "subnet_id": "sub-6"},
        {"load_balancer_id": LB, "ip_address": "10.1.0.10", "subnet_id": "sub-5"},
    ],
    "pool": [{"id": POOL, "load_balancer_id": LB}, {"id": "pool-2", "load_balancer_id": "lb-2"}],
    "member": [
        {"id": MEMBER, "pool_id": POOL, "ip_address": "10.0.0.21", "protocol_port": 80},
        {"id": "member-2", "pool_id": "pool-2", "ip_address": "10.0.0.21", "protocol_port": 80},
    ],
}
VIPS = (("10.0.0.10", "sub-4"), ("10.1.0.10", "sub-5"), ("fd00::10", "sub-6"))


def lookup_of(url):
    return DriverLookup(
        lambda: open_engine(url, connect_timeout=TIMEOUT, read_timeout=TIMEOUT, pool_size=CONNECTIONS)
    )


@pytest.fixture
def database(octavia_url):
    write_tables(writer(octavia_url), ROWS)
    return octavia_url


def test_a_pools_load_balancer_with_all_vips(database):
    lookup = lookup_of(database)
    assert lookup.of_pool(POOL) == VipFacts(LB, VIPS)
    assert lookup.of_pool(POOL, with_members=True) == VipFacts(LB, VIPS, frozenset({MEMBER}))
    assert lookup.of_pool("pool-2") == VipFacts("lb-2", (("10.0.0.11", "sub-4"),))
    assert lookup.of_pool("no-such") is None
    assert lookup.of_pool("") is None


def test_two_connections_at_most_for_any_number_of_requests(octavia_mariadb):
    write_tables(writer(octavia_mariadb), ROWS)
    engine = open_engine(octavia_mariadb, connect_timeout=60, pool_size=CONNECTIONS)
    opened, answers = [], []
    sa.event.listen(engine, "connect", lambda connection, record: opened.append(connection))
    lookup = DriverLookup(lambda: engine)
    threads = [threading.Thread(target=lambda: answers.append(lookup.of_pool(POOL))) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [VipFacts(LB, VIPS)] * 30
    assert 1 <= len(opened) <= CONNECTIONS


def test_a_question_that_finds_no_free_connection_is_left_open_in_time(octavia_mariadb):
    engine = open_engine(octavia_mariadb, connect_timeout=1, pool_size=1)
    with engine.connect():
        started = time.monotonic()
        assert DriverLookup(lambda: engine).of_pool(POOL) is None
        assert 0.9 < time.monotonic() - started < 10


def test_the_apis_own_open_transaction_is_neither_seen_nor_waited_for(octavia_mariadb):
    """octavia-api holds a lock on the LB row while it calls the driver."""
    engine = writer(octavia_mariadb)
    write_tables(engine, ROWS)
    lookup = lookup_of(octavia_mariadb)
    lookup.of_pool(POOL)
    with engine.connect() as api:
        api.execute(sa.text("UPDATE load_balancer SET provisioning_status='PENDING_UPDATE'"))
        api.execute(sa.text("UPDATE vip SET ip_address='10.0.0.99'"))
        started = time.monotonic()
        assert lookup.of_pool(POOL).vips == VIPS
        assert time.monotonic() - started < 0.5
        api.rollback()


@pytest.fixture
def silent_database():
    """A server that accepts connections and says nothing, as a hanging MariaDB does."""
    server = socket.create_server(("127.0.0.1", 0))
    yield f"mysql+pymysql://u:p@127.0.0.1:{server.getsockname()[1]}/octavia"
    server.close()


def test_a_silent_database_costs_one_timeout_then_nothing_for_a_while(silent_database, caplog):
    now = [0.0]
    lookup = DriverLookup(
        lambda: open_engine(silent_database, connect_timeout=TIMEOUT, read_timeout=TIMEOUT), lambda: now[0]
    )
    started = time.monotonic()
    with caplog.at_level(logging.WARNING):
        assert lookup.of_pool(POOL) is None
        first = time.monotonic() - started
        assert [lookup.of_pool(POOL) for _ in range(100)] == [None] * 100
    assert first < TIMEOUT + 1
    assert time.monotonic() - started < first + 0.5
    assert len(caplog.records) == 1
    assert "does not answer the driver" in caplog.text
    assert ":p@" not in caplog.text
    now[0] += PAUSE + 0.1
    started = time.monotonic()
    lookup.of_pool(POOL)
    assert time.monotonic() - started > 0.5, "it is asked again after the pause"


@pytest.mark.parametrize("url", ["mysql://u@127.0.0.1:1/octavia", "postgresql://x/y", "garbage", ""])
def test_an_unusable_database_leaves_the_checks_that_need_none(url):
    nudged = []
    driver = OvnlbProviderDriver(DriverWorld(lookup_of(url), None, nudged.append))
    with pytest.raises(exceptions.UnsupportedOptionError, match="monitor address"):
        driver.member_create(dm.Member(pool_id=POOL, address="10.0.0.1", monitor_port=8))
    driver.member_create(dm.Member(pool_id=POOL, address="10.0.0.1", subnet_id="s"))
    assert nudged == [None]


def test_a_forked_process_makes_connections_of_its_own(octavia_mariadb):
    write_tables(writer(octavia_mariadb), ROWS)
    lookup = lookup_of(octavia_mariadb)
    assert lookup.of_pool(POOL) is not None
    parents = lookup._engine
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = lookup.of_pool(POOL)
        os.write(writing, b"1" if found and lookup._engine is not parents else b"0")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 1) == b"1"
    assert lookup._engine is parents
    assert lookup.of_pool(POOL) == VipFacts(LB, VIPS)
