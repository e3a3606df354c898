"""Reading Octavia's database, on MariaDB with its real schema and on SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ovnlb.desired import octavia
from ovnlb.desired.columns import COLUMNS
from ovnlb.desired.graph import from_dicts
from ovnlb.desired.model import BrokenLoadBalancer, LoadBalancer
from servers.mariadb import MariaDb
from servers.octavia_db import EPOCH, write_tables, writer

LB1, LB2, LB3 = "1b-1", "1b-2", "1b-3"
CREATED = EPOCH + timedelta(hours=1)


def sample() -> dict[str, list[dict[str, Any]]]:
    """Three load balancers: a full one, a bare one of another project, one of another provider."""
    return {
        "load_balancer": [
            {
                "id": LB1,
                "name": "web",
                "project_id": "p1",
                "provider": "ovn",
                "provisioning_status": "PENDING_UPDATE",
            },
            {"id": LB2, "name": "bare", "project_id": "p2", "provider": "OVN", "enabled": False},
            {"id": LB3, "name": "other", "project_id": "p1", "provider": "amphora"},
        ],
        "vip": [
            {
                "load_balancer_id": lb,
                "ip_address": f"10.0.0.{n}",
                "port_id": f"port{n}",
                "subnet_id": "s1",
                "network_id": "n1",
            }
            for n, lb in enumerate((LB1, LB2, LB3), 1)
        ],
        "additional_vip": [
            {
                "load_balancer_id": LB1,
                "ip_address": "fd00::1",
                "port_id": "port9",
                "subnet_id": "s9",
                "network_id": "n1",
            },
            {
                "load_balancer_id": LB1,
                "ip_address": "10.2.0.1",
                "port_id": "port8",
                "subnet_id": "s2",
                "network_id": "n2",
            },
        ],
        "pool": [
            {
                "id": "pool1",
                "load_balancer_id": LB1,
                "protocol": "TCP",
                "lb_algorithm": "SOURCE_IP",
                "name": "one",
            },
            {"id": "pool2", "load_balancer_id": LB1, "protocol": "UDP"},
        ],
        "session_persistence": [{"pool_id": "pool1", "type": "SOURCE_IP", "persistence_timeout": 90}],
        "listener": [
            {
                "id": "li1",
                "load_balancer_id": LB1,
                "protocol": "TCP",
                "protocol_port": 80,
                "default_pool_id": "pool1",
            },
            {"id": "li2", "load_balancer_id": LB1, "protocol": "UDP", "protocol_port": 53, "enabled": False},
        ],
        "member": [
            {
                "id": "m1",
                "pool_id": "pool1",
                "ip_address": "10.0.0.21",
                "protocol_port": 8080,
                "subnet_id": "s1",
                "weight": 5,
            },
            {
                "id": "m2",
                "pool_id": "pool1",
                "ip_address": "FD00::0:22",
                "protocol_port": 8080,
                "enabled": False,
                "backup": True,
            },
            {
                "id": "m3",
                "pool_id": "pool2",
                "ip_address": "10.0.0.23",
                "protocol_port": 53,
                "provisioning_status": "PENDING_CREATE",
            },
        ],
        "health_monitor": [
            {
                "id": "hm1",
                "pool_id": "pool1",
                "type": "TCP",
                "delay": 5,
                "timeout": 3,
                "rise_threshold": 2,
                "fall_threshold": 4,
            }
        ],
    }


def stamped(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The rows with explicit created_at, later rows earlier: order of rows and order of time differ."""
    return {
        table: [
            {**row, "created_at": (CREATED - timedelta(seconds=n)).isoformat()} if "id" in row else row
            for n, row in enumerate(rows)
        ]
        for table, rows in tables.items()
    }


