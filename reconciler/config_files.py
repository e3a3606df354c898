"""Which configuration files there are, and which of them sets an option."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from oslo_config import cfg

ENVIRONMENT = "OVNLB_CONFIG_FILES"


def files_from_environment() -> list[str]:
    """The files that `OVNLB_CONFIG_FILES` names, separated by semicolons as in Neutron's own variable."""
    return [name.strip() for name in os.environ.get(ENVIRONMENT, "").split(";") if name.strip()]


def files_read(conf: cfg.ConfigOpts) -> tuple[str, ...]:
    """The files of a parsed configuration, later ones win."""
    files = list(conf.config_file or ())
    searched = not conf.config_dirs
    folders = (conf.config_dir or ()) if searched else conf.config_dirs
    found = [str(path) for folder in folders for path in sorted(Path(folder).glob("*.conf"))]
    # Directories that oslo.config found by itself are parsed before files that were named.
    named = files != list(conf.default_config_files or ())
    return tuple(dict.fromkeys([*found, *files] if searched and named else [*files, *found]))


def sections_of(file: str) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Section -> option -> values as written, of a file that oslo.config has parsed before."""
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(file, sections).parse()
    return sections


def file_of(conf: cfg.ConfigOpts, group: str, option: str) -> str | None:
    """The file that sets an option: the last one that has it."""
    for file in reversed(files_read(conf)):
        if option in sections_of(file).get(group, {}):
            return file
    return None


def unknown_options(conf: cfg.ConfigOpts, group: str, known: Sequence[cfg.Opt]) -> tuple[str, ...]:
    """`[group]option in FILE` for every option of a group of ours that does not exist: a slip of the pen."""
    names = {option.dest for option in known}
    return tuple(
        f"[{group}]{name} in {file}"
        for file in files_read(conf)
        for name in sections_of(file).get(group, {})
        if name.replace("-", "_") not in names
    )
