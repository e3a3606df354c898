"""The configuration as frozen values, read from octavia.conf as Octavia reads it.

`load_settings` uses a ConfigOpts of its own, never oslo.config's global one; `settings_from` is for
code inside octavia-api and the driver-agent. Nothing is connected; what can be seen to be wrong is an
error that names the option and its file. Source: architecture.md section 8.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1 import exceptions as keystone
from oslo_config import cfg

from ovnlb.observed.source import Endpoint
from ovnlb.reconciler import ovsdb_options
from ovnlb.reconciler.config_files import file_of, files_from_environment, files_read, unknown_options
from ovnlb.reconciler.neutron_options import inherit_service_auth as inherit_service_auth
from ovnlb.reconciler.neutron_options import register_neutron as register_neutron
from ovnlb.reconciler.options import GROUPS, OVNLB_OPTS, register_options
from ovnlb.reconciler.options import list_opts as list_opts

PROJECT, PROGRAM = "octavia", "ovnlb"
SEARCHED = "octavia.conf and ovnlb.conf in ~/.octavia, ~, /etc/octavia and /etc"
LISTEN = re.compile(r"^(\[[0-9A-Fa-f:.]+\]|[^:\s]*):(\d{1,5})$")


class SettingsError(Exception):
    """The configuration cannot be used; one line for each problem, with the option and its file."""


@dataclass(frozen=True, slots=True)
class AgentSockets:
    """Paths of the octavia-driver-agent's sockets."""

    status: str
    stats: str
    get: str


@dataclass(frozen=True, slots=True)
class PruneLimits:
    """`grace` in seconds between two reads; one pass prunes at most `max_count` and `max_percent`."""

    grace: float
    max_count: int
    max_percent: float


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that is configured. Times in seconds.

    `database_url` includes `connection_parameters` and the password, `database_option` names where it
    is from. `neutron_conf` is a private ConfigOpts with `[neutron]` after the inheritance.
    `warnings` are for the log: options that do not exist.
    """

    config_files: tuple[str, ...]
    nb: Endpoint
    sb: Endpoint
    ovsdb_retry_max_interval: float
    database_url: str = field(repr=False)
    database_option: str
    database_connect_timeout: int
    providers: tuple[str, ...]
    policy: str
    sockets: AgentSockets
    nudge_socket: str
    poll_interval: float
    sweep_interval: float
    resync_interval: float
    error_after: float
    workers: int
    prune: PruneLimits
    metrics_listen: str
    pace_northd: bool
    drain_on_zero_weight: bool
    hm_port_monitor_mac: bool
    strict_endpoint: bool
    enabled_provider_drivers: tuple[str, ...]
    enabled_provider_agents: tuple[str, ...]
    neutron_conf: cfg.ConfigOpts = field(repr=False, compare=False)
    warnings: tuple[str, ...] = ()


def load_settings(
    config_files: Sequence[str] = (),
    config_dirs: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings of these files and directories, else of those that Octavia would find.

    Without arguments `OVNLB_CONFIG_FILES` counts first. `overrides`: `option` of `[ovnlb]`, or
    `group.option`, to value. Raises SettingsError.
    """
    if not config_files and not config_dirs:
        config_files = files_from_environment()
    conf = _parsed(config_files, config_dirs)
    register_options(conf)
    for name, value in (overrides or {}).items():
        group, _, option = name.rpartition(".")
        try:
            conf.set_override(option, value, group=group or "ovnlb")
        except (ValueError, cfg.Error) as error:
            raise SettingsError(f"[{group or 'ovnlb'}]{option}: {error}") from error
    return _settings(conf, check_ovn=True)


def settings_from(conf: cfg.ConfigOpts, check_ovn: bool = False) -> Settings:
    """The settings of a ConfigOpts that is parsed already, as octavia-api and the driver-agent have it.

    `check_ovn`: whether `[ovn]` must be usable, too (not for the API's driver, which never connects to
    OVN). Raises SettingsError.
    """
    register_options(conf)
    return _settings(conf, check_ovn)


def _parsed(config_files: Sequence[str], config_dirs: Sequence[str], **searched: Any) -> cfg.ConfigOpts:
    """As octavia.conf is parsed. Explicit files replace the search for files, directories that for those."""
    conf = cfg.ConfigOpts()
    arguments = [f"--config-file={file}" for file in config_files]
    arguments += [f"--config-dir={folder}" for folder in config_dirs]
    try:
        conf(arguments, project=PROJECT, prog=PROGRAM, **searched)
    except (cfg.Error, OSError) as error:
        raise SettingsError(f"configuration: {str(error).strip()}") from error
    except UnicodeDecodeError as error:
        files = ", ".join((*config_files, *config_dirs)) or f"a file ({SEARCHED})"
        raise SettingsError(f"configuration: {files} is no UTF-8 text: {error}") from error
    return conf


