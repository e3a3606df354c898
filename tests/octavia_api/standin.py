"""Stands where the reconciler's service will: ends what is PENDING, as it would, without any OVN.

Reads the graph as the service does, removes the ports of what is deleted, and sends the messages
that `ovnlb.desired.verdicts` makes over the status socket to octavia's own driver-agent. Replace it
by the service (same two methods) where that is to be tested.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from octavia_lib.api.drivers.driver_lib import DriverLibrary

from driver_world import client_of
from ovnlb.desired.model import LoadBalancer
from ovnlb.desired.octavia import load_many, open_engine, pending
from ovnlb.desired.verdicts import Outcome, messages, status_update
from servers.neutron import FakeNeutron

PROVIDERS = ("ovn", "ovnlb")


class StandIn:
    """`settle` once, or `run` in the background until `close`."""

    def __init__(self, database: str, sockets: Path, neutron: FakeNeutron) -> None:
        self._engine = open_engine(database)
        self._sockets = sockets
        self._neutron = client_of(neutron, attempts=5)
        self._library: DriverLibrary | None = None
        self._one_at_a_time = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.failures: list[Exception] = []

    def settle(self, seconds: float = 20) -> None:
        """Ends everything that is PENDING; returns when nothing is."""
        deadline = time.monotonic() + seconds
        while self._round():
            assert time.monotonic() < deadline, "load balancers stay PENDING"

    def run(self) -> None:
        """Settles in the background, ten times a second."""
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the background thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._engine.dispose()

    def _loop(self) -> None:
        while not self._closing.wait(0.1):
            try:
                self._round()
            except Exception as error:  # noqa: BLE001  the next round tries again
                self.failures.append(error)

    def _round(self) -> bool:
        with self._one_at_a_time:
            return self._end_what_is_pending()

    def _end_what_is_pending(self) -> bool:
        waiting = [lb_id for lb_id, _ in pending(self._engine, PROVIDERS)]
        if not waiting:
            return False
        graph = load_many(self._engine, waiting)
        found = [graph.find(lb_id) for lb_id in waiting]
        balancers = [lb for lb in found if isinstance(lb, LoadBalancer)]
        for lb in balancers:
            if lb.provisioning_status == "PENDING_DELETE":
                self._remove_ports(lb)
        members = {m.id: "NO_MONITOR" for lb in balancers for pool in lb.pools for m in pool.members}
        for message in messages([status_update(lb, members, Outcome()) for lb in balancers]):
            self._driver_library().update_loadbalancer_status(message)
        return True

    def _remove_ports(self, lb: LoadBalancer) -> None:
        for vip in lb.vips:
            port = self._neutron.get_port(vip.port_id or "")
            if port is not None and port.name.startswith("ovn-lb-vip-"):
                self._neutron.delete_port(port.id)

    def _driver_library(self) -> DriverLibrary:
        if self._library is None:
            status, stats, get = (str(self._sockets / f"{kind}.sock") for kind in ("status", "stats", "get"))
            self._library = DriverLibrary(status_socket=status, stats_socket=stats, get_socket=get)
        return self._library
