"""The reporter: what is sent, what is dropped, and what happens when the driver-agent does not answer."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest

from clocks import Clock
from ovnlb.desired.octavia import DatabaseUnavailable
from ovnlb.desired.verdicts import Record, StatusUpdate
from ovnlb.reconciler import report as report_module
from ovnlb.reconciler.report import DELETION_PAUSE, AgentRefused, AgentUnavailable, Report, Reporter
from servers.ovsdb import wait_until

T0 = datetime(2026, 1, 1)
T1 = datetime(2026, 1, 2)
PENDING = "PENDING_UPDATE"


class Octavia:
    """The database's rows, the messages that came, and the faults of a test."""

    def __init__(self) -> None:
        self.rows = {}
        self.messages = []
        self.requeued = []
        self.results = []
        self.refused = set()
        self.down = None
        self.leading = True
        self.on_send = lambda message: None

    def send(self, message):
        if self.down is not None:
            raise self.down
        for kind in message:
            for record in message[kind]:
                if record["id"] in self.refused:
                    raise AgentRefused(f"{kind} {record['id']}")
        self.messages.append(message)
        self.on_send(message)

    def reread(self, ids):
        return {lb_id: self.rows[lb_id] for lb_id in ids if lb_id in self.rows}

    def add(self, lb_id, status=PENDING, updated=T0):
        self.rows[lb_id] = (status, "ovn", updated)


@pytest.fixture
def octavia():
    return Octavia()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def reporter(octavia, clock):
    return Reporter(
        octavia.send,
        octavia.reread,
        lambda lb_id, after: octavia.requeued.append((lb_id, after)),
        lambda: octavia.leading,
        lambda result, count: octavia.results.append((result, count)),
        clock,
    )


def report(lb_id, loaded=999.0, seen=(PENDING, T0), records=None, heals=False):
    own = Record("loadbalancers", lb_id, "ACTIVE")
    return Report(StatusUpdate(lb_id, (*(records or ()), own), heals), seen, loaded)


def told(octavia):
    return [record["id"] for message in octavia.messages for record in message.get("loadbalancers", ())]


def test_ready_load_balancers_share_one_message(octavia, reporter):
    for lb_id in ("a", "b", "c"):
        octavia.add(lb_id)
        reporter.submit(report(lb_id))
    assert reporter.backlog == 3
    reporter.flush()
    assert len(octavia.messages) == 1
    assert told(octavia) == ["a", "b", "c"]
    assert (reporter.backlog, octavia.results) == (0, [("sent", 3)])


def test_a_later_update_replaces_an_unsent_one(octavia, reporter):
    octavia.add("a")
    reporter.submit(report("a", records=[Record("members", "old", "ACTIVE")]))
    reporter.submit(report("a", records=[Record("members", "new", "ACTIVE")]))
    reporter.flush()
    assert [m["members"][0]["id"] for m in octavia.messages] == ["new"]


@pytest.mark.parametrize(
    ("status", "updated"),
    [("ACTIVE", T0), (PENDING, T1), ("DELETED", T0)],
    ids=["unlocked-by-another", "changed", "deleted-would-be-resurrected"],
)
def test_a_row_that_changed_is_not_reported_but_walked_again(octavia, reporter, status, updated):
    octavia.add("a", status, updated)
    octavia.add("b")
    reporter.submit(report("a"))
    reporter.submit(report("b"))
    reporter.flush()
    assert told(octavia) == ["b"]
    assert octavia.requeued == [("a", 0.0)]


def test_a_row_that_is_gone_is_dropped(octavia, reporter):
    reporter.submit(report("a"))
    reporter.flush()
    assert (octavia.messages, octavia.requeued) == ([], [])


def test_a_round_that_began_before_our_last_report_is_not_reported(octavia, reporter, clock):
    """updated_at has seconds only: two operations within one look the same."""
    octavia.add("a")
    reporter.submit(report("a", loaded=clock.now - 1))
    reporter.flush()
    clock.now += 0.2
    reporter.submit(report("a", loaded=clock.now - 0.5))
    reporter.flush()
    assert told(octavia) == ["a"]
    assert octavia.requeued == [("a", 0.0)]
    clock.now += 0.2
    reporter.submit(report("a", loaded=clock.now))
    reporter.flush()
    assert told(octavia) == ["a", "a"]


def test_an_absent_agent_loses_nothing_B002(octavia, reporter):
    octavia.add("a")
    octavia.down = AgentUnavailable("no driver-agent")
    reporter.submit(report("a"))
    reporter.flush()
    assert reporter.holds("a")
    assert reporter.last_error == "no driver-agent"
    octavia.down = None
    reporter.flush()
    assert told(octavia) == ["a"]
    assert (reporter.last_error, reporter.holds("a")) == ("", False)
    assert octavia.results == [("lost", 1), ("sent", 1)]


def test_an_absent_agent_does_not_overwrite_a_newer_update(octavia, reporter):
    octavia.add("a")

    def fail(message):
        reporter.submit(report("a", records=[Record("members", "new", "ACTIVE")]))
        raise AgentUnavailable("gone")

    octavia.on_send = fail
    reporter.submit(report("a", records=[Record("members", "old", "ACTIVE")]))
    reporter.flush()
    octavia.on_send = lambda message: None
    octavia.messages.clear()
    reporter.flush()
    assert [m["members"][0]["id"] for m in octavia.messages] == ["new"]


def test_a_database_that_is_away_keeps_the_backlog(octavia, reporter):
    octavia.add("a")
    reread, octavia.reread = octavia.reread, None
    reporter._reread = lambda ids: (_ for _ in ()).throw(DatabaseUnavailable("away"))
    reporter.submit(report("a"))
    reporter.flush()
    assert (octavia.messages, reporter.holds("a")) == ([], True)
    reporter._reread = reread
    reporter.flush()
    assert told(octavia) == ["a"]


