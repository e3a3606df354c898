"""The provider driver that octavia-api loads: it validates, makes the VIP ports, and nudges.

octavia-api makes a driver object per request, and calls it within its own, uncommitted transaction.
So nothing here changes a Northbound row or an Octavia status: the reconciler does that from the
database once the transaction has committed. Every method checks the whole request first; the nudge
comes last, and nothing depends on it. Signatures: octavia_lib.api.drivers.provider_base 3.12.0.
"""

from __future__ import annotations

import logging
from typing import Any, NoReturn

from octavia_lib.api.drivers import provider_base

from ovnlb.observed.neutron_errors import NeutronError
from ovnlb.reconciler import validate, vip_port
from ovnlb.reconciler.driver_world import DriverWorld, process_world
from ovnlb.reconciler.validate import Lookups, VipFacts, given

LOG = logging.getLogger(__name__)


class OvnlbProviderDriver(provider_base.ProviderDriver):  # type: ignore[misc]
    """Octavia's `ovn` provider. The constructor only remembers where the outside world is made."""

    def __init__(self, world: DriverWorld | None = None) -> None:
        super().__init__()
        self._given_world = world

    @property
    def _world(self) -> DriverWorld:
        return self._given_world or process_world()

    # Load balancers

    def create_vip_port(
        self,
        loadbalancer_id: str,
        project_id: str,
        vip_dictionary: dict[str, Any],
        additional_vip_dicts: list[dict[str, Any]] | None,
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The VIP's ports; see `vip_port.create`."""
        return vip_port.create(
            self._world.neutron, loadbalancer_id, project_id, vip_dictionary, additional_vip_dicts or ()
        )

    def loadbalancer_create(self, loadbalancer: Any) -> None:
        """Checks the load balancer with all children that a single call brings along."""
        facts = _facts_of(loadbalancer)
        try:
            validate.single_call(loadbalancer, Lookups(lambda: facts, self._cidr))
        except Exception:
            # Octavia rolls everything back now, but knows nothing of the ports of `create_vip_port`.
            vip_port.remove(self._world.neutron, facts.lb_id, _port_ids(loadbalancer))
            raise
        self._nudge(facts.lb_id)

    def loadbalancer_update(self, old_loadbalancer: Any, new_loadbalancer: Any) -> None:
        """Accepts every change: the reconciler reads the result."""
        self._nudge(given(old_loadbalancer.loadbalancer_id) or given(new_loadbalancer.loadbalancer_id))

    def loadbalancer_delete(self, loadbalancer: Any, cascade: bool = False) -> None:
        """Never refuses."""
        self._nudge(loadbalancer.loadbalancer_id)

    def loadbalancer_failover(self, loadbalancer_id: str) -> NoReturn:
        """Always raises UnsupportedOptionError."""
        raise validate.unsupported(
            "OVN provider does not support loadbalancer failover. There is no appliance to replace: "
            "every chassis serves the load balancer."
        )

    def loadbalancer_failover_with_flavor(self, loadbalancer_id: str, flavor_id: str) -> NoReturn:
        """Always raises UnsupportedOptionError."""
        self.loadbalancer_failover(loadbalancer_id)

    # Listeners and pools

    def listener_create(self, listener: Any) -> None:
        """Checks protocol and allowed_cidrs."""
        validate.listener(listener)
        self._nudge(listener.loadbalancer_id)

    def listener_update(self, old_listener: Any, new_listener: Any) -> None:
        """Checks allowed_cidrs."""
        validate.listener(new_listener)
        self._nudge(given(old_listener.loadbalancer_id) or given(new_listener.loadbalancer_id))

    def listener_delete(self, listener: Any) -> None:
        """Never refuses."""
        self._nudge(listener.loadbalancer_id)

    def pool_create(self, pool: Any) -> None:
        """Checks protocol, algorithm and session persistence."""
        validate.pool(pool)
        self._nudge(pool.loadbalancer_id)

    def pool_update(self, old_pool: Any, new_pool: Any) -> None:
        """Checks those of protocol, algorithm and session persistence that change."""
        validate.pool(new_pool)
        self._nudge(given(old_pool.loadbalancer_id) or given(new_pool.loadbalancer_id))

    def pool_delete(self, pool: Any) -> None:
        """Never refuses."""
        self._nudge(pool.loadbalancer_id)

    # Members and health monitors: these know their pool only

    def member_create(self, member: Any) -> None:
        """Checks monitor options, IP version and, without a subnet, the address."""
        ask = self._asker(member.pool_id)
        validate.member(member, Lookups(ask, self._cidr), "create")
        self._nudge_pool(ask)

    def member_update(self, old_member: Any, new_member: Any) -> None:
        """Checks monitor options, and the IP version if the address changes."""
        ask = self._asker(given(old_member.pool_id) or new_member.pool_id)
        validate.member(new_member, Lookups(ask, self._cidr), "update")
        self._nudge_pool(ask)

    def member_delete(self, member: Any) -> None:
        """Never refuses, not even a member whose subnet cannot be found."""
        self._nudge_pool(self._asker(member.pool_id))

    def member_batch_update(self, pool_id: str, members: list[Any]) -> None:
        """Checks every member as `member_create` does; one that exists keeps the subnet it has."""
        ask = self._asker(pool_id, with_members=True)
        lookups = Lookups(ask, self._cidr)
        for member in members:
            validate.member(member, lookups, "batch")
        self._nudge_pool(ask)

    def health_monitor_create(self, healthmonitor: Any) -> None:
        """Checks that there is a type, and which."""
        validate.health_monitor(healthmonitor)
        self._nudge_pool(self._asker(healthmonitor.pool_id))

    def health_monitor_update(self, old_healthmonitor: Any, new_healthmonitor: Any) -> None:
        """Checks the type if it is given."""
        if given(new_healthmonitor.type):
            validate.health_monitor(new_healthmonitor)
        self._nudge_pool(self._asker(given(old_healthmonitor.pool_id) or new_healthmonitor.pool_id))

    def health_monitor_delete(self, healthmonitor: Any) -> None:
        """Never refuses."""
        self._nudge_pool(self._asker(healthmonitor.pool_id))

    # L7 policies and rules, flavors, availability zones: octavia-lib's base refuses them (501).

    def _asker(self, pool_id: Any, with_members: bool = False) -> _Once:
        return _Once(self._world, given(pool_id) or "", with_members)

    def _cidr(self, subnet_id: str) -> str | None:
        try:
            subnet = self._world.neutron.get_subnet(subnet_id)
        except NeutronError as error:
            LOG.warning("subnet %s is not checked, the reconciler will: %s", subnet_id, error)
            return None
        return subnet.cidr if subnet else ""

    def _nudge_pool(self, ask: _Once) -> None:
        facts = ask()
        self._nudge(facts.lb_id if facts else None)

    def _nudge(self, lb_id: Any) -> None:
        self._world.nudge(given(lb_id))


class _Once:
    """Reads the facts of one pool at the first question, and keeps the answer."""

    def __init__(self, world: DriverWorld, pool_id: str, with_members: bool) -> None:
        self._world, self._pool_id, self._with_members = world, pool_id, with_members
        self._answer: tuple[VipFacts | None] | None = None

    def __call__(self) -> VipFacts | None:
        if self._answer is None:
            self._answer = (self._world.lookup.of_pool(self._pool_id, self._with_members),)
        return self._answer[0]


def _facts_of(loadbalancer: Any) -> VipFacts:
    """The VIPs of a load balancer that is being created: none of it is committed yet."""
    vips = [(given(loadbalancer.vip_address), given(loadbalancer.vip_subnet_id))]
    vips += [(v.get("ip_address"), v.get("subnet_id")) for v in given(loadbalancer.additional_vips) or ()]
    return VipFacts(loadbalancer.loadbalancer_id, tuple(vips))


def _port_ids(loadbalancer: Any) -> list[str | None]:
    more = [vip.get("port_id") for vip in given(loadbalancer.additional_vips) or ()]
    return [given(loadbalancer.vip_port_id), *more]
