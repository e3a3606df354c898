"""An authenticated connection to Neutron from the `[neutron]` options.

keystoneauth1 makes the session and reads the options (`[service_auth]` has been inherited by then,
see `settings`), `ovnlb.reconciler.endpoint` chooses the endpoint, openstacksdk speaks to it. A
connection is made in the process that uses it, never before a fork.
"""

from __future__ import annotations

import logging
from typing import Any

import openstack
from keystoneauth1 import loading
from oslo_config import cfg

from ovnlb.reconciler.endpoint import Choice, Wanted, choose, read_catalog, refuse_impossible

LOG = logging.getLogger(__name__)

GROUP = "neutron"
TIMEOUT = 30
APP = "ovnlb"  # the first word of User-Agent in the access logs of Neutron and Keystone


def open_network(conf: cfg.ConfigOpts, strict: bool = False) -> Any:
    """The `network` proxy of a new openstacksdk connection.

    Raises keystoneauth's or openstacksdk's exceptions when Keystone or the endpoint's version
    document cannot be read, EndpointError when the catalog has no such endpoint, and oslo.config's
    or ValueError for unusable options.
    """
    return open_connection(conf, strict).network


def open_connection(conf: cfg.ConfigOpts, strict: bool = False) -> Any:
    """As `open_network`, the connection itself."""
    session = open_session(conf)
    override, choice = endpoint_url(conf, session, strict)
    if choice is not None and choice.warning:
        LOG.warning("Neutron: %s", choice.warning)
    return connection_over(session, conf, override)


def connection_over(session: Any, conf: cfg.ConfigOpts, override: str | None) -> Any:
    """A connection over a session; `override` is the endpoint that `endpoint_url` chose."""
    options: dict[str, Any] = {"network_endpoint_override": override} if override else {}
    region = conf[GROUP].region_name
    return openstack.connection.Connection(session=session, region_name=region, app_name=APP, **options)


def open_session(conf: cfg.ConfigOpts) -> Any:
    """A keystoneauth session of `[neutron]`: its auth plugin, TLS options and timeout (30 s if unset)."""
    auth = loading.load_auth_from_conf_options(conf, GROUP)
    if auth is None:
        raise ValueError("neither [neutron]auth_type nor [service_auth]auth_type is set")
    timeout = conf[GROUP].timeout or TIMEOUT
    return loading.load_session_from_conf_options(conf, GROUP, auth=auth, timeout=timeout, app_name=APP)


def endpoint_url(conf: cfg.ConfigOpts, session: Any, strict: bool) -> tuple[str | None, Choice | None]:
    """The URL to use and why: `endpoint_override`, or the choice from Keystone's catalog.

    (None, None) for an auth plugin without a catalog (`none`, `http_basic`): it knows its endpoint.
    """
    options = conf[GROUP]
    if options.endpoint_override:
        return options.endpoint_override, None
    wanted = wanted_endpoint(conf, strict)
    refuse_impossible(wanted)
    catalog = _catalog(session)
    if catalog is None:
        return None, None
    choice = choose(read_catalog(catalog), wanted)
    return choice.endpoint.url, choice


def wanted_endpoint(conf: cfg.ConfigOpts, strict: bool = False) -> Wanted:
    """What the `[neutron]` options ask for."""
    options = conf[GROUP]
    lowest, highest = options.min_version, options.max_version
    return Wanted(
        service_type=options.service_type or "network",
        interfaces=tuple(options.valid_interfaces or ("public",)),
        region=options.region_name,
        version=options.version or (f"{lowest or ''},{highest or ''}" if lowest or highest else None),
        service_name=options.service_name,
        strict=strict,
    )


def _catalog(session: Any) -> Any:
    get_access = getattr(session.auth, "get_access", None)
    if get_access is None:
        return None
    access = get_access(session)
    return access.service_catalog.catalog if access.has_service_catalog() else None
