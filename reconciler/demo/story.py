"""What `ovnlb demo` shows, step by step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovnlb.diff import report
from ovnlb.observed.nb import observe
from ovnlb.reconciler.demo import inputs as demo
from ovnlb.reconciler.demo.server import northbound, transact
from ovnlb.reconciler.inputs import Scope
from ovnlb.reconciler.passes import pass_document
from ovnlb.reconciler.rounds import SETTLED, play
from ovnlb.reconciler.walk import Pass, walk_all

# What a faulty tool does to the rows of the first load balancer: the disabled member gets traffic
# again, the UDP listener's key is lost, the LB falls off a switch, and a key of somebody else appears.
DAMAGE = "damage.json"


@dataclass(frozen=True)
class Stage:
    """Where the story plays: its inputs, and how it is told."""

    inputs: demo.DemoInputs
    tell: Callable[[str], None]
    show: Callable[[dict[str, Any]], None]

    def title(self, text: str) -> None:
        """Start a chapter."""
        self.tell(f"\n== {text}")

    def plan(self) -> Pass:
        """Plan everything and show it."""
        done = walk_all(self.inputs.graph(Scope()), self.inputs.world)
        self.show(pass_document(done, with_desired=False))
        return done

    def apply(self) -> int:
        """Write everything; how many transactions it took. Raises RuntimeError when something is left."""
        before = self.inputs.transactions
        ids = [lb.id for lb in self.inputs.graph(Scope()).load_balancers]
        failed = [done for done in play(ids, self.inputs.means()) if done.result not in SETTLED]
        if failed:
            raise RuntimeError("; ".join(f"{done.lb_id}: {done.result} {done.error}" for done in failed))
        return self.inputs.transactions - before


def run(tell: Callable[[str], None], show: Callable[[dict[str, Any]], None]) -> bool:
    """Play the whole story; whether it ended as it must: both second plans empty, nothing written twice."""
    with tempfile.TemporaryDirectory(prefix="ovnlb-demo-") as name:
        directory = Path(name)
        with northbound(directory) as remote:
            transact(remote, demo.data("northbound.json"))
            database = directory / "octavia.sqlite"
            demo.make_database(database)
            demo.fill_database(database, demo.data("octavia_before.json"))
            with demo.demo_inputs(database, remote) as inputs:
                return _play(Stage(inputs, tell, show), database, remote)


def _play(stage: Stage, database: Path, remote: str) -> bool:
    stage.tell("A private ovsdb-server with the OVN Northbound schema and a SQLite Octavia database are up.")
    stage.apply()
    demo.fill_database(database, demo.data("octavia_operation.json"))
    stage.title("In the middle of an operation: a member is being added to 'web', 'shop' is being created")
    stage.plan()
    stage.title("Apply")
    stage.tell(f"{stage.apply()} transaction")
    _rows(stage)
    stage.title("A second plan")
    settled = _is_empty(stage)
    stage.title("A faulty tool damages the rows of 'web': plan the repair")
    with stage.inputs.foreign_write():
        transact(remote, demo.data(DAMAGE))
    stage.plan()
    stage.title("Repair")
    stage.tell(f"{stage.apply()} transaction")
    stage.title("A last plan")
    return _is_empty(stage) and settled


def _is_empty(stage: Stage) -> bool:
    done = stage.plan()
    sent = stage.apply()
    stage.tell(f"applying it sends {sent} transactions")
    return all(walked.plan.empty for walked in done.walked) and sent == 0


def _rows(stage: Stage) -> None:
    for lb in stage.inputs.graph(Scope()).load_balancers:
        state = report.state(observe(stage.inputs.world.nb, lb.id))
        stage.tell(_shown(state))


def _shown(state: dict[str, Any]) -> str:
    lines = []
    for row in state["Load_Balancer"]:
        lines.append(f"Load_Balancer {row['name']} protocol {row['protocol']}")
        for column in ("vips", "external_ids", "ip_port_mappings", "options"):
            lines += [f"    {column}: {key} = {value}" for key, value in sorted(row[column].items())]
        lines.append(f"    selection_fields: {', '.join(row['selection_fields'])}")
        lines.append(f"    health_check: {', '.join(row['health_check']) or '(none)'}")
        lines.append(f"    attached: {', '.join([*row['attached_switches'], *row['attached_routers']])}")
    return "\n".join(lines)
