"""`octavia-ovn-db-sync-util`: the original's repair command, now `ovnlb apply` on everything.

Its exit code tells whether anything is left different: 0 only when nothing is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ovnlb.reconciler import cli
from ovnlb.reconciler.commands.options import add_config


def parser() -> cli.Parser:
    """The command's options."""
    made = cli.Parser(
        prog="octavia-ovn-db-sync-util",
        description="Make OVN's Northbound load balancers equal to Octavia's (the same as ovnlb apply).",
    )
    add_config(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; the exit code of `ovnlb apply`."""
    options = parser().parse_args(sys.argv[1:] if argv is None else argv)
    arguments = ["apply"]
    arguments += [f"--config-file={name}" for name in options.config_file]
    arguments += [f"--config-dir={name}" for name in options.config_dir]
    return cli.main([*arguments, *(["--debug"] if options.debug else [])])


if __name__ == "__main__":
    sys.exit(main())
