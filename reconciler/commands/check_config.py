"""`ovnlb check-config`: the configuration, as the service would load it, against the world."""

from __future__ import annotations

import logging
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from functools import partial

from ovnlb.diff.report import dumps
from ovnlb.reconciler.checks import octavia, report
from ovnlb.reconciler.checks.clocks import clocks
from ovnlb.reconciler.checks.database import database
from ovnlb.reconciler.checks.finding import Check, Finding, failed, ok, run_checks, warning
from ovnlb.reconciler.checks.neutron import neutron
from ovnlb.reconciler.checks.northbound import lock, northbound_use
from ovnlb.reconciler.checks.ovsdb import northbound_of, reachable, southbound_of
from ovnlb.reconciler.checks.packages import packages
from ovnlb.reconciler.commands.options import add_config, settings
from ovnlb.reconciler.commands.output import colours, emit
from ovnlb.reconciler.exits import Exit
from ovnlb.reconciler.settings import Settings, SettingsError

PATIENCE = 10.0


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    add_config(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the report")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when there are warnings")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=PATIENCE,
        metavar="SECONDS",
        help=f"how long one check may take, all run at the same time (default {PATIENCE:g})",
    )
    parser.add_argument(
        "--write-test",
        action="store_true",
        help="ask Neutron for a port on a network that does not exist, to learn whether its policy allows "
        "ours; without it nothing but GET is sent",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 3600:
        raise ArgumentTypeError(f"{text} is not between 0.1 and 3600")
    return value


def run(options: Namespace) -> Exit:
    """Run every check and print the report."""
    if not options.debug:
        # What the libraries would log of a lost server is a finding of its own.
        logging.disable(logging.CRITICAL)
    try:
        found, files = findings(options)
    finally:
        logging.disable(logging.NOTSET)
    document = report.document(found, files)
    if options.format == "json":
        emit(dumps(document))
    else:
        emit(report.text(document, colours(sys.stdout)))
    return report.check_exit(document, options.strict)


def findings(options: Namespace) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Every finding, and the files that were read. Without usable settings only what needs none."""
    installed = Check("packages", packages)
    try:
        loaded = settings(options)
    except SettingsError as error:
        lines = (line.removeprefix("configuration: ") for line in str(error).splitlines() if line.strip())
        wrong = tuple(failed("configuration", line) for line in lines)
        return (*wrong, *run_checks([installed], options.timeout)), ()
    checks = [*checks_of(loaded, options.timeout, options.write_test), installed]
    return run_checks(checks, options.timeout), loaded.config_files


def checks_of(found: Settings, patience: float, write_test: bool = False) -> list[Check]:
    """The checks of a configuration, in the order of the report."""
    northbound, southbound = northbound_of(found), southbound_of(found)
    return [
        Check("configuration", partial(configuration, found)),
        Check("database", partial(database, found, patience)),
        Check("northbound", partial(reachable, northbound, patience)),
        Check("northbound use", partial(northbound_use, found, patience)),
        Check("southbound", partial(reachable, southbound, patience)),
        Check("clocks", partial(clocks, found, patience)),
        Check("lock", partial(lock, found, patience)),
        Check("neutron", partial(neutron, found, patience, write_test)),
        Check("octavia driver", partial(octavia.driver, found)),
        Check("octavia agent", partial(octavia.service, found, patience)),
        Check("agent sockets", partial(octavia.agent_sockets, found)),
        Check("nudge socket", partial(octavia.nudge_socket, found)),
    ]


def configuration(found: Settings) -> Iterator[Finding]:
    """The files that were read, and what the service would warn of."""
    files = ", ".join(found.config_files) or "no file, only defaults"
    yield ok("configuration", f"{files}; policy {found.policy}, providers {', '.join(found.providers)}")
    for text in found.warnings:
        yield warning("configuration", text)
