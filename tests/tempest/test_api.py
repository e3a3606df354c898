"""octavia-tempest-plugin's API tests against the stack: what passes with the original provider passes
with ovnlb.

Its scenario tests need guests from Nova with an image, which this stack has not: the data path suite
stands in for them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

import pytest

from stack import stack as stacks
from stack import venvs
from stack.cloud import Cloud
from stack.settings import PASSWORD
from stack.stack import Stack

HERE = Path(__file__).resolve().parent
TESTS = os.environ.get("OVNLB_TEMPEST_REGEX", r"^octavia_tempest_plugin\.tests\.api\.v2")
MUST_PASS = frozenset((HERE / "names-that-pass.txt").read_text().split())
PROVIDER = cast(Literal["original", "ovnlb"], os.environ.get("OVNLB_E2E_PROVIDER", "ovnlb"))


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """The running stack with what the plugin expects to find: a router and a shared IPv6 subnet pool."""
    with stacks.running(PROVIDER) as running:
        cloud = Cloud(running)
        cloud.networks()
        cloud.network.create_subnet_pool(
            name="shared-default-subnetpool-v6",
            prefixes=["fdcc::/56"],
            default_prefix_length=64,
            is_shared=True,
            is_default=True,
        )
        print(f"\n{running.ovn.version}\n{running.report()}")
        yield running


def _workspace(stack: Stack) -> Path:
    """A tempest workspace whose configuration is ours."""
    directory = stack.place.root / "tempest"
    tempest = venvs.tempest() / "bin" / "tempest"
    stack.processes.run("tempest init", [str(tempest), "init", str(directory)])
    text = (
        (HERE / "tempest.conf.in")
        .read_text()
        .format(
            password=PASSWORD, identity=stack.place.url("keystone"), public=Cloud(stack).networks().public
        )
    )
    (directory / "etc" / "tempest.conf").write_text(text)
    return directory


def _results(said: str) -> dict[str, tuple[str, str]]:
    """Test name -> (ok, SKIPPED or FAILED, reason), from what ``tempest run`` prints."""
    lines = re.findall(
        r"^\{\d+\} (.+?)(?:\[[\w,-]*\])?(?: \[[\d.]+s\])? \.\.\. (ok|SKIPPED|FAILED)(?:: (.*))?$",
        said,
        re.M,
    )
    return {name: (status, reason) for name, status, reason in lines}


@pytest.mark.timeout(6000)
def test_api_v2(stack: Stack) -> None:
    """The names in ``names-that-pass.txt`` pass, none fails, and the skipped ones are counted by reason."""
    directory = _workspace(stack)
    tempest = venvs.tempest() / "bin" / "tempest"
    environment = {
        **stack.processes.env,
        "PATH": f"{venvs.tempest()}/bin:{os.environ['PATH']}",
        "HOME": str(directory),
    }
    ran = subprocess.run(
        [
            str(tempest),
            "run",
            "--concurrency",
            os.environ.get("OVNLB_TEMPEST_WORKERS", "2"),
            "--regex",
            TESTS,
        ],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=5400,
        check=False,
    )
    results = _results(ran.stdout)
    if kept := os.environ.get("OVNLB_TEMPEST_RESULTS"):
        lines = (f"{status},{name},{reason}\n" for name, (status, reason) in sorted(results.items()))
        Path(kept).write_text("".join(lines))
    print(dict(Counter(status for status, _ in results.values())))
    for reason, count in Counter(
        reason for status, reason in results.values() if status == "SKIPPED"
    ).most_common():
        print(f"{count:4} skipped: {reason}")
    assert {name for name, (status, _) in results.items() if status == "FAILED"} == set(), ran.stdout[
        -20000:
    ]
    assert sorted(MUST_PASS - {name for name, (status, _) in results.items() if status == "ok"}) == []
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr
