"""Load balancer operations whose result is checked everywhere: Octavia's statuses, NB rows, Neutron
ports, quotas.
"""

from __future__ import annotations

import contextlib
import io
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ovnlb.reconciler.cli import main
from stack.cloud import Cloud, Networks, Timing, nodes
from stack.expected import expected_vips, found_vips, rows_of

# kind -> the sdk's name of it
KINDS = {"listener": "listener", "pool": "pool", "member": "member", "health monitor": "health_monitor"}


@dataclass(frozen=True)
class Left:
    """Ids of the provider's ports, and (project, kind) -> quota use where there is any."""

    ports: frozenset[str]
    in_use: Mapping[tuple[str, str], int]


class Steps:
    """The operations of one test on its load balancers."""

    def __init__(self, cloud: Cloud, networks: Networks, only_times: bool = False) -> None:
        """``only_times``: do not judge the rows, and record a floating IP that they never follow as such."""
        self.cloud, self.networks, self.only_times = cloud, networks, only_times
        self.octavia = cloud.octavia
        self.lbs: list[str] = []
        self.undo: list[Callable[[], object]] = []
        self.ours = cloud.stack.octavia.provider == "ovnlb"

    # -- load balancers
    def balancer(self, **options: Any) -> str:
        """Create a load balancer (VIP on the private IPv4 subnet unless said otherwise) and check it."""
        options = {"provider": "ovn", "name": f"lb{len(self.lbs)}", **options}
        if not {"vip_subnet_id", "vip_network_id", "vip_port_id"} & options.keys():
            options["vip_subnet_id"] = self.networks.private_v4
        name = (
            "load balancer create, with children"
            if {"listeners", "pools"} & options.keys()
            else "load balancer create"
        )
        created = self.cloud.timed(name, None, self.octavia.create_load_balancer, **options)
        self.lbs.append(created.id)
        self.check(created.id)
        return str(created.id)

    def update_balancer(self, lb_id: str, **changes: Any) -> None:
        """Change a load balancer and check it."""
        self.cloud.timed(
            "load balancer update", lb_id, self.octavia.update_load_balancer, lb_id, **changes
        )
        self.check(lb_id)

    def delete_balancer(self, lb_id: str, cascade: bool = False) -> None:
        """Delete a load balancer and check that no row is left."""
        self.cloud.delete(lb_id, cascade)
        self.lbs.remove(lb_id)
        assert rows_of(self.cloud, lb_id) == []

    # -- children
    def create(self, kind: str, lb_id: str, *path: str, **options: Any) -> str:
        """Create a child (``path`` holds the pool's id of a member) and check the whole load balancer."""
        call = getattr(self.octavia, f"create_{KINDS[kind]}")
        created = self.cloud.timed(f"{kind} create", lb_id, call, *path, **options)
        self.check(lb_id)
        return str(created.id)

    def update(self, kind: str, lb_id: str, child: str, *path: str, **changes: Any) -> None:
        """Change a child and check."""
        call = getattr(self.octavia, f"update_{KINDS[kind]}")
        self.cloud.timed(f"{kind} update", lb_id, call, child, *path, **changes)
        self.check(lb_id)

    def delete(self, kind: str, lb_id: str, child: str, *path: str) -> None:
        """Delete a child and check that the API has lost it."""
        call = getattr(self.octavia, f"delete_{KINDS[kind]}")
        self.cloud.timed(f"{kind} delete", lb_id, call, child, *path)
        self.eventually(lambda: child not in str(self.cloud.tree(lb_id)), 0 if self.ours else 20)
        self.check(lb_id)

    def batch(self, lb_id: str, pool: str, members: list[dict[str, Any]], additive: bool = False) -> None:
        """Replace (or add to) the members of a pool in one request and check."""
        query = "?additive_only=True" if additive else ""

        def put() -> None:
            reply = self.octavia.put(f"/lbaas/pools/{pool}/members{query}", json={"members": members})
            assert reply.status_code == 202, reply.text

        self.cloud.timed("members batch update", lb_id, put)
        self.check(lb_id)

    def floating_ip(self, port: str) -> str:
        """A floating IP on a port; its id. Waits for the rows to follow."""
        begin = time.monotonic()
        fip = self.cloud.network.create_ip(floating_network_id=self.networks.public, port_id=port)
        self.undo.append(lambda: self.cloud.network.delete_ip(fip.id, ignore_missing=True))
        self._rows_follow("floating IP on", begin)
        return str(fip.id)

    def drop_floating_ip(self, fip: str) -> None:
        """Delete a floating IP and wait for the rows to follow."""
        begin = time.monotonic()
        self.cloud.network.delete_ip(fip)
        self._rows_follow("floating IP off", begin)

    def _rows_follow(self, operation: str, begin: float) -> None:
        called = time.monotonic() - begin
        try:
            self.eventually(lambda: all(self.rows_differ(lb) is None for lb in self.lbs))
        except AssertionError:
            if not self.only_times:
                raise
            self.cloud.timings.append(Timing(operation, called, math.inf))
        else:
            self.cloud.timings.append(Timing(operation, called, time.monotonic() - begin))

    # -- checks
    def rows_differ(self, lb_id: str) -> str | None:
        """How NB differs from what the API says, None when it does not."""
        want, have = expected_vips(self.cloud, lb_id, drain=self.ours), found_vips(self.cloud, lb_id)
        return None if want == have else f"NB has {have}, the API says {want}"

    def check(self, lb_id: str) -> None:
        """Everything ACTIVE, the rows as the API says, and an empty plan. Of the original, only the rows,
        and a bit later.
        """
        if not self.ours:
            if not self.only_times:
                self.eventually(lambda: self.rows_differ(lb_id) is None, 20)
            return
        states = [
            (kind, node["id"], node["provisioning_status"])
            for kind, node in nodes(self.cloud.tree(lb_id))
        ]
        assert [state for state in states if state[2] != "ACTIVE"] == []
        assert self.rows_differ(lb_id) is None, self.rows_differ(lb_id)
        self.in_sync(lb_id)

    def in_sync(self, lb_id: str) -> None:
        """The plan of this load balancer is empty; a monitor's event may be on its way, so it has a few
        tries.
        """
        said = io.StringIO()
        for _ in range(4):
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = main(["plan", "--config-file", str(self.cloud.stack.octavia.conf), "--lb", lb_id])
            if code != 2:
                break
        assert code == 0, said.getvalue()

    def status(self, lb_id: str) -> dict[str, str]:
        """Object id -> operating status, of a load balancer and all below it."""
        return {node["id"]: node["operating_status"] for _, node in nodes(self.cloud.tree(lb_id))}

    def eventually(self, condition: Callable[[], object], seconds: float = 60) -> None:
        """Poll until a condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not so after {seconds:.0f} s\n{self.cloud.logs()}"
            time.sleep(0.1)

    # -- the end
    def clean(self) -> None:
        """The installed command finds nothing to do; then delete what the test left, latest first."""
        if self.ours:
            done = self.cloud.stack.octavia.ovnlb("plan")
            assert done.returncode == 0, done.stdout + done.stderr
        for lb_id in reversed(list(self.lbs)):
            self.delete_balancer(lb_id, cascade=True)
        for step in reversed(self.undo):
            step()

    def left(self) -> Left:
        """Ports of the provider and quota use, to compare with afterwards."""
        used = self.cloud.stack.database.rows("SELECT * FROM quotas", schema="octavia")
        in_use = {
            (row["project_id"], key): value
            for row in used
            for key, value in row.items()
            if key.startswith("in_use") and value
        }
        return Left(frozenset(self.cloud.provider_ports()), in_use)

    def nothing_left(self, before: Left) -> None:
        """No row, no port of the provider and (the original miscounts it) no quota use has been added."""
        nb = self.cloud.stack.ovn
        self.eventually(lambda: not nb.rows("nb", "Load_Balancer"), 20)
        assert nb.rows("nb", "Load_Balancer_Health_Check") == []
        self.eventually(lambda: self.left().ports <= before.ports, 20)
        assert not self.ours or self.left().in_use == before.in_use
