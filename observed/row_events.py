"""What a replica tells of its changed rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RELOADED = "reloaded"


@dataclass(frozen=True, slots=True)
class RowEvent:
    """One changed row. `event`: create, update, delete, or `reloaded` (empty table and uuid).

    `reloaded` follows a reconnect: any row may have changed, single events of that time are not told.
    `old` holds the former values of the columns that an update changed.
    """

    table: str
    event: str
    uuid: str = ""
    new: Mapping[str, Any] = field(default_factory=dict)
    old: Mapping[str, Any] = field(default_factory=dict)
