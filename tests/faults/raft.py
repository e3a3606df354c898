"""A RAFT cluster with the interface that a test's world needs of its Northbound server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from servers.ovsdb import NB, OvsdbServer, RaftCluster, raft_cluster, wait_until

_PATIENCE = 20.0


class ClusterNb:
    """Whatever is asked of it is asked of the leader of the moment, again while there is none."""

    def __init__(self, cluster: RaftCluster) -> None:
        self.cluster = cluster
        self.remote = cluster.remotes

    def transact(self, *operations: Any) -> Any:
        """One transaction."""
        return self._led(lambda leader: leader.transact(*operations))

    def insert(self, tables: Any) -> Any:
        """Rows of the bundle form."""
        return self._led(lambda leader: leader.insert(tables))

    def dump(self, *tables: str) -> Any:
        """All rows of these tables."""
        return self._led(lambda leader: leader.dump(*tables))

    def _led(self, action: Callable[[OvsdbServer], Any]) -> Any:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return action(self.cluster.leader())
            except (OSError, AssertionError):
                if time.monotonic() > deadline:
                    raise

    def kill_leader(self) -> None:
        """The leader dies and comes back as a follower once another leads."""
        old = self.cluster.leader()
        old.kill()
        wait_until(lambda: self._led_by_another(old), "another leader", _PATIENCE)
        old.start()

    def snapshot_leader(self) -> None:
        """The leader hands its leadership over, which is what it does before it writes a snapshot."""
        old = self.cluster.leader()

        def handed_over() -> bool:
            # The member that was chosen may be behind and refuse: ask again.
            old.appctl("cluster/failure-test", "transfer-leadership")
            time.sleep(0.5)
            return self._led_by_another(old)

        wait_until(handed_over, "another leader", _PATIENCE)

    def _led_by_another(self, old: OvsdbServer) -> bool:
        roles = [member for member in self.cluster.members if self.cluster.role(member) == "leader"]
        return any(member is not old for member in roles)


@contextmanager
def cluster_nb() -> Iterator[ClusterNb]:
    """Three members."""
    with raft_cluster(NB) as cluster:
        yield ClusterNb(cluster)
