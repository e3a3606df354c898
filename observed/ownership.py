"""Whose a Load_Balancer row is, decided before anything is compared.

Source: architecture.md section 3, "Ownership". Foreign rows never reach the comparison, suspect ones
are reported and never written.
"""

from __future__ import annotations

import re
from collections.abc import Container
from enum import StrEnum

from ovnlb.desired.rows import DEVICE_OWNER, ENABLED, VIP, LoadBalancerRow

PORT_FORWARDING = "port_forwarding_plugin"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Ownership(StrEnum):
    """Whose a row is: ours to write, nobody's business of ours, or reported but never written."""

    OURS = "ours"
    FOREIGN = "foreign"
    SUSPECT = "suspect"


def classify(row: LoadBalancerRow, ours: Container[str], others: Container[str]) -> Ownership:
    """Whose the row is.

    `ours`: ids of the LBs of our providers in the Octavia database. `others`: ids of the LBs of other
    providers there. A row of ours whose name is not in `ours` is an orphan candidate.
    """
    owner = row.external_ids.get(DEVICE_OWNER)
    if owner == PORT_FORWARDING:
        return Ownership.FOREIGN
    if owner or row.name in others:
        return Ownership.SUSPECT
    if row.name in ours or _has_our_keys(row):
        return Ownership.OURS
    return Ownership.FOREIGN


def _has_our_keys(row: LoadBalancerRow) -> bool:
    return (
        VIP in row.external_ids
        and ENABLED in row.external_ids
        and _UUID.fullmatch(row.name.lower()) is not None
    )
