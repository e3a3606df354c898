"""Under which UUID a new row is inserted.

Every process computes the same one for the same row, so that two of them cannot create it twice.
Source: architecture.md section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

from ovnlb.desired import rows
from ovnlb.desired.rows import HealthCheckRow, LoadBalancerRow, NbState


@dataclass(frozen=True)
class FreeUuids:
    """Hands out row UUIDs that nothing holds.

    The UUID of (LB, protocol) can be held by a row that has another protocol now: a row taken over
    keeps its UUID. Then the next one of a fixed series is used, the same for every process that sees
    the same rows.
    """

    taken: set[str]
    in_use: Callable[[str], bool] | None

    def load_balancer(self, lb_id: str, protocol: str | None) -> str:
        """For the row of this LB and protocol."""
        return self._first(lambda suffix: rows.load_balancer_row_uuid(lb_id, f"{protocol or ''}{suffix}"))

    def health_check(self, check: HealthCheckRow) -> str:
        """For this health check."""
        monitor = check.external_ids.get(rows.CHECK_MONITOR, "")
        return self._first(lambda suffix: rows.health_check_row_uuid(monitor, f"{check.vip}{suffix}"))

    def _first(self, candidate: Callable[[str], UUID]) -> str:
        number = 0
        while True:
            uuid = str(candidate(f"/{number}" if number else ""))
            if uuid not in self.taken and not (self.in_use and self.in_use(uuid)):
                self.taken.add(uuid)
                return uuid
            number += 1


def free_uuids(have: NbState, in_use: Callable[[str], bool] | None) -> FreeUuids:
    """The UUIDs that neither these rows nor anything else in the database has (`in_use`)."""
    return FreeUuids({uuid for row in (*have.rows, *have.suspect) for uuid in _uuids(row)}, in_use)


def _uuids(row: LoadBalancerRow) -> Iterator[str]:
    yield row.uuid or ""
    yield from (check.uuid or "" for check in row.health_checks)
