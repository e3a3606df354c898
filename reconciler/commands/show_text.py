"""The document of `ovnlb show` for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ovnlb.diff.render import change_line, traffic_lines, value


def text(document: dict[str, Any]) -> str:
    """The document for people."""
    lines = [f"error: {item['reason']}" for item in document["errors"]]
    if document["graph"]:
        lines += _graph_lines(document["graph"])
    if document.get("explain"):
        lines += explain_lines(document["explain"])
    plans = document["load_balancers"]
    lines += _state_lines("Desired rows", plans[0]["desired"] if plans else None)
    lines += _state_lines("Found rows", document["found"])
    for plan in plans:
        lines.append("Differences:")
        lines += [f"  {change_line(item)}  ({item['reason']})" for item in plan["changes"]] or ["  none"]
        lines += [
            f"  Neutron: {item['kind']} {item['target']}  ({item['reason']})" for item in plan["effects"]
        ]
        lines += [f"Waiting for Neutron: {name}" for name in plan["waiting"]]
        lines += [f"Refused: {why}" for why in plan["refused"]]
        lines += [f"Warning: {item['text']} ({item['code']})" for item in plan["warnings"]]
    lines += traffic_lines(document)
    return "\n".join(lines)


def explain_lines(found: dict[str, Any]) -> Iterator[str]:
    """Why it is not settled, why members fail, what the network needs, and what this OVN cannot do."""
    if found["unsettled"]:
        since = f" (Octavia last changed it at {found['changed_at']})" if found["changed_at"] else ""
        yield f"Not settled{since}:"
        yield from (f"  {item['kind']} {item['id']} {item['status']}" for item in found["unsettled"])
        yield from _finding_lines(found["pending"], "  ")
    if found["members"]:
        yield "Members:"
    for member in found["members"]:
        yield f"  {value(member['backend'])} {value(member['name'] or member['id'])} {member['status']}"
        yield from (
            _finding_lines(member["findings"], "    ")
            if member["findings"]
            else ("    nothing that we see explains it",)
        )
    yield f"Architecture: {found['network']['architecture'].replace('_', ' ')}: {found['network']['text']}"
    marks = {True: "ok", False: "LACKING", None: "-"}
    yield from (f"  [{marks[need['met']]}] {need['text']}" for need in found["network"]["needs"])
    version = found["ovn"]["version"] or "of an unknown release"
    yield f"OVN {version}{', known limits:' if found['ovn']['limits'] else ''}"
    yield from _finding_lines(found["ovn"]["limits"], "  ")
    yield from (note for note in (found["neutron"], found["southbound"]) if note)
    yield _daemon_line(found["daemon"])


def _finding_lines(findings: list[dict[str, Any]], indent: str) -> Iterator[str]:
    yield from (
        f"{indent}{'!' if item['cause'] else '-'} {item['text']} ({item['code']})" for item in findings
    )


def _daemon_line(daemon: dict[str, Any] | None) -> str:
    if not daemon:
        return "No daemon answers on this host."
    last = daemon.get("last") or {}
    told = [f"role {daemon.get('role')}", f"last outcome {last.get('result') or 'none yet'}"]
    if last.get("error"):
        told.append(f"last error {last['error']}")
    if daemon.get("pending_since") is not None:
        told.append(f"pending for {daemon['pending_since']:.0f} s")
    if daemon.get("next_retry_in") is not None:
        told.append(f"next try in {daemon['next_retry_in']} s")
    if daemon.get("report_waits"):
        told.append("its report to Octavia waits")
    return f"The daemon of this host: {', '.join(told)}"


def _state_lines(title: str, state: dict[str, Any] | None) -> list[str]:
    rows = state["Load_Balancer"] if state else []
    return [f"{title}:", *([line for row in rows for line in _row_lines(row)] or ["  (none)"])]


def _graph_lines(lb: dict[str, Any]) -> list[str]:
    lines = [f"Load balancer {lb['id']} {value(lb['name']) if lb['name'] else ''} {_said(lb)}"]
    for vip in lb["vips"]:
        fip = f", floating IP {vip['fip']}" if vip["fip"] else ""
        lines.append(f"  VIP {vip['address']} (port {vip['port_id']}, subnet {vip['subnet_id']}{fip})")
    for listener in lb["listeners"]:
        lines.append(
            f"  listener {listener['id']} {listener['listens']} -> {listener['pool']} {_said(listener)}"
        )
    for pool in lb["pools"]:
        lines.append(f"  pool {pool['id']} {pool['protocol']} {pool['algorithm']} {_said(pool)}")
        for member in pool["members"]:
            lines.append(
                f"    member {member['id']} {member['backend']} weight {member['weight']} {_said(member)}"
            )
        if pool["health_monitor"]:
            monitor = pool["health_monitor"]
            lines.append(
                f"    health monitor {monitor['id']} {monitor['type']} every {monitor['delay']} s "
                f"{_said(monitor)}"
            )
    return lines


def _said(item: dict[str, Any]) -> str:
    stored, now = item["operating_status"], item["operating_now"]
    operating = stored if now in (None, stored) else f"{stored} (now {now})"
    return f"[{item['provisioning_status']} {operating}{'' if item['enabled'] else ', disabled'}]"


def _row_lines(row: dict[str, Any]) -> list[str]:
    lines = [f"  Load_Balancer {row.get('_uuid') or ''} protocol {row['protocol'] or '(none)'}"]
    for column in ("vips", "external_ids", "ip_port_mappings", "options"):
        lines += [f"    {column}: {key} = {value}" for key, value in sorted(row[column].items())]
    lines.append(f"    selection_fields: {', '.join(row['selection_fields'])}")
    lines.append(f"    health_check: {', '.join(row['health_check']) or '(none)'}")
    attached = [*row["attached_switches"], *row["attached_routers"]]
    lines.append(f"    attached: {', '.join(attached) or '(none)'}")
    return lines