def test_a_refused_record_harms_only_its_load_balancer(octavia, reporter):
    for lb_id in ("a", "b", "c"):
        octavia.add(lb_id)
        reporter.submit(report(lb_id))
    octavia.refused = {"b"}
    reporter.flush()
    assert told(octavia) == ["a", "c"]
    assert octavia.requeued == [("b", 1.0)]
    assert ("refused", 1) in octavia.results
    assert reporter.last_error == "loadbalancers b"


def test_refusals_back_off_and_end_with_a_success(octavia, reporter):
    octavia.add("a")
    octavia.refused = {"a"}
    for _ in range(12):
        reporter.submit(report("a"))
        reporter.flush()
    delays = [after for _, after in octavia.requeued]
    assert delays[:3] == [1.0, 2.0, 4.0]
    assert delays[-1] == 300.0
    octavia.refused = set()
    reporter.submit(report("a"))
    reporter.flush()
    assert reporter.last_error == ""
    octavia.refused = {"a"}
    reporter.submit(report("a", loaded=2000.0))
    reporter.flush()
    assert octavia.requeued[-1] == ("a", 1.0)


def test_who_is_not_the_writer_reports_nothing(octavia, reporter):
    octavia.add("a")
    octavia.leading = False
    reporter.submit(report("a"))
    reporter.flush()
    assert (octavia.messages, reporter.backlog) == ([], 0)


def test_the_row_is_read_again_before_every_message_of_a_long_report(octavia, reporter):
    members = [Record("members", f"m{number}", "DELETED") for number in range(120)]
    octavia.add("a")
    octavia.on_send = lambda message: octavia.add("a", "DELETED")
    reporter.submit(report("a", records=members))
    reporter.flush()
    assert len(octavia.messages) == 1
    assert told(octavia) == []
    assert ("a", 0.0) in octavia.requeued


def test_a_heal_travels_alone(octavia, reporter):
    octavia.add("a", "ERROR")
    octavia.add("b")
    reporter.submit(report("a", seen=("ERROR", T0), heals=True))
    reporter.submit(report("b"))
    reporter.flush()
    assert [sorted(r["id"] for r in m["loadbalancers"]) for m in octavia.messages] == [["b"], ["a"]]


def test_many_load_balancers_go_in_pieces(octavia, reporter):
    for number in range(2500):
        octavia.add(f"{number:04d}")
        reporter.submit(report(f"{number:04d}"))
    reporter.flush()
    assert [len(message["loadbalancers"]) for message in octavia.messages] == [1000, 1000, 500]


def test_deletions_wait_for_a_message_that_may_be_under_way(octavia, reporter, clock):
    """Octavia counts the quota down twice when two messages delete one object at one time."""
    deleted = [Record("members", "m", "DELETED")]
    for lb_id in ("a", "b"):
        octavia.add(lb_id)
    reporter.take_over()
    reporter.submit(report("a", records=deleted))
    reporter.submit(report("b"))
    reporter.flush()
    assert (told(octavia), reporter.holds("a")) == (["b"], True)
    clock.now += DELETION_PAUSE
    octavia.down = AgentUnavailable("no answer in 30 s")
    reporter.flush()
    octavia.down = None
    reporter.flush()
    assert told(octavia) == ["b"]
    clock.now += DELETION_PAUSE
    reporter.flush()
    assert told(octavia) == ["b", "a"]


def test_an_agent_that_does_not_answer_in_time_gets_less_at_once(octavia, reporter):
    for number in range(400):
        octavia.add(f"{number:04d}")
        reporter.submit(report(f"{number:04d}"))
    octavia.down = AgentUnavailable("no answer in 30 s")
    for _ in range(4):
        reporter.flush()
    octavia.down = None
    reporter.flush()
    sizes = [len(message["loadbalancers"]) for message in octavia.messages]
    assert sizes == [62, 124, 214]


def test_clear_forgets_the_backlog(octavia, reporter):
    octavia.add("a")
    reporter.submit(report("a"))
    reporter.clear()
    reporter.flush()
    assert octavia.messages == []


def test_what_is_ready_goes_together(octavia, reporter):
    stop = threading.Event()
    sent = threading.Event()
    octavia.on_send = lambda message: sent.set()
    for lb_id in ("a", "b"):
        octavia.add(lb_id)
        reporter.submit(report(lb_id))
    thread = threading.Thread(target=reporter.run, args=(stop,))
    thread.start()
    assert sent.wait(5)
    stop.set()
    thread.join(5)
    assert told(octavia) == ["a", "b"]
    assert len(octavia.messages) == 1


def test_a_lone_report_goes_at_once_and_the_next_ones_are_gathered(octavia, reporter, clock, monkeypatch):
    monkeypatch.setattr(report_module, "GATHER", 2.0)
    for lb_id in "abcd":
        octavia.add(lb_id)
    stop = threading.Event()
    thread = threading.Thread(target=reporter.run, args=(stop,))
    reporter.submit(report("a"))
    thread.start()
    wait_until(lambda: len(octavia.messages) == 1, "the lone report", 1.5)
    for lb_id in "bc":
        reporter.submit(report(lb_id))
    wait_until(lambda: len(octavia.messages) == 2, "the others")
    assert [record["id"] for record in octavia.messages[1]["loadbalancers"]] == ["b", "c"]
    clock.now += 1.0
    reporter.submit(report("d", loaded=1000.5))
    wait_until(lambda: len(octavia.messages) == 3, "the next lone one", 1.5)
    stop.set()
    thread.join(5)
