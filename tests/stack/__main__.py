"""``python -m stack venvs`` builds the environments; ``python -m stack up [original|ovnlb]`` runs a stack
until Ctrl-C.
"""

from __future__ import annotations

import argparse
import contextlib
import signal

from stack import venvs
from stack.stack import running


def main() -> None:
    """Parse the command line and do it."""
    parser = argparse.ArgumentParser(prog="stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("venvs")
    commands.add_parser("up").add_argument(
        "provider", nargs="?", choices=("original", "ovnlb"), default="ovnlb"
    )
    chosen = parser.parse_args()
    if chosen.command == "venvs":
        print(venvs.original(), venvs.ovnlb(), sep="\n")
        return
    with running(chosen.provider) as stack:
        place = stack.place
        print(stack.report())
        print(
            f"directory {place.root}\nOS_AUTH_URL={place.url('keystone')} OS_USERNAME=admin "
            "OS_PASSWORD=secret "
            "OS_PROJECT_NAME=admin OS_USER_DOMAIN_ID=default OS_PROJECT_DOMAIN_ID=default",
            flush=True,
        )
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
