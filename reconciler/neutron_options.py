"""`[neutron]` and `[service_auth]`: keystoneauth's options, with the older names and the inheritance.

Works on a private ConfigOpts only, since inheriting overrides values. Source: octavia-contract.md
section 6, octavia/common/keystone.py (19.0.0).
"""

from __future__ import annotations

from typing import Any

from keystoneauth1 import exceptions, loading
from oslo_config import cfg

NEUTRON = "neutron"
SERVICE_AUTH = "service_auth"
UNSET = frozenset({cfg.Locations.opt_default, cfg.Locations.set_default})

# As deprecated names of the new options they cannot collide with auth plugins that own an option
# `endpoint` (none, http_basic, admin_token).
RENAMED_ADAPTER = {"endpoint_override": [cfg.DeprecatedOpt("endpoint", group=NEUTRON)]}
RENAMED_SESSION = {"cafile": [cfg.DeprecatedOpt("ca_certificates_file", group=NEUTRON)]}
ENDPOINT_TYPE = cfg.StrOpt(
    "endpoint_type",
    deprecated_for_removal=True,
    deprecated_reason="valid_interfaces replaces it",
    help="Interface of the Neutron endpoint in its older form, for instance internalURL.",
)


def register_neutron(conf: cfg.ConfigOpts) -> None:
    """Register auth, session and adapter options of both groups and apply the older names.

    Raises keystoneauth's NoMatchingPlugin for an unknown auth_type.
    """
    for group in (SERVICE_AUTH, NEUTRON):
        ours = group == NEUTRON
        loading.register_auth_conf_options(conf, group)
        loading.register_session_conf_options(conf, group, deprecated_opts=RENAMED_SESSION if ours else None)
        loading.register_adapter_conf_options(
            conf, group, include_deprecated=False, deprecated_opts=RENAMED_ADAPTER if ours else None
        )
    conf.register_opt(ENDPOINT_TYPE, group=NEUTRON)
    _apply_endpoint_type(conf)
    _apply_auth_type(conf)
    for group in (SERVICE_AUTH, NEUTRON):
        section = conf[group].auth_section or group
        if conf[section].auth_type:
            conf.register_opts(loading.get_auth_plugin_conf_options(conf[section].auth_type), group=section)


def inherit_service_auth(conf: cfg.ConfigOpts) -> Any:
    """The auth plugin of `[neutron]`, filled up from `[service_auth]` when its own options do not suffice.

    Then every `[neutron]` option that is not set takes the value of the same `[service_auth]` option,
    those of session and adapter (cafile, region_name, ...) too. None when no auth_type is set anywhere.
    Raises keystoneauth's MissingRequiredOptions when both together do not suffice.
    """
    try:
        return loading.load_auth_from_conf_options(conf, NEUTRON)
    except exceptions.MissingRequiredOptions:
        _copy_unset(conf)
        return loading.load_auth_from_conf_options(conf, NEUTRON)


def _apply_endpoint_type(conf: cfg.ConfigOpts) -> None:
    """`internalURL` stands for the interface list `internal`."""
    old = conf[NEUTRON].endpoint_type
    if old:
        conf.set_default("valid_interfaces", [old.removesuffix("URL")], group=NEUTRON)


def _apply_auth_type(conf: cfg.ConfigOpts) -> None:
    """Without an auth_type of its own `[neutron]` authenticates as `[service_auth]` does."""
    source = conf[SERVICE_AUTH].auth_section or SERVICE_AUTH
    if not conf[NEUTRON].auth_section and conf[source].auth_type:
        conf.set_default("auth_type", conf[source].auth_type, group=NEUTRON)


def _copy_unset(conf: cfg.ConfigOpts) -> None:
    source = conf[SERVICE_AUTH].auth_section or SERVICE_AUTH
    target = conf[NEUTRON].auth_section or NEUTRON
    for option in conf[target]:
        if option in conf[source] and _is_unset(conf, option, target):
            value = conf[source][option]
            if value is not None and not _is_unset(conf, option, source):
                conf.set_override(option, value, group=target)


def _is_unset(conf: cfg.ConfigOpts, option: str, group: str) -> bool:
    location = conf.get_location(option, group)
    return location is None or location.location in UNSET