def _settings(conf: cfg.ConfigOpts, check_ovn: bool) -> Settings:
    found = list(_unreadable(conf)) or list(_problems(conf, check_ovn))
    if found:
        raise SettingsError("\n".join(found))
    ours, agent = conf.ovnlb, conf.driver_agent
    url, option = _database(conf)
    return Settings(
        config_files=files_read(conf),
        nb=ovsdb_options.endpoint(conf, "nb"),
        sb=ovsdb_options.endpoint(conf, "sb"),
        ovsdb_retry_max_interval=float(conf.ovn.ovsdb_retry_max_interval),
        database_url=url,
        database_option=option,
        database_connect_timeout=ours.database_connect_timeout,
        providers=tuple(ours.providers),
        policy=ours.policy,
        sockets=AgentSockets(agent.status_socket_path, agent.stats_socket_path, agent.get_socket_path),
        nudge_socket=ours.nudge_socket
        or os.path.join(os.path.dirname(agent.status_socket_path), "ovnlb.sock"),
        poll_interval=ours.poll_interval,
        sweep_interval=ours.sweep_interval,
        resync_interval=ours.resync_interval,
        error_after=ours.error_after,
        workers=ours.workers,
        prune=PruneLimits(ours.prune_grace, ours.prune_max_count, ours.prune_max_percent),
        metrics_listen=ours.metrics_listen,
        pace_northd=ours.pace_northd,
        drain_on_zero_weight=ours.drain_on_zero_weight,
        hm_port_monitor_mac=ours.hm_port_monitor_mac,
        strict_endpoint=ours.strict_endpoint,
        enabled_provider_drivers=tuple(conf.api_settings.enabled_provider_drivers or ()),
        enabled_provider_agents=tuple(agent.enabled_provider_agents),
        neutron_conf=_neutron(conf),
        warnings=tuple(f"unknown option {name}" for name in unknown_options(conf, "ovnlb", OVNLB_OPTS)),
    )


def _named(conf: cfg.ConfigOpts, group: str, option: str) -> str:
    """`[group]option in FILE`, without the file for a default."""
    file = file_of(conf, group, option)
    return f"[{group}]{option} in {file}" if file else f"[{group}]{option}"


def _unreadable(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Options whose value is not of their type."""
    for group, options in GROUPS.items():
        for option in options:
            try:
                conf[group][option.dest]
            except (ValueError, cfg.Error) as error:
                reason = str(error).partition("is not valid: ")[2] or str(error)
                yield f"{_named(conf, group, option.dest)}: {reason}"


def _problems(conf: cfg.ConfigOpts, check_ovn: bool) -> Iterator[str]:
    if check_ovn:
        for database in ("nb", "sb"):
            yield from ovsdb_options.problems(conf, database, lambda option: _named(conf, "ovn", option))
    if not conf.ovnlb.providers:
        yield f"{_named(conf, 'ovnlb', 'providers')} is empty"
    if not _database(conf)[0]:
        files = ", ".join(files_read(conf))
        yield f"[database]connection is not set in {files or f'any file (searched: {SEARCHED})'}"
    listen = LISTEN.match(conf.ovnlb.metrics_listen) if conf.ovnlb.metrics_listen else None
    if conf.ovnlb.metrics_listen and (listen is None or int(listen[2]) > 65535):
        yield f"{_named(conf, 'ovnlb', 'metrics_listen')}: {conf.ovnlb.metrics_listen} is no ADDRESS:PORT"


def _database(conf: cfg.ConfigOpts) -> tuple[str, str]:
    """The URL with the appended parameters, and the name of the option that it is from."""
    if conf.ovnlb.database_connection:
        return conf.ovnlb.database_connection, _named(conf, "ovnlb", "database_connection")
    url, more = conf.database.connection or "", conf.database.connection_parameters
    if url and more:
        url += f"{'&' if '?' in url else '?'}{more}"
    return url, _named(conf, "database", "connection")


def _neutron(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    """`[neutron]` from the same files, in a ConfigOpts of its own: inheriting overrides values."""
    private = _parsed(files_read(conf), (), default_config_files=[], default_config_dirs=[])
    try:
        register_neutron(private)
        inherit_service_auth(private)
    except keystone.MissingRequiredOptions as error:
        missing = ", ".join(str(option.dest) for option in error.options)
        raise SettingsError(f"[neutron] and [service_auth] lack {missing}") from error
    except keystone.NoMatchingPlugin as error:
        raise SettingsError(f"{_named(private, 'neutron', 'auth_type')}: {error}") from error
    except (ValueError, cfg.Error) as error:
        raise SettingsError(f"[neutron] in {', '.join(files_read(private))}: {error}") from error
    return private
