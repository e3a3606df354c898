"""The Neutron ports of the VIP and of the additional VIPs, made while octavia-api creates the LB.

Names, owner and device id are what Neutron and the original know these ports by. Security groups of
the request are set here and not reconciled later: OVN filters no VIP traffic by them, the VIP's port
being bound nowhere, and applies no QoS policy to it either. A port that the user gave is used as it
is, never changed and never deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from octavia_lib.api.drivers import exceptions

from ovnlb.observed.neutron_errors import NeutronError, NeutronNotConfigured, NeutronRefused
from ovnlb.observed.source import NeutronPort
from ovnlb.reconciler.neutron_client import NeutronClient, addresses_on

LOG = logging.getLogger(__name__)

PREFIX = "ovn-lb-vip-"
OWNER = "ovn-lb:vip"


def create(
    neutron: NeutronClient,
    lb_id: str,
    project_id: str,
    vip: dict[str, Any],
    additional: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Octavia's `create_vip_port`: the VIP dictionary completed, the additional ones made anew.

    Either all ports exist afterwards or none that was made here. Raises octavia-lib's Conflict when
    an address is taken, DriverError for every other failure, with Neutron's own words.
    """
    made: list[str] = []
    try:
        _complete_vip(neutron, lb_id, project_id, vip, made)
        more = [
            _additional(neutron, lb_id, project_id, vip, wanted, number, made)
            for number, wanted in enumerate(additional, start=1)
        ]
    except NeutronError as error:
        _delete(neutron, made)
        raise _octavia_error(error) from error
    return vip, more


def remove(neutron: NeutronClient, lb_id: str, port_ids: Iterable[str | None]) -> None:
    """Deletes those of the ports that `create` made for this LB. Failures are logged, never raised.

    For a creation that is refused after its ports were made: Octavia has no clean-up of its own.
    """
    try:
        ports = [neutron.get_port(port_id) for port_id in dict.fromkeys(port_ids) if port_id]
    except NeutronError as error:
        LOG.warning("the VIP ports of load balancer %s, refused, may be left over: %s", lb_id, error)
        return
    ours = [port for port in ports if port is not None and port.device_id == device_id(lb_id)]
    _delete(neutron, [port.id for port in ours if port.name.startswith(PREFIX)])


def device_id(lb_id: str) -> str:
    """The device id of the ports of a load balancer."""
    return f"lb-{lb_id}"


def _complete_vip(
    neutron: NeutronClient, lb_id: str, project_id: str, vip: dict[str, Any], made: list[str]
) -> None:
    if vip.get("vip_port_id"):
        port = None
        if not (vip.get("vip_address") and vip.get("vip_subnet_id") and vip.get("vip_network_id")):
            port = neutron.get_port(vip["vip_port_id"])
            if port is None:
                raise NeutronRefused("GET port", f"Port {vip['vip_port_id']} could not be found.", 404)
    else:
        body = _port_body(
            f"{PREFIX}{lb_id}",
            lb_id,
            project_id,
            vip["vip_network_id"],
            vip.get("vip_subnet_id"),
            vip.get("vip_address"),
            vip.get("vip_sg_ids"),
        )
        port = neutron.create_port(body)
        made.append(port.id)
        vip["vip_port_id"] = port.id
    if port is not None:
        _fill(vip, port)


def _fill(vip: dict[str, Any], port: NeutronPort) -> None:
    """Network, subnet and address that the request left open, from the port."""
    vip["vip_network_id"] = vip.get("vip_network_id") or port.network_id
    subnet = vip.get("vip_subnet_id")
    for found, address in port.addresses:
        if subnet in (None, found) and vip.get("vip_address") in (None, address):
            vip["vip_subnet_id"], vip["vip_address"] = found, address
            return


def _additional(
    neutron: NeutronClient,
    lb_id: str,
    project_id: str,
    vip: Mapping[str, Any],
    wanted: Mapping[str, Any],
    number: int,
    made: list[str],
) -> dict[str, Any]:
    """One additional VIP, with exactly the keys that Octavia's AdditionalVip takes."""
    subnet, asked = wanted["subnet_id"], wanted.get("ip_address")
    port = _given_port(neutron, wanted)
    if port is None:
        body = _port_body(
            f"{PREFIX}additional-{number}-{lb_id}",
            lb_id,
            project_id,
            wanted.get("network_id") or vip["vip_network_id"],
            subnet,
            asked,
            vip.get("vip_sg_ids"),
        )
        port = neutron.create_port(body)
        made.append(port.id)
    held = addresses_on(port, subnet)
    address = asked or (held[0] if held else None)
    return {"ip_address": address, "network_id": port.network_id, "port_id": port.id, "subnet_id": subnet}


def _given_port(neutron: NeutronClient, wanted: Mapping[str, Any]) -> NeutronPort | None:
    """The user's own port, where it already holds an address on the additional VIP's subnet."""
    if not wanted.get("port_id"):
        return None
    port = neutron.get_port(wanted["port_id"])
    held = addresses_on(port, wanted["subnet_id"]) if port else ()
    asked = wanted.get("ip_address")
    return port if held and (not asked or asked in held) else None


def _port_body(
    name: str,
    lb_id: str,
    project_id: str,
    network_id: str,
    subnet_id: str | None,
    address: str | None,
    security_groups: Sequence[str] | None,
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": name,
        "network_id": network_id,
        "admin_state_up": True,
        "device_owner": OWNER,
        "device_id": device_id(lb_id),
        "project_id": project_id,
    }
    if subnet_id:
        body["fixed_ips"] = [{"subnet_id": subnet_id, **({"ip_address": address} if address else {})}]
    if security_groups:
        body["security_groups"] = list(security_groups)
    return body


def _delete(neutron: NeutronClient, port_ids: Iterable[str]) -> None:
    for port_id in port_ids:
        try:
            neutron.delete_port(port_id)
        except NeutronError as error:
            LOG.warning("VIP port %s is left over, `ovnlb orphans` will find it: %s", port_id, error)


def _octavia_error(error: NeutronError) -> Exception:
    if isinstance(error, NeutronNotConfigured):
        text = (
            f"Cannot initialize OpenStackSDK. Exception: {error.message}. "
            "Please verify Neutron service configuration in Octavia API configuration."
        )
        return exceptions.DriverError(operator_fault_string=text)  # type: ignore[no-any-return]
    conflict = isinstance(error, NeutronRefused) and error.conflict
    kind = exceptions.Conflict if conflict else exceptions.DriverError
    return kind(user_fault_string=error.message, operator_fault_string=str(error))  # type: ignore[no-any-return]
