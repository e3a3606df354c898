"""The command `ovnlb`: parse, run one command, map every known error to a message and an exit code."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NoReturn

from ovnlb.reconciler.exits import Exit, OutputError

# Command -> one line of help; the module of that name in ovnlb.reconciler.commands does the work.
COMMANDS = {
    "plan": "show what differs and what would be done, changing nothing",
    "apply": "make the Northbound rows equal to what Octavia's users asked for",
    "orphans": "list what is left of load balancers that are gone, and prune it",
    "show": "show all about one load balancer: graph, rows, differences, warnings",
    "snapshot": "write what a plan depends on into a bundle file",
    "wait": "wait until a load balancer is no longer pending",
    "check-config": "check the configuration against the databases, Neutron and this host",
    "run": "keep every load balancer as it must be, until told to stop",
    "demo": "run the main job on a private database and a private OVN Northbound",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code of section 7."""
    _open_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = parser(_named(arguments)).parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if getattr(options, "debug", False) else logging.ERROR,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    return guarded(lambda: int(run(options)))


def guarded(command: Callable[[], int]) -> int:
    """The exit code of a command; a failure that is known becomes a message."""
    try:
        return command()
    except BrokenPipeError:
        # The reader of our report has gone; do not complain on a closed stream.
        _drop_output()
        return Exit.ERROR
    except OutputError as error:
        print(f"ovnlb: {error}", file=sys.stderr)
        _drop_output()
        return Exit.ERROR
    except KeyboardInterrupt:
        print("ovnlb: interrupted", file=sys.stderr)
        return Exit.ERROR
    except Exception as error:
        if not is_known(error):
            raise
        print(f"ovnlb: {error}", file=sys.stderr)
        return Exit.ERROR


def _drop_output() -> None:
    """What is left in the buffer goes nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """A stream that our caller closed is empty, and its number is nobody else's."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the process


def is_known(error: Exception) -> bool:
    """Whether this is a failure that a message explains; anything else is a fault of ours."""
    from ovnlb.reconciler.failures import KNOWN_FAILURES

    return isinstance(error, KNOWN_FAILURES)


def run(options: Namespace) -> Exit:
    """Run the command that was parsed."""
    code: Exit = module(options.command).run(options)
    return code


def _named(arguments: Sequence[str]) -> str | None:
    # The top parser has no option with a value, so the first word is the command.
    return next((word for word in arguments if not word.startswith("-")), None)


class Parser(ArgumentParser):
    """A parser whose refusals end with the code of an error: argparse's own one means "differs" here."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong with the arguments, and exit."""
        self.print_usage(sys.stderr)
        self.exit(Exit.ERROR, f"{self.prog}: error: {message}\n")


def parser(command: str | None = None) -> ArgumentParser:
    """The parser. Options are read from the module of `command` alone: importing all is slow."""
    top = Parser(prog="ovnlb", description="Octavia load balancers on OVN, reconciled.")
    top.add_argument("--version", action="version", version=f"ovnlb {metadata.version('ovnlb')}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == command:
            module(name).arguments(sub)
    return top


def module(name: str) -> Any:
    """The module that does a command's work."""
    return importlib.import_module(f"ovnlb.reconciler.commands.{name.replace('-', '_')}")


if __name__ == "__main__":
    sys.exit(main())
