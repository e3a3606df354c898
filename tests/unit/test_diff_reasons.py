"""Every difference and its reason: what Octavia is doing explains it, or it is drift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from diff_rows import (
    CHECK,
    HM,
    L1,
    L2,
    LB,
    M1,
    M2,
    P1,
    P2,
    RIGHT,
    ROW,
    VIP,
    check,
    compared,
    edited,
    member,
    told,
)
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.diff.plan import is_drift

CREATE, UPDATE, DELETE = "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE"
REFS = "set LB external_ids ls_refs"
STATUS = "set LB external_ids neutron:member_status"
POOL = "set LB external_ids pool_P1"
ONE_MEMBER = {
    f"pool_{P1}": member(M1),
    "neutron:member_status": f'{{"{M1}": "ONLINE"}}',
    "ls_refs": '{"neutron-net": 2}',
}
ALONE = edited(
    RIGHT, ONE_MEMBER, vips={VIP: "10.0.0.21:8080"}, ip_port_mappings={"10.0.0.21": "port1:10.0.0.2"}
)
NO_CHECKS = edited(RIGHT, {"octavia:healthmonitors": None}, health_checks=(), ip_port_mappings={})
WITH_FIP = edited(
    NO_CHECKS,
    {"neutron:vip_fip": "172.24.4.5"},
    vips={**RIGHT.vips, "172.24.4.5:80": RIGHT.vips[VIP]},
)
PLAIN = replace(NO_CHECKS, routers=frozenset(), external_ids={**NO_CHECKS.external_ids, "lr_ref": ""})


@dataclass(frozen=True)
class Case:
    """From `have` to `want` while Octavia does `pending`: the changes told, with reasons."""

    want: LoadBalancerRow
    have: LoadBalancerRow
    expected: Mapping[str, str]
    pending: Mapping[str, str] | None = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "member added": Case(
        RIGHT,
        ALONE,
        {
            POOL: "member_added",
            STATUS: "member_added",
            REFS: "member_added",
            f"set LB vips {VIP}": "member_added",
            "set LB ip_port_mappings 10.0.0.22": "member_added",
        },
        {LB: UPDATE, L1: UPDATE, P1: UPDATE, M2: CREATE},
    ),
    "member removed, L10": Case(
        ALONE,
        RIGHT,
        {
            POOL: "member_removed",
            STATUS: "member_removed",
            REFS: "member_removed",
            f"set LB vips {VIP}": "member_removed",
            "unset LB ip_port_mappings 10.0.0.22": "member_removed",
        },
        {LB: UPDATE, L1: UPDATE, P1: UPDATE, M2: DELETE},
    ),
    "member lost": Case(
        RIGHT,
        ALONE,
        {
            POOL: "drifted",
            STATUS: "member_status",
            REFS: "legacy_form",
            f"set LB vips {VIP}": "drifted",
            "set LB ip_port_mappings 10.0.0.22": "drifted",
        },
    ),
    "member lost, statuses unknown": Case(
        RIGHT,
        ALONE,
        {
            POOL: "member_added",
            STATUS: "member_added",
            REFS: "member_added",
            f"set LB vips {VIP}": "member_added",
            "set LB ip_port_mappings 10.0.0.22": "member_added",
        },
        None,
    ),
    "member disabled, B030": Case(
        replace(NO_CHECKS, vips={VIP: "10.0.0.21:8080"}),
        NO_CHECKS,
        {f"set LB vips {VIP}": "disabled"},
        {M2: UPDATE},
    ),
    "member enabled, B031": Case(
        NO_CHECKS,
        replace(NO_CHECKS, vips={VIP: "10.0.0.21:8080"}),
        {f"set LB vips {VIP}": "enabled"},
        {M2: UPDATE},
    ),
    "member moved": Case(
        edited(NO_CHECKS, {f"pool_{P1}": member(M1, "10.0.0.29")}, vips={VIP: "10.0.0.29:8080"}),
        edited(NO_CHECKS, {f"pool_{P1}": member(M1)}, vips={VIP: "10.0.0.21:8080"}),
        {POOL: "intent_changed", f"set LB vips {VIP}": "intent_changed"},
        {M1: UPDATE},
    ),
    "backend doubled, B146": Case(
        NO_CHECKS,
        replace(NO_CHECKS, vips={VIP: "10.0.0.21:8080,10.0.0.21:8080,10.0.0.22:8080"}),
        {f"set LB vips {VIP}": "drifted"},
        {M1: UPDATE},
    ),
    "LB disabled, B047": Case(
        edited(NO_CHECKS, {"enabled": "False"}, vips={}),
        NO_CHECKS,
        {"set LB external_ids enabled": "disabled", f"unset LB vips {VIP}": "disabled"},
        {LB: UPDATE},
    ),
    "LB enabled, B047": Case(
        RIGHT,
        edited(NO_CHECKS, {"enabled": "False", "octavia:healthmonitors": f'["{HM}"]'}, vips={}),
        {
            "set LB external_ids enabled": "enabled",
            f"set LB vips {VIP}": "enabled",
            "set LB ip_port_mappings 10.0.0.21": "enabled",
            "set LB ip_port_mappings 10.0.0.22": "enabled",
            "insert LBHC": "enabled",
        },
        {LB: UPDATE},
    ),
    "enabled lost": Case(RIGHT, edited(RIGHT, {"enabled": None}), {"set LB external_ids enabled": "missing"}),
    "enabled garbled": Case(
        RIGHT, edited(RIGHT, {"enabled": "x"}), {"set LB external_ids enabled": "drifted"}
    ),
    "listener disabled": Case(
        edited(NO_CHECKS, {f"listener_{L1}": None, f"listener_{L1}:D": f"80:pool_{P1}"}, vips={}),
        NO_CHECKS,
        {
            "set LB external_ids listener_L1:D": "disabled",
            "unset LB external_ids listener_L1": "disabled",
            f"unset LB vips {VIP}": "disabled",
        },
        {L1: UPDATE},
    ),
    "pool enabled": Case(
        NO_CHECKS,
        edited(NO_CHECKS, {f"pool_{P1}": None, f"pool_{P1}:D": RIGHT.external_ids[f"pool_{P1}"]}, vips={}),
        {
            "set LB external_ids pool_P1": "enabled",
            "unset LB external_ids pool_P1:D": "enabled",
            f"set LB vips {VIP}": "enabled",
        },
        {P1: UPDATE},
    ),
    "both forms of a listener": Case(
        RIGHT,
        edited(RIGHT, {f"listener_{L1}:D": f"80:pool_{P1}"}),
        {"unset LB external_ids listener_L1:D": "drifted"},
    ),
    "listener renamed by somebody": Case(
        RIGHT,
        edited(RIGHT, {f"listener_{L1}": None, f"listener_{L1}:D": f"80:pool_{P1}"}),
        {"set LB external_ids listener_L1": "drifted", "unset LB external_ids listener_L1:D": "drifted"},
    ),
    "listener added": Case(
        edited(
            NO_CHECKS,
            {f"listener_{L2}": f"81:pool_{P1}"},
            vips={**RIGHT.vips, "10.0.0.10:81": "10.0.0.21:8080"},
        ),
        NO_CHECKS,
        {"set LB external_ids listener_L2": "listener_added", "set LB vips 10.0.0.10:81": "listener_added"},
        {L2: CREATE},
    ),
    "listener lost": Case(
        RIGHT, edited(RIGHT, {f"listener_{L1}": None}), {"set LB external_ids listener_L1": "missing"}
    ),
    "listener removed, L19": Case(
        NO_CHECKS,
        edited(NO_CHECKS, {f"listener_{L2}:D": "81:"}, vips={**RIGHT.vips, "10.0.0.10:81": "10.0.0.21:8080"}),
        {
            "unset LB external_ids listener_L2:D": "listener_removed",
            "unset LB vips 10.0.0.10:81": "listener_removed",
        },
        {L2: DELETE},
    ),
    "listener of nobody, L08": Case(
        RIGHT, edited(RIGHT, {f"listener_{L2}": "81:"}), {"unset LB external_ids listener_L2": "drifted"}
    ),
    "pool added to a listener": Case(
        NO_CHECKS,
        edited(NO_CHECKS, {f"listener_{L1}": "80:", f"pool_{P1}": None}, vips={}),
        {
            "set LB external_ids listener_L1": "pool_added",
            "set LB external_ids pool_P1": "pool_added",
            f"set LB vips {VIP}": "pool_added",
        },
        {P1: CREATE, L1: UPDATE},
    ),
    "pool removed": Case(
        edited(NO_CHECKS, {f"listener_{L1}": "80:", f"pool_{P1}": None}, vips={}),
        NO_CHECKS,
        {
            "set LB external_ids listener_L1": "pool_removed",
            "unset LB external_ids pool_P1": "pool_removed",
            f"unset LB vips {VIP}": "pool_removed",
        },
        {P1: DELETE, L1: UPDATE},
    ),
    "default pool changed": Case(
        edited(RIGHT, {f"pool_{P2}": "", f"listener_{L1}": f"80:pool_{P2}"}),
        edited(RIGHT, {f"pool_{P2}": ""}),
        {"set LB external_ids listener_L1": "intent_changed"},
        {L1: UPDATE},
    ),
    "listener value garbled": Case(
        RIGHT, edited(RIGHT, {f"listener_{L1}": "x"}), {"set LB external_ids listener_L1": "drifted"}
    ),
    "L17": Case(
        RIGHT,
        edited(RIGHT, {f"listener_{L1}": f"80:pool_{P1}:D"}),
        {"set LB external_ids listener_L1": "legacy_form"},
        {L1: UPDATE},
    ),
    "pool_None": Case(
        RIGHT,
        edited(RIGHT, {f"listener_{L1}": "80:pool_None"}),
        {"set LB external_ids listener_L1": "legacy_form"},
    ),
    "member without subnet": Case(
        edited(RIGHT, {f"pool_{P1}": member(M1)}),
        edited(RIGHT, {f"pool_{P1}": member(M1, subnet=None)}),
        {POOL: "legacy_form"},
    ),
    "FIP added": Case(
        WITH_FIP,
        NO_CHECKS,
        {
            "set LB external_ids neutron:vip_fip": "vip_fip_changed",
            "set LB vips 172.24.4.5:80": "vip_fip_changed",
        },
    ),
    "FIP removed, B080 L11": Case(
        RIGHT,
        replace(
            WITH_FIP,
            external_ids={**WITH_FIP.external_ids, "octavia:healthmonitors": f'["{HM}"]'},
            ip_port_mappings=RIGHT.ip_port_mappings,
            health_checks=(check(), check("172.24.4.5:80")),
        ),
        {
            "unset LB external_ids neutron:vip_fip": "vip_fip_changed",
            "unset LB vips 172.24.4.5:80": "vip_fip_changed",
            "delete LBHC": "vip_fip_changed",
        },
    ),
    "FIP garbled": Case(
        WITH_FIP,
        edited(WITH_FIP, {"neutron:vip_fip": "nonsense"}),
        {"set LB external_ids neutron:vip_fip": "drifted"},
    ),
    "status changed": Case(
        edited(RIGHT, {"neutron:member_status": f'{{"{M1}": "ERROR", "{M2}": "ONLINE"}}'}),
        RIGHT,
        {STATUS: "member_status"},
    ),
    "status lost": Case(RIGHT, edited(RIGHT, {"neutron:member_status": None}), {STATUS: "missing"}),
    "status garbled": Case(RIGHT, edited(RIGHT, {"neutron:member_status": "{x"}), {STATUS: "drifted"}),
    "ls_refs drifted": Case(RIGHT, edited(RIGHT, {"ls_refs": '{"neutron-net": 9}'}), {REFS: "legacy_form"}),
    "ls_refs garbled": Case(RIGHT, edited(RIGHT, {"ls_refs": "{x"}), {REFS: "drifted"}),
    "ls_refs wiped": Case(
        RIGHT,
        edited(RIGHT, {"ls_refs": None, "neutron:vip": None}),
        {REFS: "missing", "set LB external_ids neutron:vip": "missing"},
    ),
    "provider network": Case(
        RIGHT,
        edited(
            RIGHT,
            {"ls_refs": '{"neutron-net": 3, "neutron-ext": 1}'},
            switches=RIGHT.switches | {"neutron-ext"},
        ),
        {REFS: "legacy_form", "detach LS neutron-ext": "legacy_form"},
        {},
        {"provider_switches": {"neutron-ext"}},
    ),
    "router added": Case(
        RIGHT,
        edited(
            PLAIN,
            {"octavia:healthmonitors": f'["{HM}"]'},
            health_checks=RIGHT.health_checks,
            ip_port_mappings=RIGHT.ip_port_mappings,
        ),
        {"set LB external_ids lr_ref": "topology_changed", "attach LR neutron-router": "topology_changed"},
    ),
    "switch left, B064": Case(
        RIGHT,
        edited(RIGHT, switches=RIGHT.switches | {"neutron-old"}),
        {"detach LS neutron-old": "topology_changed"},
    ),
    "reference lost": Case(
        RIGHT,
        replace(RIGHT, switches=frozenset(), routers=frozenset()),
        {"attach LS neutron-net": "drifted", "attach LR neutron-router": "drifted"},
    ),
    "VIP changed": Case(
        RIGHT,
        edited(RIGHT, {"neutron:vip_port_id": "old"}),
        {"set LB external_ids neutron:vip_port_id": "intent_changed"},
        {LB: UPDATE},
    ),
    "algorithm changed, L32": Case(
        replace(RIGHT, selection_fields=frozenset({"ip_src"})),
        RIGHT,
        {"set LB selection_fields": "intent_changed"},
        {P1: UPDATE},
    ),
    "selection fields of nobody, L14": Case(
        RIGHT, replace(RIGHT, selection_fields=frozenset({"tp_src"})), {"set LB selection_fields": "drifted"}
    ),
    "persistence removed, L30": Case(
        RIGHT,
        replace(RIGHT, options={"affinity_timeout": "360", "reject": "true"}),
        {"unset LB options affinity_timeout": "intent_changed"},
        {P1: UPDATE},
    ),
    "monitor created": Case(
        RIGHT,
        NO_CHECKS,
        {
            "set LB external_ids octavia:healthmonitors": "monitor_changed",
            "set LB ip_port_mappings 10.0.0.21": "monitor_changed",
            "set LB ip_port_mappings 10.0.0.22": "monitor_changed",
            "insert LBHC": "monitor_changed",
        },
        {HM: CREATE, P1: UPDATE, L1: UPDATE, LB: UPDATE},
    ),
    "monitor deleted": Case(
        NO_CHECKS,
        RIGHT,
        {
            "unset LB external_ids octavia:healthmonitors": "monitor_changed",
            "unset LB ip_port_mappings 10.0.0.21": "monitor_changed",
            "unset LB ip_port_mappings 10.0.0.22": "monitor_changed",
            "delete LBHC": "monitor_changed",
        },
        {HM: DELETE},
    ),
    "monitor's interval changed": Case(
        replace(RIGHT, health_checks=(replace(check(), options={"interval": "9", "timeout": "3"}),)),
        RIGHT,
        {"set LBHC options interval": "monitor_changed"},
        {HM: UPDATE},
    ),
    "monitor list lost, B099": Case(
        RIGHT,
        edited(RIGHT, {"octavia:healthmonitors": None}),
        {"set LB external_ids octavia:healthmonitors": "missing"},
    ),
    "check lost": Case(RIGHT, replace(RIGHT, health_checks=()), {"insert LBHC": "missing"}),
    "check of no monitor": Case(
        RIGHT,
        replace(
            RIGHT,
            health_checks=(
                check(),
                check("10.0.0.10:99", external_ids={"octavia:healthmonitor": L2}, uuid=CHECK),
            ),
        ),
        {"delete LBHC": "legacy_form"},
    ),
    "check twice": Case(RIGHT, replace(RIGHT, health_checks=(check(), check())), {"delete LBHC": "drifted"}),
    "check with an address alone": Case(
        RIGHT,
        replace(RIGHT, health_checks=(replace(check(), vip="10.0.0.10"),)),
        {"set LBHC vip": "legacy_form"},
    ),
    "check with a port alone": Case(
        RIGHT,
        replace(RIGHT, health_checks=(HealthCheckRow("80", check().options, {"octavia:healthmonitor": HM}),)),
        {
            "set LBHC vip": "legacy_form",
            "set LBHC external_ids octavia:pool_id": "legacy_form",
            "set LBHC external_ids octavia:vip": "legacy_form",
        },
    ),
    "check with the wrong port": Case(
        RIGHT,
        replace(RIGHT, health_checks=(replace(check(), vip="10.0.0.10:81"),)),
        {"set LBHC vip": "drifted"},
    ),
    "check without its monitor": Case(
        RIGHT,
        replace(RIGHT, health_checks=(HealthCheckRow(VIP, check().options, {}),)),
        {
            "set LBHC external_ids octavia:healthmonitor": "drifted",
            "set LBHC external_ids octavia:pool_id": "drifted",
            "set LBHC external_ids octavia:vip": "drifted",
        },
    ),
    "L02": Case(
        replace(WITH_FIP, health_checks=(check(), check("172.24.4.5:80"))),
        replace(
            WITH_FIP,
            health_checks=(
                replace(check(), external_ids=check("172.24.4.5:80").external_ids),
                replace(check("172.24.4.5:80"), external_ids=check().external_ids),
            ),
        ),
        {"set LBHC external_ids octavia:vip": "drifted"},
    ),
    "mapping to another port": Case(
        RIGHT,
        replace(RIGHT, ip_port_mappings={**RIGHT.ip_port_mappings, "10.0.0.21": "x:10.0.0.2"}),
        {"set LB ip_port_mappings 10.0.0.21": "drifted"},
    ),
    "B095": Case(
        edited(RIGHT, ip_port_mappings={**RIGHT.ip_port_mappings, "[fd00::5]": "port:[fd00::2]"}),
        edited(RIGHT, ip_port_mappings={**RIGHT.ip_port_mappings, "fd00::5": "port:fd00::2"}),
        {
            "set LB ip_port_mappings [fd00::5]": "legacy_form",
            "unset LB ip_port_mappings fd00::5": "legacy_form",
        },
    ),
    "vip without brackets, B041": Case(
        replace(NO_CHECKS, vips={"[fd00::10]:80": "[fd00::21]:8080"}),
        replace(NO_CHECKS, vips={"fd00::10:80": "[fd00::21]:8080"}),
        {"set LB vips [fd00::10]:80": "legacy_form", "unset LB vips fd00::10:80": "legacy_form"},
    ),
    "vip of nonsense": Case(
        RIGHT, replace(RIGHT, vips={**RIGHT.vips, "nonsense": ""}), {"unset LB vips nonsense": "drifted"}
    ),
    "vip lost": Case(RIGHT, replace(RIGHT, vips={}), {f"set LB vips {VIP}": "missing"}),
    "protocol in capitals": Case(RIGHT, replace(RIGHT, protocol="TCP"), {"set LB protocol": "legacy_form"}),
    "first listener": Case(
        edited(PLAIN, {f"listener_{L2}": "81:"}, protocol="udp"),
        replace(PLAIN, protocol=None),
        {"set LB protocol": "listener_added", "set LB external_ids listener_L2": "listener_added"},
        {L2: CREATE},
    ),
    "last listener": Case(
        replace(PLAIN, protocol=None),
        edited(PLAIN, {f"listener_{L2}": "81:"}, protocol="udp"),
        {"set LB protocol": "listener_removed", "unset LB external_ids listener_L2": "listener_removed"},
        {L2: DELETE},
    ),
    "other people's keys, B084": Case(
        RIGHT,
        edited(RIGHT, {"neutron:other": "x"}, options={"hairpin_snat_ip": "1.1.1.1"}),
        {},
    ),
    "correct database, L03 L04": Case(RIGHT, RIGHT, {}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_changes_and_reasons(case: Case) -> None:
    """Exactly these changes, for exactly these reasons."""
    assert told(compared(case.want, case.have, case.pending, **case.more)) == case.expected


@pytest.mark.parametrize(
    ("pending", "reason"),
    [
        ({LB: CREATE, L1: CREATE}, "intent_added"),
        ({LB: UPDATE, L1: CREATE}, "listener_added"),
        ({LB: UPDATE, P1: CREATE}, "pool_added"),
        ({}, "missing"),
        (None, "missing"),
    ],
)
def test_a_new_row_has_one_reason(pending: Mapping[str, str] | None, reason: str) -> None:
    """The row, its checks and references are there for the same reason: B100, B145."""
    made = compared((RIGHT,), (), pending)
    assert told(made) == {
        "insert LB": reason,
        "insert LBHC": reason,
        "attach LS neutron-net": reason,
        "attach LR neutron-router": reason,
    }
    assert is_drift(made) is (reason == "missing")


@pytest.mark.parametrize(
    ("pending", "reason"),
    [
        ({L2: DELETE}, "listener_removed"),
        ({P2: DELETE}, "pool_removed"),
        ({}, "drifted"),
        (None, "listener_removed"),
    ],
)
def test_a_protocol_that_nobody_uses_loses_its_row(pending: Mapping[str, str] | None, reason: str) -> None:
    """The other row stays as it is."""
    udp = edited(PLAIN, {f"listener_{L2}": "81:", f"pool_{P2}": ""}, protocol="udp", uuid=f"{ROW[:-1]}9")
    made = compared((RIGHT,), (RIGHT, udp), pending)
    assert told(made) == {"delete LB": reason}
    assert made.changes[0].row == f"{ROW[:-1]}9"


def test_drift_is_told_from_work() -> None:
    """One plan may hold both."""
    made = compared(
        edited(RIGHT, {f"listener_{L2}": "81:"}), edited(RIGHT, {"neutron:vip_port_id": None}), {L2: CREATE}
    )
    assert [is_drift(change) for change in made.changes] == [False, True]
    assert is_drift(made)
    assert not is_drift(compared(RIGHT, RIGHT))
