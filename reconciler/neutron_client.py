"""What is asked of Neutron that changes something, and how Neutron is reached.

Every method is one leaf call with its own few retries: connection failures, 429 and 5xx are tried
again, a 409 only where a second try can succeed, any other 4xx never. Every failure is
NeutronUnavailable or NeutronRefused. All calls are idempotent in effect: `create_port` adopts its own
port after a lost answer, deleting what has gone is done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import tenacity
from keystoneauth1 import exceptions as ksa
from openstack import exceptions as sdk
from oslo_config import cfg

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import Subnet
from ovnlb.observed.bundle_neutron import port_value, subnet_value
from ovnlb.observed.neutron_errors import (
    NeutronNotConfigured,
    NeutronRefused,
    NeutronUnavailable,
    neutron_errors,
)
from ovnlb.observed.source import NeutronPort
from ovnlb.reconciler.endpoint import EndpointError

LOG = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retry:
    """How patient a leaf call is: tries in all, and the longest pause between two, in seconds."""

    attempts: int = 3
    pause: float = 2.0


def _unavailable(error: BaseException) -> bool:
    return isinstance(error, NeutronUnavailable)


def _or_conflict(error: BaseException) -> bool:
    """A 409 on an update or delete is a concurrent write of Neutron's own: the next try settles it."""
    return _unavailable(error) or (isinstance(error, NeutronRefused) and error.conflict)


def _not_done(error: BaseException) -> bool:
    """A request that makes something is repeated only when it certainly made nothing."""
    return isinstance(error, NeutronUnavailable) and not error.maybe_done


DAEMON = Retry()
API = Retry(attempts=2, pause=0.2)


