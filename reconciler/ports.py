"""Carries out the effects of plans in Neutron: idempotent, each by itself, ownership asked again.

A plan's facts come from the Northbound database; before anything is changed or deleted Neutron itself
says whose the port is. Kinds: `ovnlb.diff.effects`. Source: octavia-contract.md sections 7 and 9.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.port_facts import HM_PORT_OWNER, HM_PORT_OWNERS, provider_made, vip_device_id
from ovnlb.diff import effects as kinds
from ovnlb.diff.plan import Effect
from ovnlb.observed import neutron_rows
from ovnlb.observed.neutron_errors import NeutronError, NeutronRefused
from ovnlb.observed.port_facts import mapping_users
from ovnlb.observed.source import NeutronPort, NorthboundSource
from ovnlb.reconciler.errors import Terminal, Transient
from ovnlb.reconciler.neutron_client import NeutronClient, addresses_on
from ovnlb.reconciler.port_memory import PortMemory

LOG = logging.getLogger(__name__)

LOCALPORT = "localport"
# Neutron's answers when it does not let us choose a port's MAC: malformed for it, policy, taken.
_NO_MAC = frozenset({400, 403, 409})
# How long a changed owner may take from Neutron's API to the LSP, and how often we look, in seconds.
_LSP_PATIENCE = 10.0
_LSP_PAUSE = 0.1


class Ending(StrEnum):
    """How an effect ended. KEPT: rightly left as it is; `note` says why."""

    DONE = "done"
    KEPT = "kept"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Result:
    """One effect and how it ended. `error` of a failed one is Transient or Terminal."""

    effect: Effect
    ending: Ending
    note: str = ""
    error: Transient | Terminal | None = None

    def __str__(self) -> str:
        text = self.error or self.note
        return f"{self.effect.kind} {self.effect.target} {self.ending}" + (f": {text}" if text else "")


@dataclass(frozen=True, slots=True)
class Executed:
    """The results in the order of the effects. `hm_ports`: subnet -> address that Neutron gave."""

    results: tuple[Result, ...] = ()
    hm_ports: Mapping[str, str] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether any effect took place."""
        return any(result.ending is Ending.DONE for result in self.results)

    @property
    def left(self) -> tuple[Result, ...]:
        """What must still happen before Octavia may be told; the rest can wait for another pass."""
        return tuple(
            result
            for result in self.results
            if result.error is not None and result.effect.kind not in _CAN_WAIT
        )

    def raise_left(self) -> None:
        """Raise the first error that forbids to go on: Transient before Terminal."""
        errors = [result.error for result in self.left if result.error is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, Terminal)):
            raise error


_CAN_WAIT = frozenset({kinds.MARK_VIP_PORT, kinds.REPAIR_HM_PORT})


