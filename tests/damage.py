"""What faulty tools, old releases and accidents do to the rows of one load balancer.

Every kind of damage is a function from (Random, rows) to rows; some rows cannot be damaged in some
way, then nothing changes. Kinds in HARMLESS change what is not ours: no plan may mention them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random
from uuid import UUID, uuid5

from ovnlb.desired import rows
from ovnlb.desired.extids import read_json
from ovnlb.desired.rows import (
    HealthCheckRow,
    LoadBalancerRow,
    NbState,
    health_check_row_uuid,
    is_managed_key,
    load_balancer_row_uuid,
)

Rows = list[LoadBalancerRow]
GARBAGE = ("", "x", "{", "[]", '{"a": 1}', "80:pool_None", "member_x", "1.2.3.4", ",", "é:\x01", "9" * 5000)


def as_observed(want: NbState) -> NbState:
    """The desired rows as the database holds them after they were written."""
    return NbState(tuple(_observed(row) for row in want.rows))


def _observed(row: LoadBalancerRow) -> LoadBalancerRow:
    checks = tuple(
        replace(check, uuid=str(health_check_row_uuid(check.external_ids[rows.CHECK_MONITOR], check.vip)))
        for check in row.health_checks
    )
    return replace(row, uuid=str(load_balancer_row_uuid(row.name, row.protocol)), health_checks=checks)


def damaged(want: NbState, kinds: Iterable[str], random: Random) -> NbState:
    """The observed state after these kinds of damage, one after the other."""
    found: Rows = list(as_observed(want).rows)
    for kind in kinds:
        found = DAMAGE[kind](random, found)
    random.shuffle(found)
    return NbState(tuple(_distinct(found)))


def _uuid(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128), version=4))


def _distinct(found: Rows) -> Iterator[LoadBalancerRow]:
    """The rows with a UUID of its own for each row and check: a Random of Hypothesis repeats itself."""
    used: set[str] = set()
    for row in found:
        uuid = _unused(row.uuid or "", used)
        checks = tuple(replace(check, uuid=_unused(check.uuid or "", used)) for check in row.health_checks)
        yield replace(row, uuid=uuid, health_checks=checks)


def _unused(uuid: str, used: set[str]) -> str:
    while uuid in used:
        uuid = str(uuid5(UUID(uuid), "next"))
    used.add(uuid)
    return uuid


def _one(change: Callable[[Random, LoadBalancerRow], LoadBalancerRow]) -> Callable[[Random, Rows], Rows]:
    """Damage to one row that is chosen at random."""

    def damage(random: Random, found: Rows) -> Rows:
        if not found:
            return found
        place = random.randrange(len(found))
        return [change(random, row) if number == place else row for number, row in enumerate(found)]

    return damage


def _external(row: LoadBalancerRow, **changes: str) -> LoadBalancerRow:
    return replace(row, external_ids={**row.external_ids, **changes})


def _managed(row: LoadBalancerRow) -> list[str]:
    return sorted(key for key in row.external_ids if is_managed_key(key))


def row_removed(random: Random, found: Rows) -> Rows:
    """A row is gone."""
    return [row for row in found if row is not (random.choice(found) if found else None)]


def row_doubled(random: Random, found: Rows) -> Rows:
    """A second row of one protocol, with its own health checks."""
    if not found:
        return found
    row = random.choice(found)
    checks = tuple(replace(check, uuid=_uuid(random)) for check in row.health_checks)
    return [*found, replace(row, uuid=_uuid(random), health_checks=checks)]


def keys_removed(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Some of our keys are gone."""
    gone = {key for key in _managed(row) if random.random() < 0.5}
    return replace(row, external_ids={k: v for k, v in row.external_ids.items() if k not in gone})


def keys_wiped(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """All keys are gone."""
    return replace(row, external_ids={})


def key_garbled(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """One of our keys says nonsense."""
    keys = _managed(row)
    return _external(row, **{random.choice(keys): random.choice(GARBAGE)}) if keys else row


def json_broken(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """A JSON value is cut off."""
    keys = [
        key for key in (rows.LS_REFS, rows.MEMBER_STATUS, rows.HEALTH_MONITORS) if key in row.external_ids
    ]
    return _external(row, **{key: row.external_ids[key][:-1] for key in keys[:1]}) if keys else row


def counts_drifted(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """ls_refs counts what is gone."""
    return _external(row, **{rows.LS_REFS: json.dumps(dict.fromkeys(sorted(row.switches), 7))})


def stale_children(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """A deleted listener and pool left their keys and a vip."""
    ids = {"listener_gone:D": "99:pool_gone", "pool_gone": "member_gone_10.0.1.99:99_sub1"}
    return replace(_external(row, **ids), vips={**row.vips, "10.0.1.99:99": "10.0.1.99:99"})


def disabled_form(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Listener and pool keys carry the other form of the admin state."""
    renamed = {}
    for key, value in row.external_ids.items():
        if key.startswith((rows.LISTENER_PREFIX, rows.POOL_PREFIX)):
            key = key.removesuffix(":D") if key.endswith(":D") else f"{key}:D"
        renamed[key] = value
    return replace(row, external_ids=renamed)


def legacy_members(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Member entries without their subnet, listeners that name the disabled pool key."""
    legacy = {}
    for key, value in row.external_ids.items():
        if key.startswith(rows.POOL_PREFIX):
            value = ",".join(part.rpartition("_")[0] for part in value.split(",")) if value else value
        if key.startswith(rows.LISTENER_PREFIX):
            value = f"{value}:D"
        legacy[key] = value
    return replace(row, external_ids=legacy)


def reordered(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Lists and JSON objects in another order: no difference at all."""
    ids = {}
    for key, value in row.external_ids.items():
        if key in (rows.LS_REFS, rows.MEMBER_STATUS):
            counted: dict[str, object] = {}
            found = read_json(value, counted)
            value = json.dumps(dict(reversed(found.items())), indent=1) if found else value
        elif key.startswith(rows.POOL_PREFIX) or key == rows.LR_REF:
            value = ",".join(reversed(value.split(",")))
        ids[key] = value
    vips = {key: ",".join(reversed(value.split(","))) for key, value in reversed(row.vips.items())}
    return replace(row, external_ids=ids, vips=vips)


def vips_lost(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Some vips are gone."""
    return replace(row, vips={key: value for key, value in row.vips.items() if random.random() < 0.5})


def vips_respelled(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """IPv6 vips and mappings without brackets, a backend named twice, a key of nonsense."""
    plain = {key.replace("[", "").replace("]", ""): value for key, value in row.vips.items()}
    doubled = {key: f"{value},{value}" if value else value for key, value in plain.items()}
    mappings = {key.strip("[]"): value for key, value in row.ip_port_mappings.items()}
    return replace(row, vips={**doubled, random.choice(GARBAGE): ""}, ip_port_mappings=mappings)


def protocol_lost(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """The protocol is empty."""
    return replace(row, protocol=None)


def protocol_changed(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """The protocol is another one."""
    return replace(row, protocol=random.choice(("tcp", "udp", "sctp")))


def columns_changed(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Hash fields, affinity and mappings are wrong."""
    return replace(
        row,
        selection_fields=frozenset({"ip_dst"}),
        options={**row.options, rows.AFFINITY_TIMEOUT: "abc"},
        ip_port_mappings={"10.0.1.77": "gone:10.0.1.2", **dict(list(row.ip_port_mappings.items())[1:])},
    )


def references_moved(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """The row is on a switch too many, and on none of its routers."""
    return replace(row, switches=row.switches ^ {"neutron-other", "neutron-net1"}, routers=frozenset())


def checks_lost(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Some health checks are gone, one is there twice, one belongs to no monitor of ours."""
    kept = [check for check in row.health_checks if random.random() < 0.5]
    twice = [replace(check, uuid=_uuid(random)) for check in kept[:1]]
    ids = {rows.CHECK_MONITOR: _uuid(random), rows.CHECK_POOL: _uuid(random)}
    stale = HealthCheckRow("10.0.1.98:98", {"interval": "5"}, ids, uuid=_uuid(random))
    return replace(row, health_checks=(*kept, *twice, stale))


def checks_legacy(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Health checks whose vip has no port, no address or the wrong port, some without octavia:vip."""
    return replace(row, health_checks=tuple(_legacy(random, check) for check in row.health_checks))


def _legacy(random: Random, check: HealthCheckRow) -> HealthCheckRow:
    host, _, port = check.vip.rpartition(":")
    vip = random.choice((host, port, f":{port}", f"{host}:9", check.vip, check.vip.strip("[")))
    gone = random.choice(((), (), (rows.CHECK_VIP,), (rows.CHECK_MONITOR,)))
    ids = {key: value for key, value in check.external_ids.items() if key not in gone}
    return replace(check, vip=vip, external_ids=ids, options={**check.options, "interval": "77"})


def foreign_keys(random: Random, row: LoadBalancerRow) -> LoadBalancerRow:
    """Somebody else keeps keys in our row: none of our business."""
    checks = tuple(
        replace(c, options={**c.options, "other": "1"}, external_ids={**c.external_ids, "other": "1"})
        for c in row.health_checks
    )
    row = _external(row, **{"other:key": "1", "neutron:revision": "{", "enabled2": "no"})
    return replace(row, options={**row.options, "reject": "true"}, health_checks=checks)


HARMLESS = {"foreign_keys": _one(foreign_keys), "reordered": _one(reordered)}

DAMAGE: dict[str, Callable[[Random, Rows], Rows]] = {
    "row_removed": row_removed,
    "row_doubled": row_doubled,
    **{
        change.__name__: _one(change)
        for change in (
            keys_removed,
            keys_wiped,
            key_garbled,
            json_broken,
            counts_drifted,
            stale_children,
            disabled_form,
            legacy_members,
            vips_lost,
            vips_respelled,
            protocol_lost,
            protocol_changed,
            columns_changed,
            references_moved,
            checks_lost,
            checks_legacy,
        )
    },
    **HARMLESS,
}
