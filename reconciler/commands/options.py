"""Options that commands share, and the inputs that they name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from ovnlb.reconciler.bundles import BundleInputs, read_bundle
from ovnlb.reconciler.commands.output import FORMATS, say
from ovnlb.reconciler.inputs import Inputs, Scope
from ovnlb.reconciler.live import live_inputs
from ovnlb.reconciler.settings import Settings, load_settings


def add_config(parser: ArgumentParser) -> None:
    """The configuration files, as every OpenStack service takes them."""
    parser.add_argument(
        "--config-file",
        action="append",
        default=[],
        metavar="FILE",
        help="configuration file, repeatable, later ones win (default: octavia.conf where Octavia looks)",
    )
    parser.add_argument(
        "--config-dir", action="append", default=[], metavar="DIR", help="directory of *.conf files"
    )
    parser.add_argument("--debug", action="store_true", help="log everything to standard error")


def add_inputs(parser: ArgumentParser, bundle: bool = False) -> None:
    """Configuration and scope; `bundle`: the command can work offline, too."""
    add_config(parser)
    parser.add_argument(
        "--lb", action="append", default=[], metavar="ID", help="only this load balancer (repeatable)"
    )
    parser.add_argument("--project", metavar="ID", help="only the load balancers of this project")
    if bundle:
        parser.add_argument(
            "--from",
            dest="bundle",
            metavar="FILE",
            help="work offline on a bundle (ovnlb snapshot), - is stdin",
        )


def add_report(parser: ArgumentParser) -> None:
    """How the report looks."""
    parser.add_argument("--format", choices=FORMATS, default="text", help="form of the report")
    parser.add_argument("-v", "--verbose", action="store_true", help="values in full, unchanged parts too")


def settings(options: Namespace) -> Settings:
    """The settings that the options name. Raises SettingsError."""
    return load_settings(options.config_file, options.config_dir)


def scope(options: Namespace) -> Scope:
    """The scope that the options name."""
    return Scope(tuple(dict.fromkeys(options.lb)), options.project)


@contextmanager
def inputs(options: Namespace) -> Iterator[Inputs]:
    """The inputs of a command that only looks: a bundle, or the live databases without a lock."""
    if getattr(options, "bundle", None):
        yield BundleInputs(read_bundle(options.bundle))
        return
    with live_inputs(settings(options), notice=say) as found:
        yield found
