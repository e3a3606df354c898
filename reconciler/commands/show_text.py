"""The document of `ovnlb show` for people."""

from __future__ import annotations

from typing import Any

from ovnlb.diff.render import change_line


def text(document: dict[str, Any]) -> str:
    """The document for people."""
    lines = [f"error: {item['reason']}" for item in document["errors"]]
    if document["graph"]:
        lines += _graph_lines(document["graph"])
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
    return "\n".join(lines)


def _state_lines(title: str, state: dict[str, Any] | None) -> list[str]:
    rows = state["Load_Balancer"] if state else []
    return [f"{title}:", *([line for row in rows for line in _row_lines(row)] or ["  (none)"])]


def _graph_lines(lb: dict[str, Any]) -> list[str]:
    lines = [f"Load balancer {lb['id']} {lb['name'] or ''} {_said(lb)}"]
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
