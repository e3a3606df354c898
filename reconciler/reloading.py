"""What a running service takes over of a configuration that was read again."""

from __future__ import annotations

from dataclasses import fields, replace

from ovnlb.reconciler.settings import Settings

RELOADABLE = frozenset({"poll_interval", "sweep_interval", "resync_interval", "error_after"})
_NOT_COMPARED = frozenset({"neutron_conf", "config_files", "database_option", "warnings"})


def merged(old: Settings, new: Settings) -> tuple[Settings, tuple[str, ...], tuple[str, ...]]:
    """The settings that hold from now on, the names of what changed, and of what needs a restart."""
    names = [field.name for field in fields(Settings) if field.name not in _NOT_COMPARED]
    different = [name for name in names if getattr(old, name) != getattr(new, name)]
    changed = tuple(name for name in different if name in RELOADABLE)
    settings = replace(old, **{name: getattr(new, name) for name in changed})
    return settings, changed, tuple(name for name in different if name not in RELOADABLE)
