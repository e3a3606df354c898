"""The statuses that are kept notice by notice are those of the whole table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from ovnlb.observed.monitors import MonitorIndex
from ovnlb.observed.sb import health

ROWS = st.fixed_dictionaries(
    {
        "logical_port": st.sampled_from(["vm1", "vm2"]),
        "ip": st.sampled_from(["10.0.0.1", "fd00::0:1", "no address"]),
        "port": st.sampled_from([80, 81]),
        "protocol": st.sampled_from([(), ("tcp",), ("udp",)]),
        "status": st.sampled_from([(), ("online",), ("offline",), ("error",), ("unheard of",)]),
    }
)
NOTICES = st.lists(st.tuples(st.integers(1, 4), st.none() | ROWS), max_size=25)


def row(number: int, cells: dict[str, Any]) -> Any:
    return SimpleNamespace(uuid=UUID(int=number), _data=cells)


@given(notices=NOTICES, cleared=st.booleans())
def test_kept_statuses_are_those_of_the_table(
    notices: list[tuple[int, dict[str, Any] | None]], cleared: bool
) -> None:
    """None deletes the row; otherwise it is made or changed."""
    index = MonitorIndex()
    table: dict[int, dict[str, Any]] = {}
    for number, cells in notices:
        if cells is not None:
            index.changed("update" if number in table else "create", row(number, cells))
            table[number] = cells
        elif number in table:
            index.changed("delete", row(number, table.pop(number)))
    if cleared:
        index.cleared("Service_Monitor")
        table.clear()
    plain = [
        {name: list(cell) if cell.__class__ is tuple else cell for name, cell in cells.items()}
        for cells in table.values()
    ]
    assert index.statuses == health(plain, complete=True).monitors
