"""`ovnlb demo`: the main job on private parts, in a few seconds."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from ovnlb.diff import render
from ovnlb.reconciler.commands.output import colours, emit, say
from ovnlb.reconciler.demo import story
from ovnlb.reconciler.demo.server import MissingProgram
from ovnlb.reconciler.exits import Exit


def arguments(parser: ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("-v", "--verbose", action="store_true", help="values in full")


def run(options: Namespace) -> Exit:
    """Play the demo; IN_SYNC when it ended as it must."""
    colour = colours(sys.stdout)
    try:
        good = story.run(
            emit, lambda report: emit(render.text(report, colour=colour, verbose=options.verbose))
        )
    except MissingProgram as error:
        say(str(error))
        return Exit.ERROR
    say("the demo ended as it must" if good else "the demo did not end as it must")
    return Exit.IN_SYNC if good else Exit.ERROR
