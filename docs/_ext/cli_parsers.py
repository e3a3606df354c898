"""The command line as data, read from its argparse parsers: for pages, manual pages and completion."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ovnlb.reconciler import cli, sync_util

SYNC_UTIL = "octavia-ovn-db-sync-util"


@dataclass(frozen=True)
class Argument:
    """An option or a positional argument. `value` is empty for a flag."""

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()
    optional: bool = True

    @property
    def is_option(self) -> bool:
        """Whether it begins with a hyphen."""
        return self.names[0].startswith("-")

    @property
    def shown(self) -> str:
        """As in a usage text: `-v, --verbose`, `--lb ID`, `[FILE]`."""
        if not self.is_option:
            return f"[{self.value}]" if self.optional else self.value
        value = "{" + ",".join(self.choices) + "}" if self.choices else self.value
        return f"{', '.join(self.names)} {value}".rstrip()


def commands() -> tuple[str, ...]:
    """The commands of `ovnlb`, in the order of its help."""
    return tuple(cli.COMMANDS)


def command_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command, or of octavia-ovn-db-sync-util."""
    if name == SYNC_UTIL:
        return sync_util.parser()
    [choices] = [
        action for action in cli.parser(name)._actions if isinstance(action, argparse._SubParsersAction)
    ]
    found: argparse.ArgumentParser = choices.choices[name]
    return found


def description(name: str) -> str:
    """What a command is for, as one sentence."""
    return str(command_parser(name).description)


def arguments(name: str) -> tuple[Argument, ...]:
    """The arguments of one command without --help, in their order."""
    found = (action for action in command_parser(name)._actions if action.dest != "help")
    return tuple(_argument(action) for action in found)


def _argument(action: argparse.Action) -> Argument:
    names = tuple(action.option_strings) or (action.dest,)
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    choices = tuple(map(str, action.choices or ()))
    text = (action.help or "").replace("%%", "%")
    return Argument(names, value, text, choices, action.nargs == "?" or bool(action.option_strings))