@pytest.fixture
def filled(octavia_url: str) -> Iterator[sa.Engine]:
    """The reading engine of a database that holds `sample()`."""
    owner = writer(octavia_url)
    write_tables(owner, stamped(sample()))
    owner.dispose()
    engine = octavia.open_engine(octavia_url)
    yield engine
    engine.dispose()


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[str]]:
    """The statements that an engine executes meanwhile."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield seen
    sa.event.remove(engine, "before_cursor_execute", note)


def test_database_and_bundle_give_one_graph(filled: sa.Engine) -> None:
    ours = stamped(sample())
    ours["load_balancer"] = ours["load_balancer"][:2]
    ours["vip"] = ours["vip"][:2]
    graph = octavia.load_all(filled, ["ovn"])
    assert graph == from_dicts(ours)
    assert [lb.id for lb in graph.load_balancers] == [LB2, LB1]


def test_the_full_load_balancer(filled: sa.Engine) -> None:
    lb = octavia.load(filled, LB1)
    assert isinstance(lb, LoadBalancer)
    assert (lb.name, lb.project_id, lb.provider, lb.enabled) == ("web", "p1", "ovn", True)
    assert lb.created_at == CREATED
    assert [vip.address for vip in lb.vips] == ["10.0.0.1", "10.2.0.1", "fd00::1"]
    assert [(li.id, li.port, li.default_pool_id, li.enabled) for li in lb.listeners] == [
        ("li2", 53, None, False),
        ("li1", 80, "pool1", True),
    ]
    udp, tcp = lb.pools
    assert (udp.id, udp.persistence, udp.health_monitor) == ("pool2", None, None)
    assert tcp.persistence is not None
    assert (tcp.algorithm, tcp.persistence.type, tcp.persistence.timeout) == ("SOURCE_IP", "SOURCE_IP", 90)
    assert tcp.health_monitor is not None
    assert (tcp.health_monitor.rise, tcp.health_monitor.fall) == (2, 4)
    assert [(m.id, m.address, m.subnet_id, m.weight, m.enabled, m.backup) for m in tcp.members] == [
        ("m2", "FD00::0:22", None, None, False, True),
        ("m1", "10.0.0.21", "s1", 5, True, False),
    ]


def test_six_queries_in_one_transaction(filled: sa.Engine) -> None:
    octavia.pending(filled, ["ovn"])
    for read, queries in (
        (lambda: octavia.load_all(filled, ["ovn"]), 6),
        (lambda: octavia.load_many(filled, [LB1, LB2]), 1),
        (lambda: octavia.load(filled, LB1), 1),
    ):
        with statements(filled) as seen:
            read()
        assert len([s for s in seen if s.startswith("SELECT")]) == queries
        assert len([s for s in seen if not s.startswith("SELECT")]) == 1
        assert seen[0] in ("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")


def test_selects_name_their_columns(filled: sa.Engine) -> None:
    with statements(filled) as seen:
        octavia.load_all(filled, ["ovn"])
    assert not [s for s in seen if "*" in s]
    assert not [s for s in seen if "insert_headers" in s]


@pytest.mark.parametrize("before", range(1, 6))
def test_row_written_between_two_queries_is_not_seen(
    filled: sa.Engine, octavia_url: str, before: int
) -> None:
    """The writer commits after `before` of the six queries."""
    if octavia_url.startswith("sqlite"):
        with writer(octavia_url).connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    expected = octavia.load_all(filled, ["ovn"])
    extra = sample()["load_balancer"][0] | {"id": "1b-late"}
    vip = sample()["vip"][0] | {"load_balancer_id": "1b-late"}
    owner = writer(octavia_url)
    selects = 0

    def write(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        nonlocal selects
        selects += statement.startswith("SELECT")
        if selects == before + 1:
            member = {"id": "late", "pool_id": "pool1", "ip_address": "10.9.9.9", "protocol_port": 1}
            monitor = {"id": "late", "pool_id": "pool2"}
            tables = {"load_balancer": [extra], "vip": [vip], "member": [member], "health_monitor": [monitor]}
            write_tables(owner, tables, replace=False)
            selects = 100

    sa.event.listen(filled, "before_cursor_execute", write)
    seen = octavia.load_all(filled, ["ovn"])
    sa.event.remove(filled, "before_cursor_execute", write)
    assert selects >= 100
    assert seen == expected
    after = octavia.load_all(filled, ["ovn"])
    assert len(after.load_balancers) == len(expected.load_balancers) + 1


def test_sqlite_without_wal_refuses_the_writer_instead(octavia_sqlite: str) -> None:
    """In the default journal mode a commit must wait for the reader's snapshot to end."""
    owner = sa.create_engine(octavia_sqlite, connect_args={"timeout": 0.05})
    write_tables(owner, sample())
    engine = octavia.open_engine(octavia_sqlite)
    refused = []

    def write(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("SELECT json_array(member") and not refused:
            with pytest.raises(sa.exc.OperationalError, match="locked") as raised:
                write_tables(owner, {}, replace=True)
            refused.append(raised.value)

    sa.event.listen(engine, "before_cursor_execute", write)
    graph = octavia.load_all(engine, ["ovn"])
    assert refused
    assert [len(pool.members) for pool in graph.load_balancers[0].pools] == [2, 1]


@pytest.mark.parametrize("name", ['"', "\\", "a\\nb", "\n\t\x01\x7f", "</ü\u2028\ufeff", "[null]", "", " "])
def test_names_come_as_their_users_typed_them(octavia_url: str, name: str) -> None:
    tables = sample()
    for table in ("load_balancer", "pool", "listener", "member"):
        tables[table] = [row | {"name": name} for row in tables[table]]
    write_tables(writer(octavia_url), tables)
    lb = octavia.load(octavia.open_engine(octavia_url), LB1)
    assert isinstance(lb, LoadBalancer)
    found = {lb.name, *(pool.name for pool in lb.pools), *(one.name for one in lb.listeners)}
    assert found | {member.name for pool in lb.pools for member in pool.members} == {name}


def test_tables_of_different_collations_are_read_together(octavia_mariadb: str) -> None:
    write_tables(writer(octavia_mariadb), sample())
    expected = octavia.load(octavia.open_engine(octavia_mariadb), LB1)
    with writer(octavia_mariadb).begin() as connection:
        for table, collation in (("member", "utf8mb4_bin"), ("listener", "utf8mb4_unicode_ci")):
            connection.exec_driver_sql(
                f"ALTER TABLE {table} MODIFY name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {collation}"
            )
    assert isinstance(expected, LoadBalancer)
    assert octavia.load(octavia.open_engine(octavia_mariadb), LB1) == expected


def test_provider_names_compare_as_in_mariadb(filled: sa.Engine) -> None:
    assert {lb.id for lb in octavia.load_all(filled, ["Ovn"]).load_balancers} == {LB1, LB2}
    assert octavia.load_all(filled, []).load_balancers == ()


def test_project_scope(filled: sa.Engine) -> None:
    assert [lb.id for lb in octavia.load_all(filled, ["ovn"], project_id="p2").load_balancers] == [LB2]


def test_deleted_is_told_from_absent(filled: sa.Engine, octavia_url: str) -> None:
    with writer(octavia_url).begin() as connection:
        connection.exec_driver_sql(f"UPDATE load_balancer SET provisioning_status='DELETED' WHERE id='{LB1}'")
    assert [lb.id for lb in octavia.load_all(filled, ["ovn"]).load_balancers] == [LB2]
    deleted = octavia.load(filled, LB1)
    assert isinstance(deleted, LoadBalancer)
    assert deleted.provisioning_status == "DELETED"
    assert octavia.load(filled, "no-such") is None
    found = octavia.statuses_of(filled, [LB1, LB2, LB3, "no-such"])
    assert {lb: status[:2] for lb, status in found.items()} == {
        LB1: ("DELETED", "ovn"),
        LB2: ("ACTIVE", "OVN"),
        LB3: ("ACTIVE", "amphora"),
    }


def test_pending_is_the_work_queue(filled: sa.Engine) -> None:
    assert octavia.pending(filled, ["ovn"]) == [(LB1, "PENDING_UPDATE")]
    assert octavia.pending(filled, ["amphora"]) == []


def test_updated_since(filled: sa.Engine, octavia_url: str) -> None:
    late = CREATED + timedelta(hours=1)
    with writer(octavia_url).begin() as connection:
        connection.exec_driver_sql(f"UPDATE load_balancer SET updated_at='{late}.000000' WHERE id='{LB2}'")
    assert octavia.updated_since(filled, ["ovn"], late) == [LB2]
    assert octavia.updated_since(filled, ["ovn"], late.replace(tzinfo=UTC)) == [LB2]
    assert octavia.updated_since(filled, ["ovn"], CREATED) == [LB1, LB2]
    assert octavia.updated_since(filled, ["ovn"], late + timedelta(seconds=1)) == []
    assert octavia.statuses_of(filled, [LB2])[LB2][2] == late


def test_lookups_for_the_driver(filled: sa.Engine) -> None:
    assert octavia.lb_of_pool(filled, "pool2") == LB1
    assert octavia.lb_of_listener(filled, "li1") == LB1
    assert octavia.lb_of_pool(filled, "li1") is None
    assert octavia.lb_of_listener(filled, "pool2") is None
    assert octavia.newest_created_at(filled) == CREATED


def test_newest_created_at_of_an_empty_database(octavia_url: str) -> None:
    assert octavia.newest_created_at(octavia.open_engine(octavia_url)) is None


def test_l7_objects_are_read_only_when_there_are_any(filled: sa.Engine, octavia_url: str) -> None:
    rows = {
        "l7policy": [{"id": "po1", "listener_id": "li1", "provisioning_status": "PENDING_CREATE"}],
        "l7rule": [{"id": "ru1", "l7policy_id": "po1"}],
    }
    write_tables(writer(octavia_url), rows, replace=False)
    with statements(filled) as seen:
        lb = octavia.load(filled, LB1)
    assert isinstance(lb, LoadBalancer)
    assert [(o.id, o.kind, o.provisioning_status) for li in lb.listeners for o in li.l7] == [
        ("po1", "l7policies", "PENDING_CREATE"),
        ("ru1", "l7rules", "ACTIVE"),
    ]
    assert len(seen) == 4


def test_many_ids_are_read_in_chunks_from_one_snapshot(filled: sa.Engine) -> None:
    ids = [f"absent-{n}" for n in range(octavia.CHUNK * 2)] + [LB1, LB1]
    with statements(filled) as seen:
        graph = octavia.load_many(filled, ids)
    assert [lb.id for lb in graph.load_balancers] == [LB1]
    assert len(seen) == 1 + 3
    assert octavia.load_many(filled, []).load_balancers == ()


def test_load_balancer_without_vip_is_broken(filled: sa.Engine, octavia_url: str) -> None:
    with writer(octavia_url).begin() as connection:
        connection.exec_driver_sql(f"DELETE FROM vip WHERE load_balancer_id='{LB1}'")
        connection.exec_driver_sql(f"UPDATE vip SET ip_address=NULL WHERE load_balancer_id='{LB2}'")
    graph = octavia.load_all(filled, ["ovn"])
    assert graph.load_balancers == ()
    assert {b.id: b.reason for b in graph.broken} == {
        LB1: f"load balancer {LB1} has no row in table vip",
        LB2: f"load balancer {LB2} has no ip_address in its row of table vip",
    }
    assert isinstance(octavia.load(filled, LB2), BrokenLoadBalancer)


def test_read_tables_is_json_and_gives_the_graph_back(filled: sa.Engine) -> None:
    tables = octavia.read_tables(filled, ["ovn"])
    assert {table: set(rows[0]) for table, rows in tables.items() if rows} == {
        table: set(COLUMNS[table]) for table in tables if tables[table]
    }
    assert from_dicts(json.loads(json.dumps(tables))) == octavia.load_all(filled, ["ovn"])
    of_ids = octavia.read_tables(filled, ids=[LB3])
    assert [row["id"] for row in of_ids["load_balancer"]] == [LB3]
    assert of_ids["member"] == []


def test_select_is_privilege_enough(mariadb: MariaDb, octavia_mariadb: str) -> None:
    write_tables(writer(octavia_mariadb), sample())
    database = sa.make_url(octavia_mariadb).database
    mariadb.execute(
        "CREATE OR REPLACE USER reader@localhost IDENTIFIED BY 'x'",
        f"GRANT SELECT ON {database}.* TO reader@localhost",
    )
    engine = octavia.open_engine(mariadb.url(str(database), "reader", "x"))
    octavia.check_schema(engine)
    assert len(octavia.load_all(engine, ["ovn"]).load_balancers) == 2
    with pytest.raises(sa.exc.OperationalError, match="denied"), engine.connect() as connection:
        connection.exec_driver_sql("DELETE FROM vip")


def test_nothing_can_be_written(filled: sa.Engine) -> None:
    with (
        pytest.raises(sa.exc.DatabaseError, match=r"READ ONLY|readonly"),
        filled.connect() as connection,
    ):
        connection.exec_driver_sql("DELETE FROM vip")


def test_schema_is_accepted(filled: sa.Engine) -> None:
    octavia.check_schema(filled)


def test_missing_columns_and_tables_are_all_named(octavia_url: str) -> None:
    with writer(octavia_url).begin() as connection:
        connection.exec_driver_sql("DROP TABLE additional_vip")
        connection.exec_driver_sql("ALTER TABLE member DROP COLUMN backup")
        connection.exec_driver_sql("ALTER TABLE member DROP COLUMN weight")
    with pytest.raises(octavia.DatabaseUnusable) as raised:
        octavia.check_schema(octavia.open_engine(octavia_url))
    text = str(raised.value)
    assert "lacks table additional_vip, column member.weight, column member.backup: upgrade" in text
    assert text.startswith("[database]connection (")


def test_another_database_is_recognised(mariadb: MariaDb) -> None:
    mariadb.execute("CREATE DATABASE IF NOT EXISTS neutron")
    with pytest.raises(octavia.DatabaseUnusable, match="has no load_balancer table: it is not Octavia's"):
        octavia.check_schema(octavia.open_engine(mariadb.url("neutron")))


def test_times_come_back_as_naive_utc(filled: sa.Engine) -> None:
    lb = octavia.load(filled, LB1)
    assert isinstance(lb, LoadBalancer)
    assert lb.created_at == datetime(2026, 1, 1, 13, 0, 0)
    assert lb.created_at.tzinfo is None