class NeutronClient:
    """Neutron through an openstacksdk connection's `network` proxy.

    `network` is called at first use, so that making the client can neither block nor fail.
    """

    def __init__(self, network: Callable[[], Any], retry: Retry = DAEMON) -> None:
        self._open = network
        self._retry = retry
        self._network: Any = None

    def find_port(self, name: str, network_id: str) -> NeutronPort | None:
        """The port of that exact name on that network; of several, the one with the lowest id."""
        ports = self.list_ports(name=name, network_id=network_id)
        return min(ports, key=lambda port: port.id, default=None)

    def get_port(self, port_id: str) -> NeutronPort | None:
        """The port, or None when Neutron has none of that id."""
        return self._missing_is_none("GET port", lambda n: _port(n.get_port(port_id)))

    def get_subnet(self, subnet_id: str) -> Subnet | None:
        """The subnet, or None when Neutron has none of that id."""
        return self._missing_is_none("GET subnet", lambda n: _subnet(n.get_subnet(subnet_id)))

    def create_port(self, attributes: Mapping[str, Any]) -> NeutronPort:
        """Makes the port, or adopts the one of its name when an earlier answer was lost.

        `attributes` must hold `name` (unique to its purpose) and `network_id`. A port of that name
        counts as ours only with the same owner and the address asked for; else the 409 stands.
        """
        try:
            return self._call("POST port", lambda n: _port(n.create_port(**attributes)), _not_done)
        except (NeutronRefused, NeutronUnavailable) as error:
            if isinstance(error, NeutronRefused) and not error.conflict:
                raise
            found = self._adopted(attributes)
            if found is None:
                raise
            return found

    def _adopted(self, attributes: Mapping[str, Any]) -> NeutronPort | None:
        port = self.find_port(attributes["name"], attributes["network_id"])
        if port is None or not _is_ours(port, attributes):
            return None
        LOG.info("Neutron port %s named %s is there already and is used", port.id, port.name)
        return port

    def update_port(self, port_id: str, attributes: Mapping[str, Any]) -> NeutronPort | None:
        """Sets these attributes. None when the port has gone, or when policy forbids (a warning)."""
        try:
            return self._call("PUT port", lambda n: _port(n.update_port(port_id, **attributes)), _or_conflict)
        except NeutronRefused as error:
            if error.forbidden:
                LOG.warning("port %s stays without %s: %s", port_id, ", ".join(sorted(attributes)), error)
            elif not error.missing:
                raise
            return None

    def delete_port(self, port_id: str) -> None:
        """Deletes the port; one that has gone is done."""

        def delete(network: Any) -> None:
            network.delete_port(port_id, ignore_missing=True)

        self._call("DELETE port", delete, _or_conflict)

    def touch_floating_ip(self, fip_id: str) -> bool:
        """An update that changes nothing, so that Neutron writes the NAT row anew. False: it has gone."""

        def touch(network: Any) -> bool:
            found = network.get_ip(fip_id)
            network.update_ip(fip_id, description=found.description or "")
            return True

        return bool(self._missing_is_none("PUT floatingip", touch))

    def list_ports(self, **filters: Any) -> tuple[NeutronPort, ...]:
        """All ports that fit the filters of Neutron's API (name, network_id, device_owner, ...)."""
        return self._call("GET ports", lambda n: tuple(_port(p) for p in n.ports(**filters)))

    def list_subnets(self, **filters: Any) -> tuple[Subnet, ...]:
        """All subnets that fit the filters of Neutron's API."""
        return self._call("GET subnets", lambda n: tuple(_subnet(s) for s in n.subnets(**filters)))

    def list_floating_ips(self, **filters: Any) -> tuple[FloatingIp, ...]:
        """All floating IPs that fit the filters of Neutron's API (port_id, router_id, ...)."""
        return self._call("GET floatingips", lambda n: tuple(fip_value(f) for f in n.ips(**filters)))

    def _missing_is_none(self, call: str, body: Callable[[Any], T]) -> T | None:
        try:
            return self._call(call, body)
        except NeutronRefused as error:
            if error.missing:
                return None
            raise

    def _call(
        self, call: str, body: Callable[[Any], T], again: Callable[[BaseException], bool] = _unavailable
    ) -> T:
        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._retry.attempts),
            wait=tenacity.wait_random_exponential(multiplier=0.1, max=self._retry.pause),
            retry=tenacity.retry_if_exception(again),
            reraise=True,
        )
        for attempt in attempts:
            with attempt, neutron_errors(call):
                return body(self._proxy())
        raise AssertionError("tenacity ends with a result or an exception")

    def _proxy(self) -> Any:
        if self._network is None:
            try:
                self._network = self._open()
            except (ksa.ClientException, sdk.SDKException, cfg.Error, EndpointError, ValueError) as error:
                raise NeutronNotConfigured(str(error) or type(error).__name__) from error
        return self._network


@dataclass(frozen=True, slots=True)
class FloatingIp:
    """A Neutron floating IP. `port_id` and `fixed_ip` are None while it is not associated."""

    id: str
    address: str
    port_id: str | None
    fixed_ip: str | None
    router_id: str | None


def _port(resource: Any) -> NeutronPort:
    return port_value(resource.to_dict(computed=False))


def _subnet(resource: Any) -> Subnet:
    return subnet_value(resource.to_dict(computed=False))


def fip_value(fip: Any) -> FloatingIp:
    """The value of an openstacksdk FloatingIP."""
    return FloatingIp(fip.id, fip.floating_ip_address, fip.port_id, fip.fixed_ip_address, fip.router_id)


def _is_ours(port: NeutronPort, attributes: Mapping[str, Any]) -> bool:
    """Whether a port of the wanted name is the one that the lost request made."""
    same_owner = port.device_id in ("", attributes.get("device_id", ""))
    return same_owner and all(_holds(port, wanted) for wanted in attributes.get("fixed_ips", ()))


def _holds(port: NeutronPort, wanted: Mapping[str, str]) -> bool:
    asked = wanted.get("ip_address")
    return any(
        subnet == wanted["subnet_id"] and (asked is None or address == canonical(asked))
        for subnet, address in port.addresses
    )


def addresses_on(port: NeutronPort, subnet_id: str | None) -> Sequence[str]:
    """The port's addresses on a subnet, all of them when the subnet is not known."""
    return [address for subnet, address in port.addresses if subnet_id in (None, subnet)]
