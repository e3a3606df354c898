"""Keystone, the Neutron endpoint and what Neutron lets us do.

Only GET requests, unless a write test is asked for: one POST of a port on a network that does not
exist. Neutron's policy comes before that is noticed, so it tells whether the attributes are allowed;
no port can come of it, but a quota reservation and log lines may.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from keystoneauth1 import exceptions as ksa
from openstack import exceptions as sdk
from oslo_config import cfg

from ovnlb.desired.port_facts import HM_PORT_OWNER
from ovnlb.observed.neutron_errors import neutron_errors
from ovnlb.reconciler.checks.finding import Finding, failed, ok, warning
from ovnlb.reconciler.endpoint import Choice, EndpointError
from ovnlb.reconciler.neutron_session import (
    GROUP,
    connection_over,
    endpoint_url,
    open_session,
    wanted_endpoint,
)
from ovnlb.reconciler.settings import Settings

# Roles to which Neutron's default policy grants device_owner, device_id and other projects' ports.
TRUSTED_ROLES = frozenset({"admin", "service", "advsvc"})
EXTENSIONS = {
    "port-security": "health-monitor ports cannot be made without port security",
    "router": "there are no floating IPs",
}
TEST_PORT = "ovnlb-check-config"
_UNUSABLE = (ksa.ClientException, sdk.SDKException, cfg.Error, ValueError)


def neutron(settings: Settings, patience: float, write_test: bool = False) -> Iterator[Finding]:
    """From the token to the policy; stops where the next step needs what has failed."""
    conf = settings.neutron_conf
    try:
        session = open_session(conf)
        session.timeout = min(session.timeout or patience, patience * 0.8)
        roles = _roles(session)
    except _UNUSABLE as error:
        yield failed("keystone", f"[{GROUP}], [service_auth]: {_one_line(error)}")
        return
    auth = conf[GROUP].auth_type
    if roles is None:
        yield ok("keystone", f"[neutron]auth_type = {auth} needs no token")
    else:
        yield ok("keystone", f"token for [neutron]auth_type = {auth}, roles {', '.join(roles) or 'none'}")
    try:
        override, choice = endpoint_url(conf, session, settings.strict_endpoint)
    except EndpointError as error:
        yield failed("neutron endpoint", str(error))
        return
    yield from _endpoint(settings, override, choice)
    network = connection_over(session, conf, override).network
    yield from _api(network)
    yield from _policy(network, roles, write_test)


def _roles(session: Any) -> Sequence[str] | None:
    """The token's roles, which needs a token; None for an auth plugin without one."""
    get_access = getattr(session.auth, "get_access", None)
    if get_access is None:
        return None
    return sorted(get_access(session).role_names)


def _endpoint(settings: Settings, override: str | None, choice: Choice | None) -> Iterator[Finding]:
    name = "neutron endpoint"
    if choice is None:
        where = override or "the auth plugin's own"
        why = f"[{GROUP}]endpoint_override" if override else f"[{GROUP}]auth_type has no catalog"
        yield ok(name, f"{where}, by {why}")
        return
    wanted = wanted_endpoint(settings.neutron_conf)
    region = f"[{GROUP}]region_name = {wanted.region}" if wanted.region else "any region"
    interfaces = ", ".join(wanted.interfaces)
    yield ok(name, f"{choice.endpoint}, by {region} and [{GROUP}]valid_interfaces = {interfaces}")
    if choice.warning:
        yield warning(name, choice.warning)


def _api(network: Any) -> Iterator[Finding]:
    with neutron_errors("GET extensions"):
        known = {extension.alias for extension in network.extensions()}
    _get(network, "ports", limit=1, fields="id")
    yield ok("neutron", f"answers, {len(known)} extensions")
    for alias, consequence in EXTENSIONS.items():
        if alias not in known:
            yield warning("neutron", f"extension {alias} is not loaded: {consequence}")


def _get(network: Any, collection: str, **query: Any) -> None:
    with neutron_errors(f"GET {collection}"):
        sdk.raise_from_response(network.get(f"/{collection}", params=query))


def _policy(network: Any, roles: Sequence[str] | None, write_test: bool) -> Iterator[Finding]:
    name = "neutron policy"
    if write_test:
        yield _tried(name, network)
    elif roles is None:
        yield ok(name, "without a token there are no roles; --write-test asks Neutron")
    elif TRUSTED_ROLES & {role.lower() for role in roles}:
        yield ok(name, "these roles may set a port's device_owner and device_id by Neutron's default policy")
    else:
        yield warning(
            name,
            f"none of the roles {', '.join(sorted(TRUSTED_ROLES))}, to which Neutron's default policy grants "
            "a port's device_owner and device_id in any project; --write-test asks Neutron",
        )


def _tried(name: str, network: Any) -> Finding:
    port = {
        "name": TEST_PORT,
        "network_id": str(uuid.uuid4()),
        "device_owner": HM_PORT_OWNER,
        "device_id": TEST_PORT,
        "port_security_enabled": False,
    }
    with neutron_errors("POST port"):
        answer = network.post("/ports", json={"port": port})
    status = answer.status_code
    if status == 404:
        return ok(name, "device_owner, device_id and port_security_enabled of a port may be set (tried)")
    if status == 403:
        return failed(name, f"Neutron forbids device_owner or device_id on a port: {_one_line(answer.text)}")
    if status < 300:
        made = answer.json()["port"]["id"]
        network.delete(f"/ports/{made}")
        return failed(name, f"Neutron made port {made} on a network that does not exist; it was deleted")
    return failed(name, f"Neutron answers {status} to a port of ours: {_one_line(answer.text)}")


def _one_line(error: Any) -> str:
    return " ".join(str(error).split()) or type(error).__name__