class Ports:
    """The executor. `nb` tells who uses an address now; `pause` sleeps for some seconds."""

    def __init__(
        self,
        client: NeutronClient,
        nb: NorthboundSource,
        memory: PortMemory,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._nb, self._memory, self._pause = client, nb, memory, pause

    def perform(self, lb: LoadBalancer, effects: Sequence[Effect]) -> bool:
        """Carry out effects of one phase; whether any took place.

        Raises Transient or Terminal when the walk must not go on: rows would lack an address, or the
        LB is not gone yet. Nothing that is left of an LB in PENDING_DELETE is ever Terminal.
        """
        executed = execute(effects, self._client, self._nb, self._memory, self._pause)
        for result in executed.results:
            if result.ending is not Ending.DONE or result.note:
                level = logging.WARNING if result.error else logging.INFO
                LOG.log(level, "load balancer %s: %s", lb.id, result)
        executed.raise_left()
        return executed.done

    def vip_port_exists(self, lb: LoadBalancer) -> bool:
        """Whether Neutron has the LB's VIP port with the VIP's address. Raises Transient, Terminal."""
        if not lb.vip.port_id:
            return False
        try:
            port = self._client.get_port(lb.vip.port_id)
        except NeutronError as error:
            raise _kind(error) from error
        address = canonical(lb.vip.address or "")
        return port is not None and address in addresses_on(port, None)


def execute(
    effects: Sequence[Effect],
    client: NeutronClient,
    nb: NorthboundSource,
    memory: PortMemory,
    pause: Callable[[float], None] = time.sleep,
) -> Executed:
    """Carry out effects of one load balancer in their order; a failed one stops none but its dependants.

    Never raises for Neutron's sake: failures are results.
    """
    work = _Work(client, nb, memory, pause)
    results = tuple(work.result(effect) for effect in effects)
    return Executed(results, dict(work.addresses))


class _Kept(Exception):
    """The effect is rightly not carried out; the text says why."""


def _kind(error: NeutronError) -> Transient | Terminal:
    if isinstance(error, NeutronRefused) and not error.conflict:
        return Terminal(str(error))
    return Transient(str(error))


class _Work:
    """One call of `execute`."""

    def __init__(
        self,
        client: NeutronClient,
        nb: NorthboundSource,
        memory: PortMemory,
        pause: Callable[[float], None],
    ) -> None:
        self._client, self._nb, self._memory, self._pause = client, nb, memory, pause
        self.addresses: dict[str, str] = {}
        self._unrefreshed: list[str] = []
        self._steps: dict[str, Callable[[Effect], str]] = {
            kinds.CREATE_HM_PORT: self._create_hm_port,
            kinds.REPAIR_HM_PORT: self._repair_hm_port,
            kinds.DELETE_HM_PORT: self._delete_hm_port,
            kinds.MARK_VIP_PORT: self._mark_vip_port,
            kinds.DELETE_VIP_PORT: self._delete_vip_port,
            kinds.REFRESH_FIP: self._refresh_fip,
        }

    def result(self, effect: Effect) -> Result:
        try:
            return Result(effect, Ending.DONE, self._steps[effect.kind](effect))
        except _Kept as why:
            return Result(effect, Ending.KEPT, str(why))
        except Transient as error:
            return Result(effect, Ending.FAILED, error=error)
        except NeutronError as error:
            return self._failed(effect, error)

    def _failed(self, effect: Effect, error: NeutronError) -> Result:
        kind = _kind(error)
        if effect.kind == kinds.DELETE_VIP_PORT:
            # Nothing in PENDING_DELETE becomes ERROR: tried again for as long as it takes.
            return Result(effect, Ending.FAILED, error=Transient(str(error)))
        if effect.kind in (kinds.REFRESH_FIP, kinds.DELETE_HM_PORT):
            if isinstance(kind, Terminal):
                # Nobody's traffic hangs on it, so it does not hold up the report: an orphan at worst.
                self._memory.refuse(effect.kind, effect.target)
                return Result(effect, Ending.KEPT, str(error))
            if effect.kind == kinds.REFRESH_FIP:
                self._unrefreshed.append(effect.target)
        return Result(effect, Ending.FAILED, error=kind)

    # Health-monitor ports

    def _create_hm_port(self, effect: Effect) -> str:
        details, subnet_id = effect.details, effect.target
        with self._memory.subnet(subnet_id):
            port = self._find_hm_port(details, subnet_id)
            note = "found in Neutron" if port else ""
            if port is None:
                port = self._make_hm_port(details, subnet_id)
            address = addresses_on(port, subnet_id)[0]
            self._memory.learn(subnet_id, port.id, address)
        self.addresses[subnet_id] = address
        return note

    def _find_hm_port(self, details: Mapping[str, Any], subnet_id: str) -> NeutronPort | None:
        """The port that another writer made, or that we made when the answer was lost."""
        ports = self._client.list_ports(name=details["name"], network_id=details["network_id"])
        usable = [p for p in ports if _is_hm_port(p, details["name"]) and addresses_on(p, subnet_id)]
        return min(usable, key=lambda port: port.id, default=None)

    def _make_hm_port(self, details: Mapping[str, Any], subnet_id: str) -> NeutronPort:
        attributes = {
            "name": details["name"],
            "network_id": details["network_id"],
            "fixed_ips": [{"subnet_id": subnet_id}],
            "admin_state_up": True,
            "port_security_enabled": False,
            "device_owner": HM_PORT_OWNER,
            "device_id": details["name"],
            "project_id": details["project_id"],
        }
        mac = details.get("mac_address")
        if mac and not self._client.list_ports(network_id=details["network_id"], mac_address=mac):
            try:
                return self._client.create_port({**attributes, "mac_address": mac})
            except NeutronRefused as error:
                if error.status not in _NO_MAC:
                    raise
                LOG.info("health-monitor port on %s gets a MAC of Neutron's choice: %s", subnet_id, error)
        return self._client.create_port(attributes)

    def _repair_hm_port(self, effect: Effect) -> str:
        """Another owner and device id, taken back when Neutron makes no localport of it."""
        details = effect.details
        port = self._client.get_port(effect.target)
        if port is None or port.device_owner not in HM_PORT_OWNERS:
            raise _Kept("the port has gone or has got another owner")
        wanted = {key: details[key] for key in ("device_owner", "device_id")}
        if (port.device_owner, port.device_id) == (wanted["device_owner"], wanted["device_id"]):
            return "was right already"
        if self._client.update_port(port.id, wanted) is None:
            self._memory.refuse(effect.kind, effect.target)
            raise _Kept("Neutron does not let us change it")
        if self._becomes_localport(port.id):
            return ""
        self._memory.refuse(effect.kind, effect.target)
        before = {"device_owner": port.device_owner, "device_id": port.device_id}
        self._client.update_port(port.id, before)
        raise _Kept(f"rolled back: its LSP is no {LOCALPORT} with owner {wanted['device_owner']}")

    def _becomes_localport(self, port_id: str) -> bool:
        """Whether the LSP is a localport once it shows the new owner, or when it never does."""
        left = _LSP_PATIENCE
        while True:
            lsp = self._nb.port(port_id)
            shown = lsp is not None and lsp.external_ids.get(neutron_rows.DEVICE_OWNER) == HM_PORT_OWNER
            if shown or left <= 0:
                return lsp is not None and lsp.type == LOCALPORT
            self._pause(_LSP_PAUSE)
            left -= _LSP_PAUSE

    def _delete_hm_port(self, effect: Effect) -> str:
        details, subnet_id = effect.details, effect.target
        with self._memory.subnet(subnet_id):
            if asking := self._memory.asking(subnet_id):
                raise _Kept(f"load balancer {asking[0]} asks for it")
            port = self._client.get_port(details["port_id"])
            if port is None:
                self._memory.unlearn(subnet_id, details["port_id"])
                return "had gone"
            if not _is_hm_port(port, details["name"]):
                raise _Kept("it is no health-monitor port of ours")
            for address in {details["address"], *addresses_on(port, None)}:
                if users := sorted(mapping_users(self._nb, address, details["switch"])):
                    raise _Kept(f"load balancer {users[0]} sends probes from {address}")
            self._client.delete_port(port.id)
            self._memory.unlearn(subnet_id, port.id)
        return ""

    # VIP ports

    def _mark_vip_port(self, effect: Effect) -> str:
        wanted = dict(effect.details)
        port = self._client.get_port(effect.target)
        if port is None or port.device_id not in ("", wanted["device_id"]):
            raise _Kept("the port has gone or belongs to somebody else")
        if port.device_owner not in ("", wanted["device_owner"]):
            raise _Kept(f"the port has owner {port.device_owner}")
        if not provider_made(port.name, wanted["device_id"].removeprefix("lb-")):
            raise _Kept("the port is a user's own")
        if (port.device_owner, port.device_id) == (wanted["device_owner"], wanted["device_id"]):
            return "was right already"
        if self._client.update_port(port.id, wanted) is None:
            self._memory.refuse(effect.kind, effect.target)
            raise _Kept("Neutron does not let us change it")
        return ""

    def _delete_vip_port(self, effect: Effect) -> str:
        lb_id = effect.details["lb_id"]
        port = self._client.get_port(effect.target)
        if port is None:
            return "had gone"
        if not provider_made(port.name, lb_id):
            raise _Kept("it is a user's own port, or another load balancer's")
        if port.device_id not in ("", vip_device_id(lb_id)):
            raise _Kept(f"device {port.device_id} uses it")
        if self._unrefreshed:
            # Which floating IPs of members were kept central is read from this port's own one.
            raise Transient(f"port {port.id} stays until floating IP {self._unrefreshed[0]} is refreshed")
        self._client.delete_port(port.id)
        return ""

    # Floating IPs

    def _refresh_fip(self, effect: Effect) -> str:
        return "" if self._client.touch_floating_ip(effect.target) else "had gone"


def _is_hm_port(port: NeutronPort, name: str) -> bool:
    return port.name == name and port.device_owner in HM_PORT_OWNERS
