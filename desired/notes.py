"""What a computation tells the operator besides its result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """Something the operator should know. `code` is stable, `text` names the objects."""

    code: str
    text: str
