"""Orphans: found in complete readings, confirmed by a second one, pruned under the limits.

The service prunes what belongs to DELETED load balancers after every full pass; everything else only
`ovnlb orphans --prune` removes. Source: architecture.md section 6.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ovnlb.desired.model import Provisioning
from ovnlb.desired.orphans import Evidence, Sighting
from ovnlb.diff.effects import DELETE_VIP_PORT
from ovnlb.diff.orphans import Judged, judge, prune_plans, refusal
from ovnlb.diff.plan import Effect, Plan
from ovnlb.diff.policy import PruneLimits
from ovnlb.observed.neutron import SdkNeutron
from ovnlb.observed.neutron_errors import NeutronError
from ovnlb.observed.orphans import (
    OrphanNorthbound,
    Register,
    asked_ids,
    hm_port_orphans,
    row_orphans,
    vip_port_held,
    vip_port_lb,
    vip_port_orphans,
)
from ovnlb.observed.source import NeutronPort
from ovnlb.reconciler.apply import AppliedEach
from ovnlb.reconciler.neutron_client import NeutronClient
from ovnlb.reconciler.port_memory import PortMemory
from ovnlb.reconciler.ports import Ending, execute
from ovnlb.reconciler.report import Row

LOG = logging.getLogger(__name__)
# The owners whose ports are listed; older VIP ports without one are known by their LSP's Neutron name.
_LISTED_OWNERS = ("ovn-lb:vip", "ovn-lb-hm:distributed")


class OrphanDatabase(Protocol):
    """What is asked of Octavia's database; every call complete, or an error."""

    def living(self) -> Collection[str]:
        """Ids of all load balancers of ours that are not DELETED."""

    def statuses(self, ids: Collection[str]) -> Mapping[str, Row]:
        """Id -> (provisioning status, provider, updated_at), of any provider."""

    def ours(self, provider: str) -> bool:
        """Whether a provider is one of ours."""

    def newest(self) -> datetime | None:
        """When the newest load balancer was made, naive UTC."""

    def monitored_subnets(self) -> Collection[str]:
        """The subnets on which members are monitored."""


class Incomplete(Exception):
    """The Northbound replica does not follow its server: nothing can be called an orphan."""


@dataclass(frozen=True)
class Search:
    """How orphans are looked for. `write` writes plans; `connected`: whether the replica is up to date.

    memory: what the process knows of ports; None for a process that only prunes.
    """

    database: OrphanDatabase
    nb: OrphanNorthbound
    neutron: SdkNeutron
    client: NeutronClient
    write: Callable[[Sequence[Plan]], AppliedEach]
    connected: Callable[[], bool] = lambda: True
    clock: Callable[[], float] = time.monotonic
    memory: PortMemory | None = None

    def look(self) -> Sighting:
        """One complete reading. Raises Incomplete, and what the databases and Neutron raise."""
        if not self.connected():
            raise Incomplete("the Northbound replica is not connected: nothing is called an orphan")
        at, living = self.clock(), frozenset(self.database.living())
        ports, more = self._ports(living)
        register = self._register(living, asked_ids(self.nb, ports, living))
        by_id = {port.id: port for port in ports}
        rows, foreign = row_orphans(self.nb, register, lambda port_id: self._port(port_id, by_id))
        fips = self.neutron.floating_ips([port.id for port in ports])
        orphans = (
            *rows,
            *vip_port_orphans(ports, register, fips),
            *hm_port_orphans(self.nb, ports, register),
        )
        ours = sum(map(self.nb.row_count, living)) + len(rows) + len(ports) + more
        return Sighting(at, orphans, ours, self.database.newest(), foreign)

    def _register(self, living: frozenset[str], ids: Collection[str]) -> Register:
        """What the database says of these ids, none of which was living a moment ago."""
        found = self.database.statuses(ids)
        deleted = {
            lb_id
            for lb_id, (status, provider, _) in found.items()
            if status == Provisioning.DELETED and self.database.ours(provider)
        }
        # One that was committed since `living` was read lives too, whoever's it is.
        others = frozenset(found) - deleted
        return Register(living, deleted, others, self.database.monitored_subnets())

    def _ports(self, living: Collection[str]) -> tuple[list[NeutronPort], int]:
        """The VIP and health-monitor ports of providers that Neutron has, by id, and how many more.

        Those more have no owner, as in older releases, and are of load balancers that live: a cloud may
        have nothing but such ports, and none of them can be an orphan.
        """
        self.neutron.refresh()
        found = {port.id: port for owner in _LISTED_OWNERS for port in self.neutron.ports(device_owner=owner)}
        unlisted = {lsp: name for lsp, name in self.nb.provider_ports().items() if lsp not in found}
        doubtful = [lsp for lsp, name in unlisted.items() if vip_port_lb(name) not in living]
        found |= {port.id: port for port in self.neutron.ports_of(doubtful)}
        return [found[port_id] for port_id in sorted(found)], len(unlisted) - len(doubtful)

    def _port(self, port_id: str, known: Mapping[str, NeutronPort]) -> NeutronPort | None:
        """A port by id, from the listing where it is in it: a user's own one never is."""
        return known.get(port_id) or (self.neutron.port(port_id) if port_id else None)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a pruning did. refused: why nothing was done. failed: LB id or port name -> why it is left."""

    plans: tuple[Plan, ...] = ()
    refused: str = ""
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Whether everything that was to be pruned is gone."""
        return not self.refused and not self.failed


