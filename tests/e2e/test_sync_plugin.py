"""Neutron's own repair command loads and runs the plugin: neutron 29, its entry points, its loop."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from repair_world import RepairWorld, repair_world
from scenario_files import load_scenario
from stack import venvs

# What Neutron's `main` does with plugins, without the server objects that ours does not use.
SCRIPT = """
import json, sys
from types import SimpleNamespace
from neutron.cmd.ovn import neutron_ovn_db_sync_util as util
found = util.load_synchronize_drivers("octavia_ovn_sync")
drivers = sorted(name for ext in found for name in ext.plugin.get_required_mechanism_drivers())
failed = ""
try:
    util.synchronize_ovn_dbs(found, None, SimpleNamespace(nb_ovn=None, sb_ovn=None), sys.argv[1])
except Exception as error:
    failed = f"{type(error).__name__}: {error}"
print(json.dumps({"names": found.names(), "drivers": drivers, "failed": failed}))
"""


@pytest.fixture(scope="module")
def neutron_python() -> Path:
    """The interpreter of an environment with Neutron and ovnlb."""
    return venvs.ovnlb() / "bin" / "python"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RepairWorld]:
    """Two load balancers without rows."""
    with repair_world(tmp_path_factory.mktemp("plugin")) as made:
        made.load(load_scenario("two_lbs_same_network").steps[9])
        made.nb.transact({"op": "delete", "table": "Load_Balancer", "where": []})
        yield made


def synchronise(python: Path, cloud: RepairWorld, mode: str) -> dict[str, object]:
    """Run the script in that environment; what it printed last."""
    environment = {**os.environ, "OVNLB_CONFIG_FILES": str(cloud.config)}
    environment.pop("PYTHONPATH", None)
    command = [str(python), "-c", SCRIPT, mode]
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cloud.directory,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_neutron_runs_the_plugin(neutron_python: Path, cloud: RepairWorld) -> None:
    """log writes nothing, repair writes the rows, a broken load balancer makes repair fail."""
    expected = {"names": ["octavia_ovn_sync"], "drivers": ["ovn-sync"], "failed": ""}
    assert synchronise(neutron_python, cloud, "log") == expected
    assert cloud.rows() == {}
    assert synchronise(neutron_python, cloud, "repair") == expected
    assert len(cloud.rows()) == 2
    cloud.sql("DELETE FROM vip")
    assert "could not be planned" in str(synchronise(neutron_python, cloud, "repair")["failed"])
    assert len(cloud.rows()) == 2
