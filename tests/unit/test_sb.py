"""Service_Monitor rows as health, and how long an expected monitor may be missing."""

import pytest

from ovnlb.desired.facts import Health, MonitorKey
from ovnlb.observed.bundle import BundleError
from ovnlb.observed.sb import AbsenceTracker, bundle_health, health

KEY = MonitorKey("vm1", "10.0.0.21", 8080, "tcp")
OTHER = MonitorKey("vm2", "10.0.0.22", 8080, "tcp")


def row(**columns):
    base = {"logical_port": "vm1", "ip": "10.0.0.21", "port": 8080, "protocol": ["tcp"], "status": ["online"]}
    return base | columns


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tracker(clock):
    return AbsenceTracker(clock)


@pytest.mark.parametrize(
    ("columns", "key", "status"),
    [
        pytest.param({}, KEY, "online", id="plain"),
        pytest.param({"protocol": []}, KEY, "online", id="empty-protocol-is-tcp"),
        pytest.param({"protocol": "TCP"}, KEY, "online", id="B035"),
        pytest.param({"status": []}, KEY, "", id="status-not-known-yet"),
        pytest.param({"status": None}, KEY, "", id="status-null"),
        pytest.param({"status": "error"}, KEY, "error", id="L28-error-is-kept"),
        pytest.param({"status": ["confused"]}, KEY, "", id="unknown-status"),
        pytest.param({"remote": False, "chassis_name": "c"}, KEY, "online", id="B128-unknown-columns"),
        pytest.param({"type": []}, KEY, "online", id="B128-empty-type"),
        pytest.param({"type": "load-balancer"}, KEY, "online", id="B128-type"),
        pytest.param(
            {"ip": "FD00:0::21"}, MonitorKey("vm1", "fd00::21", 8080, "tcp"), "online", id="v6-canonical"
        ),
        pytest.param({"protocol": "udp"}, MonitorKey("vm1", "10.0.0.21", 8080, "udp"), "online", id="udp"),
    ],
)
def test_row_is_read(columns, key, status):
    assert health([row(**columns)], complete=True).monitors == {key: status}


@pytest.mark.parametrize(
    "columns",
    [
        {"ip": "10.0.0.300"},
        {"ip": []},
        {"port": []},
        {"type": "logical-switch-port"},
        {"type": ["network-function"]},
    ],
)
def test_row_of_no_member_is_left_out(columns):
    assert health([row(**columns), row()], complete=True).monitors == {KEY: "online"}


def test_prefix_addresses_are_different_monitors_L28():
    found = health([row(ip="10.0.0.1", status="offline"), row(ip="10.0.0.10")], complete=True)
    assert found.monitors == {
        MonitorKey("vm1", "10.0.0.1", 8080, "tcp"): "offline",
        MonitorKey("vm1", "10.0.0.10", 8080, "tcp"): "online",
    }


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [(["online", "offline"], "offline"), (["offline", "error"], "error"), (["online", ""], "")],
)
def test_worst_of_rows_with_one_key_counts_in_any_order(statuses, worst):
    rows = [row(status=status, src_ip=f"10.0.0.{n}") for n, status in enumerate(statuses)]
    assert health(rows, complete=True).monitors == {KEY: worst}
    assert health(reversed(rows), complete=True).monitors == {KEY: worst}


def test_bundle_without_monitors_is_not_complete():
    assert bundle_health(None) == Health({}, complete=False)
    assert bundle_health({"Service_Monitor": []}) == Health({}, complete=True)
    assert bundle_health({"Service_Monitor": [row(_uuid="sm")]}).monitors == {KEY: "online"}


def test_malformed_bundle_names_table_and_row():
    with pytest.raises(BundleError, match=r"sb\.Service_Monitor\[1\]"):
        bundle_health({"Service_Monitor": [row(_uuid="sm"), "text"]})


@pytest.mark.parametrize("monitors", [{}, {KEY: ""}], ids=["absent", "empty"])
def test_missing_monitor_is_overdue_after_three_intervals_B127(tracker, clock, monitors):
    assert tracker.update("lb", {KEY: 5}, monitors, complete=True) == frozenset()
    clock.now += 14.9
    assert tracker.update("lb", {KEY: 5}, monitors, complete=True) == frozenset()
    clock.now += 0.1
    assert tracker.update("lb", {KEY: 5}, monitors, complete=True) == {KEY}


def test_interval_is_each_keys_own(tracker, clock):
    expected = {KEY: 5, OTHER: 60}
    tracker.update("lb", expected, {}, complete=True)
    clock.now += 20
    assert tracker.update("lb", expected, {}, complete=True) == {KEY}
    clock.now += 160
    assert tracker.update("lb", expected, {}, complete=True) == {KEY, OTHER}


@pytest.mark.parametrize("status", ["online", "offline", "error"])
def test_a_status_starts_the_grace_anew_B040(tracker, clock, status):
    tracker.update("lb", {KEY: 5}, {}, complete=True)
    clock.now += 14
    assert tracker.update("lb", {KEY: 5}, {KEY: status}, complete=True) == frozenset()
    clock.now += 14
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == frozenset()
    clock.now += 15
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == {KEY}


def test_a_key_no_longer_expected_starts_anew(tracker, clock):
    tracker.update("lb", {KEY: 5}, {}, complete=True)
    clock.now += 20
    tracker.update("lb", {}, {}, complete=True)
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == frozenset()


def test_lost_southbound_downgrades_nobody_and_does_not_age(tracker, clock):
    tracker.update("lb", {KEY: 5}, {}, complete=True)
    clock.now += 10
    assert tracker.update("lb", {KEY: 5}, {}, complete=False) == frozenset()
    clock.now += 3600
    assert tracker.update("lb", {KEY: 5}, {}, complete=False) == frozenset()
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == frozenset()
    clock.now += 4.9
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == frozenset()
    clock.now += 0.1
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == {KEY}


def test_absence_between_two_updates_does_not_age(tracker, clock):
    tracker.update("lb", {KEY: 5}, {}, complete=True)
    clock.now += 1
    tracker.disconnected()
    clock.now += 600
    tracker.disconnected()
    tracker.connected()
    tracker.connected()
    clock.now += 13
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == frozenset()
    clock.now += 1
    assert tracker.update("lb", {KEY: 5}, {}, complete=True) == {KEY}


def test_overdue_while_away_is_not_due(tracker, clock):
    tracker.update("lb", {KEY: 5}, {}, complete=True)
    tracker.disconnected()
    clock.now += 600
    assert tracker.due() == ()


def test_due_names_each_load_balancer_until_it_is_updated(tracker, clock):
    tracker.update("lb2", {KEY: 5}, {}, complete=True)
    tracker.update("lb1", {OTHER: 5}, {}, complete=True)
    tracker.update("lb3", {OTHER: 500}, {}, complete=True)
    assert tracker.due() == ()
    clock.now += 15
    assert tracker.due() == ("lb1", "lb2")
    assert tracker.update("lb1", {OTHER: 5}, {}, complete=True) == {OTHER}
    assert tracker.due() == ("lb2",)
    tracker.forget("lb2")
    assert tracker.due() == ()


def test_load_balancers_do_not_disturb_each_other_B038(tracker, clock):
    tracker.update("lb1", {KEY: 5}, {}, complete=True)
    clock.now += 15
    assert tracker.update("lb2", {KEY: 5}, {}, complete=True) == frozenset()
    assert tracker.update("lb1", {KEY: 5}, {}, complete=True) == {KEY}
