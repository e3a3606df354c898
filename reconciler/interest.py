"""Who depends on what: from the names in an event to the load balancers to look at.

Built from each load balancer's last walk and replaced by its next. It is allowed to be out of date:
what it misses is found by the resync. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ovnlb.desired.addresses import canonical
from ovnlb.desired.facts import MonitorKey, switch_name
from ovnlb.desired.rows import load_balancer_row_uuid
from ovnlb.observed.events import Touched
from ovnlb.reconciler.walk import Walked

Mark = tuple[str, Any]


class Interest:
    """The marks of every load balancer that was walked: (kind, name) pairs, many to many."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_mark: dict[Mark, set[str]] = {}
        self._of_lb: dict[str, frozenset[Mark]] = {}

    def put(self, walked: Walked) -> None:
        """What this load balancer depends on now."""
        self._replace(walked.lb.id, frozenset(marks(walked)))

    def forget(self, lb_id: str) -> None:
        """The load balancer is gone."""
        self._replace(lb_id, frozenset())

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._of_mark.clear()
            self._of_lb.clear()

    def keys(self, touched: Touched) -> set[str]:
        """The load balancers that what was touched may matter to."""
        with self._lock:
            return {lb_id for mark in _marks_of(touched) for lb_id in self._of_mark.get(mark, ())}

    def knows(self, lb_id: str) -> bool:
        """Whether that load balancer was walked."""
        with self._lock:
            return lb_id in self._of_lb

    def __len__(self) -> int:
        return len(self._of_lb)

    def _replace(self, lb_id: str, new: frozenset[Mark]) -> None:
        with self._lock:
            old = self._of_lb.get(lb_id, frozenset())
            for mark in old - new:
                holders = self._of_mark[mark]
                holders.discard(lb_id)
                if not holders:
                    del self._of_mark[mark]
            for mark in new - old:
                self._of_mark.setdefault(mark, set()).add(lb_id)
            if new:
                self._of_lb[lb_id] = new
            else:
                self._of_lb.pop(lb_id, None)


def marks(walked: Walked) -> Iterator[Mark]:
    """Everything whose change may change this load balancer's rows or statuses."""
    lb, topology = walked.lb, walked.topology
    yield "balancer", lb.id
    networks = {subnet.network_id for subnet in topology.subnets.values()}
    networks.update(vip.network_id for vip in lb.vips if vip.network_id)
    yield from (("switch", switch_name(network)) for network in networks)
    yield from (("switch", name) for name in topology.switches)
    for router in topology.routers:
        yield "router", router.name
        yield from (("interface", one.name) for one in router.interfaces)
    yield from (("port", vip.port_id) for vip in lb.vips if vip.port_id)
    yield from (("subnet", subnet) for subnet in topology.subnets)
    yield from (("monitor", key) for key in walked.desired.monitors)
    yield from (("row", row.uuid) for row in walked.plan.have.rows if row.uuid)
    for row in walked.plan.want.rows:
        yield "row", str(load_balancer_row_uuid(lb.id, row.protocol))
    for pool in lb.pools:
        yield "pool", pool.id
        addresses = (canonical(member.address) for member in pool.members)
        yield from (("address", address) for address in addresses if address is not None)


def _marks_of(touched: Touched) -> Iterator[Mark]:
    named: tuple[tuple[str, Iterable[str | MonitorKey]], ...] = (
        ("balancer", touched.balancers),
        ("row", touched.rows),
        ("pool", touched.pools),
        ("switch", touched.switches),
        ("router", touched.routers),
        ("port", touched.ports),
        ("address", touched.addresses),
        ("subnet", touched.subnets),
        ("interface", touched.interface_ports),
        ("monitor", touched.monitors),
    )
    return ((kind, name) for kind, names in named for name in names)