def confirmed(
    search: Search, grace: float, pause: Callable[[float], None] = time.sleep, *, undated: bool = False
) -> tuple[Sighting, tuple[Judged, ...]]:
    """Read, and when anything but DELETED was found wait `grace` seconds and read again."""
    first = search.look()
    if all(one.evidence is Evidence.DELETED or one.held for one in first.orphans):
        return first, judge(first, undated=undated, grace=grace)
    pause(max(0.0, first.at + grace - search.clock()))
    second = search.look()
    return second, judge(second, first, grace=grace, undated=undated)


def of_deleted(judged: Iterable[Judged]) -> tuple[Judged, ...]:
    """Only what a DELETED row of Octavia's proves to be an orphan."""
    return tuple(one for one in judged if one.orphan.evidence is Evidence.DELETED)


def prune(search: Search, judged: Sequence[Judged], ours: int, limits: PruneLimits) -> Pruned:
    """Remove what may be pruned, in the order given; nothing when it is more than the limits allow.

    Octavia is asked once more right before; rows go first, and a port only when its rows are gone.
    """
    if why := refusal(judged, ours, limits):
        return Pruned(refused=why)
    plans = prune_plans(_still(search, judged))
    outcome = search.write([plan for plan in plans if plan.changes])
    failed = {lb_id: str(error) for lb_id, error in outcome.failed.items()}
    done = []
    for plan in plans:
        if plan.lb_id in failed:
            continue
        if left := _perform(search, plan):
            failed[plan.lb_id] = left
        if plan.changes or not left:
            done.append(plan)
            LOG.info("orphans of %s pruned: %d rows", plan.lb_id, len(plan.changes))
    return Pruned(tuple(done), failed=failed)


def _still(search: Search, judged: Sequence[Judged]) -> list[Judged]:
    """Those of which Octavia still knows nothing, by its word of now."""
    ids = {one.orphan.lb_id for one in judged if one.prunable and one.orphan.lb_id}
    found = search.database.statuses(ids)
    alive = {lb_id for lb_id, row in found.items() if row[0] != Provisioning.DELETED}
    # A port may have got a member to monitor since it was seen unmapped.
    monitored = set(search.database.monitored_subnets())
    return [one for one in judged if one.orphan.lb_id not in alive and one.orphan.subnet_id not in monitored]


def _perform(search: Search, plan: Plan) -> str:
    """Delete the ports of one plan; why any of them is left."""
    left = []
    for effect in plan.effects:
        try:
            why = _in_use(search, effect)
        except NeutronError as error:
            why = str(error)
        if not why:
            memory = search.memory or PortMemory(search.nb)
            (result,) = execute([effect], search.client, search.nb, memory).results
            why = "" if result.ending is Ending.DONE else str(result)
        if why:
            left.append(f"{effect.target}: {why}")
    return "; ".join(left)


def _in_use(search: Search, effect: Effect) -> str:
    """Why a VIP port must not go after all, by Neutron's word of now."""
    if effect.kind != DELETE_VIP_PORT:
        return ""
    port = search.client.get_port(effect.target)
    if port is None:
        return ""
    fips = search.client.list_floating_ips(port_id=port.id)
    return vip_port_held(port, str(effect.details["lb_id"]), fips[0].address if fips else None)
