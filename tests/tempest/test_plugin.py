"""octavia-tempest-plugin's API tests against the stack, and those of its scenario tests that need no Nova.

What passes with the original provider passes with ovnlb. The scenario tests of traffic need guests from
Nova with an image, and those of flavors its flavors, which this stack has not: the data path suite stands
in for them. ``skips.txt`` and ``scenario-skips.txt`` hold how many tests the plugin skips for which
reason, and why that is right; ``OVNLB_TEMPEST_RESULTS`` names a file that gets the result of each suite
and of every test, as JSON; ``OVNLB_TEMPEST_REGEX`` runs some tests instead of the suites.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, cast

import pytest

from stack import stack as stacks
from stack import venvs
from stack.cloud import Cloud
from stack.settings import PASSWORD
from stack.stack import Stack

HERE = Path(__file__).resolve().parent
API = r"^octavia_tempest_plugin\.tests\.api\.v2"
SCENARIO = (
    r"^octavia_tempest_plugin\.tests\.scenario\.v2\."
    r"test_(healthmonitor|l7policy|l7rule|listener|load_balancer|member|pool)\.(?!.*_with_compute_flavor)"
)
CHOSEN = os.environ.get("OVNLB_TEMPEST_REGEX", "")
# Which tests, and the file that argues the skips among all of them.
SUITES = (
    {"chosen": (CHOSEN, "")}
    if CHOSEN
    else {"api": (API, "skips.txt"), "scenario": (SCENARIO, "scenario-skips.txt")}
)
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


def _workspace(stack: Stack, suite: str) -> Path:
    """A tempest workspace whose configuration is ours."""
    directory = stack.place.root / f"tempest-{suite}"
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


def _not_argued(reasons: Iterable[str], file: Path) -> list[str]:
    """How the skips differ from what the file argues: unknown reasons, known ones with another number."""
    left = Counter(reasons)
    wrong = []
    for line in (line for line in file.read_text().splitlines() if line and not line.startswith("#")):
        number, words, _why = line.split(" | ")
        found = {reason: left.pop(reason) for reason in list(left) if words in reason}
        if sum(found.values()) != int(number):
            wrong.append(f"{words}: {sum(found.values())} tests, not {number}")
    return wrong + [f"{reason}: {count} tests" for reason, count in left.items()]


def _keep(suite: str, results: Mapping[str, tuple[str, str]], seconds: float) -> None:
    """Print the counts, and put everything into the file that was asked for."""
    summary = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds),
        "counts": dict(Counter(status for status, _ in results.values())),
    }
    print(suite, summary)
    if kept := os.environ.get("OVNLB_TEMPEST_RESULTS"):
        file = Path(kept)
        whole = json.loads(file.read_text()) if file.exists() else {}
        whole[suite] = {**summary, "tests": results}
        file.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")


def _run(
    stack: Stack, suite: str, tests: str
) -> tuple[dict[str, tuple[str, str]], subprocess.CompletedProcess[str]]:
    directory = _workspace(stack, suite)
    home = venvs.tempest() / "bin"
    workers = os.environ.get("OVNLB_TEMPEST_WORKERS", "2")
    begin = time.monotonic()
    ran = subprocess.run(
        [str(home / "tempest"), "run", "--concurrency", workers, "--regex", tests],
        cwd=directory,
        env={
            **stack.processes.env,
            "PATH": f"{home}:{os.environ['PATH']}",
            "HOME": str(directory),
        },
        capture_output=True,
        text=True,
        timeout=5400,
        check=False,
    )
    results = _results(ran.stdout)
    _keep(suite, results, time.monotonic() - begin)
    return results, ran


@pytest.mark.timeout(6000)
@pytest.mark.parametrize("suite", SUITES)
def test_suite(stack: Stack, suite: str) -> None:
    """The names in ``names-that-pass.txt`` pass, none fails, and every skip is argued."""
    tests, skips = SUITES[suite]
    results, ran = _run(stack, suite, tests)
    by_status = {
        status: {name for name, (found, _) in results.items() if found == status}
        for status in ("ok", "SKIPPED", "FAILED")
    }
    assert by_status["FAILED"] == set(), ran.stdout[-20000:]
    assert sorted(name for name in MUST_PASS - by_status["ok"] if re.match(tests, name)) == []
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr
    if skips:
        assert _not_argued((results[name][1] for name in by_status["SKIPPED"]), HERE / skips) == []
