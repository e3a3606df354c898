"""Why a change is made: the most telling reason for each, from what Octavia is doing right now.

`pending` (object id -> provisioning status) explains differences: what it explains is work asked
for, what nothing explains is drift. Without it (None) every difference gets the reason that its
shape tells. Source: architecture.md section 2; octavia-contract.md section 9 for the legacy forms.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ovnlb.desired import extids, rows
from ovnlb.desired.addresses import canonical
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow
from ovnlb.diff import canon
from ovnlb.diff.children import Work, child_reasons
from ovnlb.diff.plan import Reason

FIP_KEYS = (rows.VIP_FIP, rows.ADDITIONAL_VIP_FIPS)
_IDENTITY_KEYS = frozenset({rows.VIP, rows.VIP_PORT_ID, rows.ADDITIONAL_VIPS, rows.ADDITIONAL_VIP_PORT_IDS})
_COMES_OR_GOES = frozenset(
    {
        Reason.LISTENER_ADDED,
        Reason.LISTENER_REMOVED,
        Reason.POOL_ADDED,
        Reason.POOL_REMOVED,
        Reason.MEMBER_ADDED,
        Reason.MEMBER_REMOVED,
    }
)


def of_insertion(row: LoadBalancerRow, work: Work, lb_id: str) -> Reason:
    """Why a whole row is inserted."""
    if not work.known:
        return Reason.MISSING
    if work.busy(lb_id, "PENDING_CREATE"):
        return Reason.INTENT_ADDED
    created = [key for key in row.external_ids if work.busy(extids.object_id(key), "PENDING_CREATE")]
    if any(key.startswith(rows.LISTENER_PREFIX) for key in created):
        return Reason.LISTENER_ADDED
    if any(key.startswith(rows.POOL_PREFIX) for key in created):
        return Reason.POOL_ADDED
    return Reason.MISSING


def of_removal(row: LoadBalancerRow, work: Work) -> Reason:
    """Why a row is deleted whose protocol nobody uses any more."""
    for prefix, reason in (
        (rows.LISTENER_PREFIX, Reason.LISTENER_REMOVED),
        (rows.POOL_PREFIX, Reason.POOL_REMOVED),
    ):
        ids = [extids.object_id(key) for key in row.external_ids if key.startswith(prefix)]
        if any(work.busy(item, "PENDING_DELETE") for item in ids):
            return reason
    return Reason.DRIFTED


@dataclass(frozen=True)
class RowReasons:
    """The reasons of all changes of one living row."""

    want: LoadBalancerRow
    have: LoadBalancerRow
    lb_id: str
    work: Work = field(default_factory=Work)
    provider_switches: Collection[str] = field(default_factory=frozenset)

    def unexplained(self, have: object) -> Reason:
        """Drift: the value is not there, or it is another."""
        return Reason.MISSING if have is None else Reason.DRIFTED

    @cached_property
    def objects(self) -> Mapping[str, Reason]:
        """The listeners and pools whose key or value changes, by id."""
        return child_reasons(self.want, self.have, self.work)

    def children(self) -> Reason | None:
        """The reason of any listener or pool that changes, one that comes or goes first."""
        chosen = [*self.objects.values()]
        return next((reason for reason in chosen if reason in _COMES_OR_GOES), next(iter(chosen), None))

    def members_busy(self) -> Reason | None:
        """Whether members of the row come or go."""
        for reason in (Reason.MEMBER_ADDED, Reason.MEMBER_REMOVED):
            if reason in self.objects.values():
                return reason
        return None

    @cached_property
    def changed_fips(self) -> frozenset[str]:
        """Floating IPs that only one of the two rows names."""
        return _fips(self.want) ^ _fips(self.have)

    def external_id(self, key: str, want: str | None, have: str | None) -> Reason:
        """Of one managed key of external_ids."""
        if key.startswith((rows.LISTENER_PREFIX, rows.POOL_PREFIX)):
            return self.objects.get(extids.object_id(key), self.unexplained(have))
        if key == rows.ENABLED:
            word = Reason.ENABLED if want == "True" else Reason.DISABLED
            return word if have is not None and self.work.busy(self.lb_id) else self.unexplained(have)
        if key in _IDENTITY_KEYS:
            return Reason.INTENT_CHANGED if self.work.busy(self.lb_id) else self.unexplained(have)
        if key in FIP_KEYS:
            return self._fip(have)
        if key == rows.MEMBER_STATUS:
            return self._member_status(have)
        if key == rows.HEALTH_MONITORS:
            return self._monitors(want, have)
        return self._references(key, want, have)

    def _fip(self, have: str | None) -> Reason:
        if rows.VIP not in self.have.external_ids:
            return self.unexplained(have)
        readable = all(canonical(part) for part in extids.split_list(have))
        return Reason.VIP_FIP_CHANGED if readable else Reason.DRIFTED

    def _member_status(self, have: str | None) -> Reason:
        if reason := self.members_busy():
            return reason
        if have is None:
            return self.children() or Reason.MISSING
        return Reason.MEMBER_STATUS if extids.read_json(have, {}) or have == "{}" else Reason.DRIFTED

    def _monitors(self, want: str | None, have: str | None) -> Reason:
        empty: list[str] = []
        ids = {str(item) for text in (want, have) for item in extids.read_json(text, empty)}
        return Reason.MONITOR_CHANGED if any(map(self.work.busy, ids)) else self.unexplained(have)

    def _references(self, key: str, want: str | None, have: str | None) -> Reason:
        """Of lr_ref and ls_refs: what counts changes with members and with Neutron's topology."""
        if reason := self.members_busy():
            return reason
        if have is None and rows.VIP not in self.have.external_ids:
            return Reason.MISSING
        if key == rows.LR_REF:
            return Reason.TOPOLOGY_CHANGED
        nothing: dict[str, int] = {}
        mine, theirs = extids.read_json(want, nothing), extids.read_json(have, nothing)
        if have and have != "{}" and not theirs:
            return Reason.DRIFTED
        drifted = mine.keys() == theirs.keys() or theirs.keys() & self.provider_switches
        return Reason.LEGACY_FORM if drifted else Reason.TOPOLOGY_CHANGED

    def vip(self, key: str, want: str | None, have: str | None) -> Reason:
        """Of one key of vips."""
        if _respelled(key, self.want.vips, self.have.vips):
            return Reason.LEGACY_FORM
        endpoint = canon.endpoint(key)
        if endpoint is None:
            return self.unexplained(have)
        if endpoint[0] in self.changed_fips:
            return Reason.VIP_FIP_CHANGED
        if reason := self._switched() or self.port(endpoint[1]):
            return reason
        return self._backends(want, have)

    def _switched(self) -> Reason | None:
        want = self.want.external_ids.get(rows.ENABLED)
        have = self.have.external_ids.get(rows.ENABLED)
        if have is None or want == have or not self.work.busy(self.lb_id):
            return None
        return Reason.ENABLED if want == "True" else Reason.DISABLED

    def port(self, port: int) -> Reason | None:
        """The reason of the listener on this port, or of its pool."""
        ids: list[str] = []
        for row in (self.want, self.have):
            for key, value in sorted(row.external_ids.items()):
                if key.startswith(rows.LISTENER_PREFIX) and value.partition(":")[0] == str(port):
                    ids += [extids.object_id(key), extids.object_id(value.partition(":")[2])]
        return next((self.objects[item] for item in ids if item in self.objects), None)

    def _backends(self, want: str | None, have: str | None) -> Reason:
        mine, theirs = set(extids.split_list(want)), set(extids.split_list(have))
        endpoints = {canon.canonical_endpoint(item) for item in mine ^ theirs}
        changing = not self.work.known or any(
            self.work.busy(member.id)
            for key, value in self.want.external_ids.items()
            if key.startswith(rows.POOL_PREFIX)
            for member in extids.parse_members(value)
            if canon.canonical_endpoint(f"{member.address}:{member.port}") in endpoints
        )
        if not changing or not mine ^ theirs:
            return self.unexplained(have)
        if mine < theirs:
            return Reason.DISABLED
        return Reason.ENABLED if mine > theirs else Reason.INTENT_CHANGED

    def mapping(self, key: str, have: str | None) -> Reason:
        """Of one key of ip_port_mappings."""
        spelled = {canonical(item): item for item in self.have.ip_port_mappings if ":" in item}
        if ":" in key and spelled.get(canonical(key), key) != key:
            return Reason.LEGACY_FORM
        if ":" in key and have is not None and not key.startswith("["):
            return Reason.LEGACY_FORM
        return self._monitoring() or self.unexplained(have)

    def _monitoring(self) -> Reason | None:
        before, after = (row.external_ids.get(rows.HEALTH_MONITORS) for row in (self.have, self.want))
        if not canon.same_external_id(rows.HEALTH_MONITORS, after, before):
            reason = self._monitors(after, before)
            return reason if reason is Reason.MONITOR_CHANGED else None
        if self.work.known and any(self.work.busy(item) for item in _monitor_ids(self.want)):
            return Reason.MONITOR_CHANGED
        return self._switched() or self.children()

    def check(self, want: HealthCheckRow | None, have: HealthCheckRow | None) -> Reason:
        """Of a health check that comes, goes or changes."""
        if want is not None and have is not None and _legacy_check(want, have):
            return Reason.LEGACY_FORM
        known = want or have
        endpoint = canon.endpoint(known.vip) if known else None
        monitor = known.external_ids.get(rows.CHECK_MONITOR, "") if known else ""
        if endpoint and endpoint[0] in self.changed_fips:
            return Reason.VIP_FIP_CHANGED
        if self.work.busy(monitor):
            return Reason.MONITOR_CHANGED
        if reason := self._switched() or (self.port(endpoint[1]) if endpoint else None):
            return reason
        if want is None and monitor not in _monitor_ids(self.have):
            return Reason.LEGACY_FORM
        return self.unexplained(have)

    def hashing(self) -> Reason:
        """Of selection_fields and options, which follow the pools of the row."""
        keys = sorted(key for key in self.want.external_ids if key.startswith(rows.POOL_PREFIX))
        pools = [extids.object_id(key) for key in keys]
        if reason := next((self.objects[item] for item in pools if item in self.objects), None):
            return reason
        if (reason := self.children()) is Reason.POOL_REMOVED:
            return reason
        return Reason.INTENT_CHANGED if any(map(self.work.busy, pools)) else Reason.DRIFTED

    def protocol(self) -> Reason:
        """Of the protocol: a row taken over for another one, given up, or spelled otherwise."""
        if canon.protocol(self.have.protocol) == self.want.protocol:
            return Reason.LEGACY_FORM
        return self.children() or Reason.DRIFTED

    def attachment(self, name: str, wanted: bool) -> Reason:
        """Of a reference from a switch or router of this name."""
        nothing: dict[str, int] = {}
        said = set(extids.split_list(self.have.external_ids.get(rows.LR_REF)))
        said |= extids.read_json(self.have.external_ids.get(rows.LS_REFS), nothing).keys()
        if wanted and name in said:
            return Reason.DRIFTED
        if not wanted and name in self.provider_switches:
            return Reason.LEGACY_FORM
        return self.members_busy() or Reason.TOPOLOGY_CHANGED


def _fips(row: LoadBalancerRow) -> frozenset[str]:
    return frozenset(
        canonical(part) or part for key in FIP_KEYS for part in extids.split_list(row.external_ids.get(key))
    )


def _monitor_ids(row: LoadBalancerRow) -> Iterator[str]:
    empty: list[str] = []
    return (str(item) for item in extids.read_json(row.external_ids.get(rows.HEALTH_MONITORS), empty))


def _respelled(key: str, want: Mapping[str, str], have: Mapping[str, str]) -> bool:
    """Whether this vips key only changes its spelling: brackets, or another form of the address."""
    spelled = canon.canonical_endpoint(key)
    if spelled is None or (key in want and key in have):
        return False
    if key != spelled:
        return spelled in want
    return any(other != key and canon.canonical_endpoint(other) == key for other in have)


def _legacy_check(want: HealthCheckRow, have: HealthCheckRow) -> bool:
    """Made before checks carried `octavia:vip`, or with a vip that is no `address:port`."""
    old = rows.CHECK_VIP not in have.external_ids and rows.CHECK_MONITOR in have.external_ids
    return old or (want.vip != have.vip and canon.canonical_endpoint(have.vip) != have.vip)
