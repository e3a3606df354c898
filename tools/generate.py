#!/usr/bin/env python3
"""Writes the files that are made from the code: manual pages, completion, sample configuration, ...

Run it in an environment that has ovnlb installed, after a change of an option, command or metric.
With --check nothing is written: the exit code is 1 when a file is not what it would be.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from oslo_config import cfg, generator

TOP = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOP / "docs" / "_ext"), str(TOP / "docs" / "img"), str(TOP / "etc" / "grafana")]

import cli_parsers as cli  # noqa: E402
import dashboard  # noqa: E402
import walk  # noqa: E402

EXITS = {
    "plan": "0 in sync, 1 an error, 2 something differs or waits for Neutron, 3 refused",
    "apply": "0 nothing differs any more, 1 an error or something still differs, 3 refused",
    "orphans": "0 no orphans (left), 1 an error, 2 there are orphans, 3 pruning is refused",
    "show": "as for plan",
    "snapshot": "0 written, 1 an error, or a load balancer could not be planned",
    "wait": "0 every load balancer is ACTIVE or DELETED, 1 one is in ERROR, or the time is over",
    "check-config": "0 no check failed, 1 a check failed, 2 warnings and --strict",
    "run": "0 it was told to stop, 1 it could not start",
    "demo": "0 the demonstration ended as it must, 1 it did not",
    cli.SYNC_UTIL: "as for ovnlb apply",
}


def man_page(name: str, what: str, names: tuple[str, ...], more: str) -> str:
    """A manual page of section 1 about these commands."""
    lines = [
        f'.TH {name.upper()} 1 "" "ovnlb" "User commands"',
        ".SH NAME",
        rf"{_roff(name)} \- {_roff(what)}",
    ]
    lines.append(".SH SYNOPSIS")
    for command in names:
        start = command if command == name else f"{name} {command}"
        lines += [
            rf".B {_roff(start)}",
            _roff(" ".join(_usage(one) for one in cli.arguments(command))),
            ".br",
        ]
    lines.append(".SH DESCRIPTION")
    lines.append(_roff(more))
    for command in names:
        if command != name:
            lines += [f".SS {_roff(command)}", _roff(cli.description(command))]
        for one in cli.arguments(command):
            lines += [".TP", rf".B {_roff(one.shown)}", _roff(f"{one.help}.")]
        lines += [".PP", _roff(f"Exit code: {EXITS[command]}.")]
    lines += [
        ".SH FILES",
        "Without \\-\\-config\\-file and \\-\\-config\\-dir:",
        "the files that OVNLB_CONFIG_FILES names, separated by semicolons, else",
        "octavia.conf, ovnlb.conf and their .conf.d directories in ~/.octavia, ~, /etc/octavia and /etc.",
        ".SH SEE ALSO",
        ".BR ovn\\-nb (5)",
    ]
    return "\n".join(lines) + "\n"


def _usage(one: cli.Argument) -> str:
    text = one.shown.rpartition(", ")[2]
    return text if not one.optional or not one.is_option else f"[{text}]"


def _roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


def ovnlb_page() -> str:
    """ovnlb(1)."""
    return man_page(
        "ovnlb",
        "keep the OVN load balancers equal to what Octavia's users asked for",
        cli.commands(),
        "Reads Octavia's database, computes the rows that the OVN Northbound database must hold, compares "
        "them with the rows that are there, and closes the difference.",
    )


def sync_util_page() -> str:
    """octavia-ovn-db-sync-util(1)."""
    return man_page(
        cli.SYNC_UTIL, "the same as ovnlb apply", (cli.SYNC_UTIL,), cli.description(cli.SYNC_UTIL)
    )


def completion() -> str:
    """Bash completion of both commands."""
    lines = [
        "# bash completion for ovnlb and octavia-ovn-db-sync-util; made by tools/generate.py",
        "_ovnlb() {",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
        '    local command="" options="" one',
        "    COMPREPLY=()",
        '    for one in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        '        case "$one" in -*) ;; *) command=$one; break ;; esac',
        "    done",
        f'    [ "${{COMP_WORDS[0]##*/}}" = {cli.SYNC_UTIL} ] && command={cli.SYNC_UTIL}',
        '    case "$before" in',
        '        --config-file|--from|--out) COMPREPLY=($(compgen -f -- "$word")); return ;;',
        '        --config-dir) COMPREPLY=($(compgen -d -- "$word")); return ;;',
        "    esac",
        '    case "$command $before" in',
        *(f"        {case}" for case in _choice_cases()),
        "    esac",
        '    case "$command" in',
        f"        '') options=\"--version --help {' '.join(cli.commands())}\" ;;",
        *(f'        {name}) options="{_flags(name)}" ;;' for name in (*cli.commands(), cli.SYNC_UTIL)),
        "    esac",
        '    COMPREPLY=($(compgen -W "$options" -- "$word"))',
        "}",
        f"complete -o default -F _ovnlb ovnlb {cli.SYNC_UTIL}",
    ]
    return "\n".join(lines) + "\n"


def _choice_cases() -> Iterator[str]:
    for name in cli.commands():
        for one in cli.arguments(name):
            if one.choices and one.is_option:
                pattern = "|".join(f'"{name} {option}"' for option in one.names)
                yield f'{pattern}) COMPREPLY=($(compgen -W "{" ".join(one.choices)}" -- "$word")); return ;;'


def _flags(name: str) -> str:
    return " ".join(
        [option for one in cli.arguments(name) if one.is_option for option in one.names] + ["--help"]
    )


def sample_config() -> str:
    """What oslo-config-generator makes of our options."""
    conf, out = cfg.ConfigOpts(), io.StringIO()
    generator.register_cli_opts(conf)
    conf(["--namespace", "ovnlb", "--wrap-width", "100"], project="ovnlb", default_config_files=[])
    generator.generate(conf, out)
    return out.getvalue()


FILES: dict[str, Callable[[], str]] = {
    "etc/man/ovnlb.1": ovnlb_page,
    f"etc/man/{cli.SYNC_UTIL}.1": sync_util_page,
    "etc/bash-completion/ovnlb": completion,
    "etc/ovnlb.conf.sample": sample_config,
    "etc/grafana/ovnlb.json": dashboard.text,
    "docs/img/walk.svg": walk.svg,
}


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    check, old = parser.parse_args().check, []
    for name, make in FILES.items():
        path, text = TOP / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        old.append(name)
        if not check:
            path.write_text(text, encoding="utf-8")
    for name in old:
        print(f"{name}: {'differs, run tools/generate.py' if check else 'written'}")
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
