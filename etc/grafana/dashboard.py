"""The Grafana dashboard, as JSON: one entry a panel. `tools/generate.py` writes ovnlb.json from it."""

from __future__ import annotations

import json
from typing import Any

# Title, unit, kind, what it tells, (expression, legend) pairs.
PANELS: tuple[tuple[str, str, str, str, tuple[tuple[str, str], ...]], ...] = (
    ("Writers", "short", "stat", "Must be 1.", (("sum(ovnlb_leader)", "leaders"),)),
    (
        "Oldest pending load balancer",
        "s",
        "stat",
        "How long somebody has been waiting.",
        (("max(ovnlb_oldest_pending_seconds)", "age"),),
    ),
    (
        "Failing load balancers",
        "short",
        "stat",
        "ovnlb show says why.",
        (("max(ovnlb_failing_keys)", "failing"),),
    ),
    (
        "Age of the last full pass",
        "s",
        "stat",
        "Should stay below twice resync_interval.",
        (("time() - max(ovnlb_full_pass_last_success_timestamp_seconds)", "age"),),
    ),
    (
        "Orphans",
        "short",
        "stat",
        "Left of load balancers that are gone.",
        (("sum by (state) (ovnlb_orphans)", "{{state}}"),),
    ),
    (
        "Servers",
        "short",
        "stat",
        "1 while the replica follows its server.",
        (("min by (db) (ovnlb_idl_connected)", "{{db}}"),),
    ),
    (
        "Load balancers walked",
        "ops",
        "timeseries",
        "By how the walk ended.",
        (("sum by (result) (rate(ovnlb_reconcile_total[5m]))", "{{result}}"),),
    ),
    (
        "Changes written",
        "ops",
        "timeseries",
        "By reason.",
        (("sum by (reason) (rate(ovnlb_changes_total[5m]))", "{{reason}}"),),
    ),
    (
        "Drift",
        "ops",
        "timeseries",
        "Changes that nothing asked for: somebody else writes.",
        (("sum by (table) (rate(ovnlb_drift_total[5m]))", "{{table}}"),),
    ),
    (
        "OVSDB transactions",
        "ops",
        "timeseries",
        "By how they ended.",
        (("sum by (status) (rate(ovnlb_ovsdb_txn_total[5m]))", "{{status}}"),),
    ),
    (
        "Time of a stage, 95th percentile",
        "s",
        "timeseries",
        "round: the whole walk; apply: the transaction.",
        (
            (
                "histogram_quantile(0.95, sum by (le, stage) "
                "(rate(ovnlb_reconcile_duration_seconds_bucket[5m])))",
                "{{stage}}",
            ),
        ),
    ),
    (
        "From a nudge to the rows, and wait in the queue, 95th percentile",
        "s",
        "timeseries",
        "What a user waits for before Octavia is told.",
        (
            (
                "histogram_quantile(0.95, sum by (le) (rate(ovnlb_nudge_to_commit_seconds_bucket[5m])))",
                "nudge to rows",
            ),
            (
                "histogram_quantile(0.95, sum by (le) (rate(ovnlb_queue_wait_seconds_bucket[5m])))",
                "in the queue",
            ),
        ),
    ),
    (
        "Queue",
        "short",
        "timeseries",
        "Load balancers that wait for a worker.",
        (("sum by (priority) (ovnlb_queue_depth)", "{{priority}}"),),
    ),
    (
        "Reports to Octavia",
        "ops",
        "timeseries",
        "sent, or why not; and how many wait.",
        (
            ("sum by (result) (rate(ovnlb_status_reports_total[5m]))", "{{result}}"),
            ("max(ovnlb_status_backlog)", "waiting"),
        ),
    ),
    (
        "Full pass",
        "s",
        "timeseries",
        "How long the last one took.",
        (("max(ovnlb_full_pass_duration_seconds)", "duration"),),
    ),
    (
        "Rows of others",
        "short",
        "timeseries",
        "Load_Balancer rows that are never touched.",
        (("max(ovnlb_foreign_rows)", "rows"),),
    ),
)


def text() -> str:
    """The dashboard."""
    return json.dumps(document(), indent=1) + "\n"


def document() -> dict[str, Any]:
    """The dashboard as Grafana imports it; the data source is asked for."""
    return {
        "__inputs": [
            {"name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource", "pluginId": "prometheus"}
        ],
        "uid": "ovnlb",
        "title": "ovnlb",
        "tags": ["openstack", "octavia", "ovn"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "panels": [_panel(number) for number in range(len(PANELS))],
    }


def _panel(number: int) -> dict[str, Any]:
    title, unit, kind, told, targets = PANELS[number]
    return {
        "id": number + 1,
        "type": kind,
        "title": title,
        "description": told,
        "datasource": {"type": "prometheus", "uid": "${DS_PROMETHEUS}"},
        "gridPos": _place(number),
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(targets)
        ],
    }


def _place(number: int) -> dict[str, int]:
    stats = sum(kind == "stat" for _, _, kind, _, _ in PANELS)
    if number < stats:
        return {"x": 4 * number, "y": 0, "w": 4, "h": 5}
    row, column = divmod(number - stats, 2)
    return {"x": 12 * column, "y": 5 + 8 * row, "w": 12, "h": 8}
