"""The metrics of architecture.md section 9, in a registry of their own. Labels are bounded: no ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ovnlb.diff.plan import is_drift
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.errors import NotLeader, StalePlan, Terminal
from ovnlb.reconciler.rounds import Done

_FAST = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)


class Metrics:
    """All of them; the loop feeds counters and histograms, gauges read what they are bound to."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"ovnlb_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"ovnlb_{name}", text, labels, registry=registry, buckets=_FAST)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"ovnlb_{name}", text, labels, registry=registry)

        self.reconciled = counter("reconcile", "Load balancers walked, by how it ended.", "result")
        self.duration = histogram("reconcile_duration_seconds", "How long a stage takes.", "stage")
        self.changes = counter("changes", "Changes written.", "table", "op", "reason")
        self.drift = counter("drift", "Changes that nothing asked for.", "table")
        self.failing_keys = gauge("failing_keys", "Load balancers that failed last time.")
        self.oldest_pending = gauge("oldest_pending_seconds", "Age of the oldest pending load balancer.")
        self.nudge_to_commit = histogram("nudge_to_commit_seconds", "From a nudge to the written rows.")
        self.queue_depth = gauge("queue_depth", "Keys that are ready.", "priority")
        self.queue_wait = histogram("queue_wait_seconds", "How long ready keys wait for a worker.")
        self.pass_duration = gauge("full_pass_duration_seconds", "How long the last full pass took.")
        self.pass_success = gauge(
            "full_pass_last_success_timestamp_seconds", "When the last full pass ended."
        )
        self.orphans = gauge("orphans", "Rows and ports without a load balancer.", "state")
        self.foreign_rows = gauge("foreign_rows", "Load_Balancer rows that are not ours.")
        self.leader = gauge("leader", "Whether this process writes.")
        self.connected = gauge("idl_connected", "Whether the replica follows its server.", "db")
        self.reports = counter("status_reports", "Load balancers reported to Octavia.", "result")
        self.backlog = gauge("status_backlog", "Load balancers whose report waits.")
        self.transactions = counter("ovsdb_txn", "OVSDB transactions.", "status")

    def bind(self, gauge: Gauge, read: Callable[[], float], **labels: str) -> None:
        """Let a gauge read its value when it is asked for."""
        (gauge.labels(**labels) if labels else gauge).set_function(read)

    def round(self, done: Done, duration: float) -> None:
        """One load balancer's outcome."""
        self.reconciled.labels(str(done.result)).inc()
        self.duration.labels("round").observe(duration)
        for plan in done.plans:
            for change in plan.changes:
                self.changes.labels(change.table, str(change.op), str(change.reason)).inc()
                if is_drift(change):
                    self.drift.labels(change.table).inc()

    def written(self, outcome: AppliedEach) -> None:
        """One batch that the committer wrote."""
        self.transactions.labels("success").inc(outcome.transactions)
        seconds = {id(one): one.duration for one in outcome.applied.values()}
        for duration in seconds.values():
            self.duration.labels("apply").observe(duration)
        for error in outcome.failed.values():
            self.transactions.labels(_status(error)).inc()

    def report(self, result: str, count: int) -> None:
        """Reports sent, stale, refused or lost."""
        self.reports.labels(result).inc(count)

    def text(self) -> bytes:
        """All of them in Prometheus' text format."""
        return generate_latest(self.registry)


def _status(error: Exception) -> str:
    kinds: Mapping[type[Exception], str] = {
        StalePlan: "stale",
        NotLeader: "not_leader",
        Terminal: "refused",
    }
    return kinds.get(type(error), "error")
