"""What a process knows of ports that the replica does not show: by process, never written anywhere.

Health-monitor ports that Neutron has and the replica not yet (or no more), which load balancer last
asked for which of them, and what Neutron has refused. Losing it costs a call or leaves an orphan.
Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ovnlb.observed.source import NorthboundSource

# A port that Neutron made but never wrote into the Northbound database is looked up again after this.
_LEARNT_FOR = 60.0
# How long a refusal of Neutron's policy stands before it is tried again, in seconds.
_REFUSED_FOR = 3600.0


@dataclass(frozen=True, slots=True)
class _Learnt:
    """A port that was made or found in Neutron (address given), or deleted there (None)."""

    port_id: str
    address: str | None
    until: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the last desired rows of a load balancer ask for."""

    subnets: frozenset[str]
    sources: frozenset[str]


class PortMemory:
    """See the module. `clock` gives monotonic seconds; `monitor_mac` is option hm_port_monitor_mac."""

    def __init__(
        self,
        nb: NorthboundSource,
        *,
        monitor_mac: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nb, self._clock = nb, clock
        self.monitor_mac = monitor_mac
        self._lock = threading.Lock()
        self._subnets: dict[str, threading.Lock] = {}
        self._learnt: dict[str, _Learnt] = {}
        self._asked: dict[str, _Asked] = {}
        self._refused: dict[tuple[str, str], float] = {}

    @contextmanager
    def subnet(self, subnet_id: str) -> Iterator[None]:
        """Creating, choosing and removing the health-monitor port of one subnet is done in turn."""
        with self._lock:
            lock = self._subnets.setdefault(subnet_id, threading.Lock())
        with lock:
            yield

    # What load balancers ask for

    def ask(self, lb_id: str, subnets: Iterable[str], sources: Iterable[str]) -> None:
        """The desired rows of this load balancer use these subnets' ports, at these addresses."""
        asked = _Asked(frozenset(subnets), frozenset(sources))
        with self._lock:
            self._asked[lb_id] = asked

    def forget(self, lb_id: str) -> None:
        """The load balancer and its rows are gone."""
        with self._lock:
            self._asked.pop(lb_id, None)

    def released(self, lb_id: str, address: str) -> bool:
        """Whether that load balancer is known not to ask for probes from this address any more."""
        with self._lock:
            asked = self._asked.get(lb_id)
        return asked is not None and address not in asked.sources

    def asking(self, subnet_id: str) -> tuple[str, ...]:
        """The load balancers that ask for the subnet's port, whether their rows are written or not."""
        with self._lock:
            return tuple(sorted(lb for lb, asked in self._asked.items() if subnet_id in asked.subnets))

    # Ports that the replica does not show

    def learn(self, subnet_id: str, port_id: str, address: str) -> None:
        """Neutron has this port."""
        self._put(subnet_id, port_id, address)

    def unlearn(self, subnet_id: str, port_id: str) -> None:
        """Neutron has this port no more."""
        self._put(subnet_id, port_id, None)

    def _put(self, subnet_id: str, port_id: str, address: str | None) -> None:
        now = self._clock()
        with self._lock:
            # What expired on a subnet that nobody walks any more goes, too.
            self._learnt = {subnet: entry for subnet, entry in self._learnt.items() if entry.until >= now}
            self._learnt[subnet_id] = _Learnt(port_id, address, now + _LEARNT_FOR)

    def hm_ports(self, shown: Mapping[str, str], subnets: Iterable[str]) -> dict[str, str]:
        """Subnet -> address of its port: as the replica shows it, corrected by what is known better."""
        found = dict(shown)
        with self._lock:
            learnt = {subnet: self._learnt[subnet] for subnet in subnets if subnet in self._learnt}
        for subnet, entry in learnt.items():
            there = self._nb.port(entry.port_id) is not None
            if there == (entry.address is not None) or entry.until < self._clock():
                with self._lock:
                    if self._learnt.get(subnet) == entry:
                        del self._learnt[subnet]
            elif entry.address is not None:
                found[subnet] = entry.address
            elif (port := self._nb.hm_port(subnet)) is not None and port.name == entry.port_id:
                found.pop(subnet, None)
        return found

    # Refusals

    def refuse(self, kind: str, target: str) -> None:
        """Neutron will not do this: leave it for an hour."""
        with self._lock:
            self._refused[kind, target] = self._clock() + _REFUSED_FOR

    def refused(self) -> frozenset[tuple[str, str]]:
        """(kind, target) of the effects that are left alone for now."""
        with self._lock:
            now = self._clock()
            self._refused = {key: until for key, until in self._refused.items() if until > now}
            return frozenset(self._refused)
