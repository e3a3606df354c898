"""How checks are run and reported: order, isolation, time limits, exit codes, colours."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest

from ovnlb.diff.report import dumps
from ovnlb.observed.remotes import Unreachable
from ovnlb.reconciler.checks import report
from ovnlb.reconciler.checks.clocks import TOLERANCE, skewed
from ovnlb.reconciler.checks.finding import (
    Check,
    Finding,
    Level,
    at_once,
    failed,
    ok,
    run_checks,
    said,
    warning,
)
from ovnlb.reconciler.checks.northbound import judged
from ovnlb.reconciler.cli import parser


def test_a_check_that_raises_keeps_what_it_found_and_the_others() -> None:
    """Its own findings come first, then the failure under its name; the order is that of the checks."""

    def breaks() -> Iterator[Finding]:
        yield ok("first", "fine")
        raise Unreachable("nobody there")

    found = run_checks([Check("broken", breaks), Check("other", lambda: iter([warning("other", "hm")]))], 5)
    assert found == (ok("first", "fine"), failed("broken", "nobody there"), warning("other", "hm"))


def test_a_check_that_hangs_costs_its_own_time_only() -> None:
    """All run at once; whoever is not done when the time is over has failed, with what it had found."""
    never = threading.Event()

    def hangs() -> Iterator[Finding]:
        yield ok("early", "found")
        never.wait(30)
        yield ok("late", "never seen")

    started = time.monotonic()
    found = run_checks([Check("a", hangs), Check("b", hangs), Check("c", lambda: iter([ok("c", "")]))], 0.3)
    never.set()
    assert time.monotonic() - started < 5
    assert [(f.name, f.level) for f in found] == [
        ("early", Level.OK),
        ("a", Level.FAILED),
        ("early", Level.OK),
        ("b", Level.FAILED),
        ("c", Level.OK),
    ]
    assert found[1].text == "no answer within 0.3 s (--timeout)"


def test_calls_at_once_give_results_and_errors_in_order() -> None:
    """A result or what was raised, each in the place of its call."""
    error = ValueError("x")

    def raises() -> int:
        raise error

    assert at_once([lambda: 1, raises, lambda: 3], 5) == [1, error, 3]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Unreachable("a\n  b"), "a b"),
        (OSError("gone"), "gone"),
        (KeyError("column"), "KeyError: 'column'"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_errors_in_one_line(error: Exception, text: str) -> None:
    """Known failures speak for themselves, others are named."""
    assert said(error) == text


MIXED = [ok("a", "x"), warning("b", "y"), failed("c", "z")]


@pytest.mark.parametrize(
    ("findings", "strict", "code"),
    [
        (MIXED[:1], True, 0),
        (MIXED[:2], False, 0),
        (MIXED[:2], True, 2),
        (MIXED, False, 1),
        (MIXED, True, 1),
        ([], True, 0),
    ],
)
def test_exit_codes(findings: list[Finding], strict: bool, code: int) -> None:
    """0 ok or warnings, 1 failed, 2 warnings with --strict; a failure wins."""
    assert report.check_exit(report.document(findings, ()), strict) == code


def test_text_is_rendered_from_the_document() -> None:
    """Aligned words, a summary, colours only when asked for; JSON keeps everything."""
    document = report.document(MIXED, ("octavia.conf",))
    assert report.text(document) == (
        "ok       a: x\nwarning  b: y\nFAILED   c: z\n1 ok, 1 warning, 1 failed.\n"
    )
    painted = report.text(document, colour=True)
    assert "\x1b[31mFAILED \x1b[0m  c: z" in painted
    assert painted.replace("\x1b[0m", "").count("\x1b[") == 3
    assert json.loads(dumps(document)) == document
    assert document["checks"][2] == {"name": "c", "result": "failed", "text": "z"}


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon", "1e9"])
def test_time_limits_that_are_none(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The parser says what is wrong with --timeout."""
    with pytest.raises(SystemExit):
        parser("check-config").parse_args(["check-config", "--timeout", value])
    assert "between 0.1 and 3600" in capsys.readouterr().err


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("nb", "chassis", "count"),
    [
        ({}, [], 0),
        ({"nb_cfg_timestamp": NOW - 9e6, "sb_cfg_timestamp": NOW - 9e6}, [], 0),
        ({"nb_cfg_timestamp": NOW + TOLERANCE - 0.1}, [], 0),
        ({"nb_cfg_timestamp": NOW + TOLERANCE + 0.1, "sb_cfg_timestamp": NOW + 9}, [], 1),
        ({}, [("c", 1, NOW + TOLERANCE + 0.1)], 1),
        ({}, [("c", 1, 0)], 0),
        ({"nb_cfg": 1, "nb_cfg_timestamp": NOW}, [("c", 1, NOW - TOLERANCE - 0.1)], 1),
        ({"nb_cfg": 1, "nb_cfg_timestamp": NOW}, [("c", 1, NOW - TOLERANCE + 0.1)], 0),
        ({"nb_cfg": 2, "nb_cfg_timestamp": NOW}, [("c", 1, NOW - 60)], 0),
    ],
    ids=[
        "no-row", "old", "within", "northd-ahead", "chassis-ahead", "chassis-never", "chassis-behind",
        "chassis-within", "chassis-at-an-older-configuration",
    ],
)  # fmt: skip
def test_clocks(nb: dict[str, float], chassis: list[tuple[str, int, float]], count: int) -> None:
    """Only what contradicts this host's clock, or northd's, is a skew."""
    state = {key: value * 1000 if key.endswith("timestamp") else value for key, value in nb.items()}
    rows = [{"name": name, "nb_cfg": cfg, "nb_cfg_timestamp": stamp * 1000} for name, cfg, stamp in chassis]
    assert len(list(skewed(NOW, state, rows))) == count


@pytest.mark.parametrize(
    ("refused", "policy", "level", "says"),
    [
        ("", "sync", Level.OK, "a UUID of our own"),
        (
            "syntax error: Parsing ovsdb operation 1 failed: Member 'uuid' is present but not allowed.",
            "sync",
            Level.OK,
            "before ovsdb-server 3.1",
        ),
        ("permission error: role prohibits it", "sync", Level.FAILED, "tcp:1.2.3.4:1 refuses"),
        ("permission error: role prohibits it", "no-prune", Level.FAILED, "role prohibits it"),
        ("permission error: role prohibits it", "observe-only", Level.OK, "role prohibits it"),
    ],
    ids=["allowed", "old-server", "sync", "no-prune", "observe-only"],
)
def test_refused_inserts(refused: str, policy: str, level: Level, says: str) -> None:
    """An old server is usable, one that forbids writing only for who writes nothing."""
    found = judged("tcp:1.2.3.4:1", refused, policy)
    assert found.level is level
    assert says in found.text
