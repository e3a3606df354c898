"""How Neutron writes its facts into Northbound rows, read back as values.

Pure functions over column values, shared by the live replica and by bundles so that both answer
alike. Sources: neutron's ovn constants (external_ids keys), ovn-nb(5) tables Logical_Switch_Port
(addresses), Logical_Router_Port (gateway_chassis, ha_chassis_group) and NAT.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from ovnlb.desired import extids
from ovnlb.desired.addresses import canonical, is_v6, uncached_canonical
from ovnlb.desired.port_facts import HM_PORT_OWNERS, HM_PORT_PREFIX, VIP_PORT_PREFIX
from ovnlb.desired.rows import ADDITIONAL_VIP_FIPS, POOL_PREFIX, VIP_FIP

NETWORK_NAME = "neutron:network_name"
PORT_NAME = "neutron:port_name"
CIDRS = "neutron:cidrs"
PORT_FIP = "neutron:port_fip"
PHYSICAL_NETWORK = "neutron:provnet-physical-network"
EXTERNAL_GATEWAY = "neutron:is_ext_gw"
SUBNET_IDS = "neutron:subnet_ids"
FIP_ID = "neutron:fip_id"
FIP_PORT_ID = "neutron:fip_port_id"
DEVICE_ID = "neutron:device_id"
DEVICE_OWNER = "neutron:device_owner"
ROUTER_PORT = "router-port"
REQUESTED_CHASSIS = "requested-chassis"
# Of a Logical_Switch_Port's maps nothing else is read: a hundred thousand of them are kept in memory.
PORT_KEYS = frozenset({CIDRS, DEVICE_ID, DEVICE_OWNER, NETWORK_NAME, PORT_FIP, PORT_NAME})
PORT_OPTIONS = frozenset({ROUTER_PORT, REQUESTED_CHASSIS})
LOCALNET = "localnet"
DNAT_AND_SNAT = "dnat_and_snat"
# How the Neutron names of the ports begin that only a provider makes.
PROVIDER_PORTS = (VIP_PORT_PREFIX, HM_PORT_PREFIX)

_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_SEPARATORS = re.compile(r"[\s,]+")


def is_hm_port(external_ids: Mapping[str, str]) -> bool:
    """Whether an LSP is a health-monitor port, by Neutron name and owner.

    Anybody can give a port that name, and only the owner tells such a port; one without an owner counts.
    """
    if not external_ids.get(PORT_NAME, "").startswith(HM_PORT_PREFIX):
        return False
    return external_ids.get(DEVICE_OWNER, "") in ("", *HM_PORT_OWNERS)


def kept(values: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """The entries of a map that are read."""
    return {key: value for key, value in values.items() if key in keys}


def mapping_source(value: str) -> tuple[str, str]:
    """LSP name and canonical source address of an ip_port_mappings value."""
    port, _, source = value.partition(":")
    return port, canonical(source) or source


def fip_members(external_ids: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(canonical address, subnet id) of the members of a Load_Balancer that has a floating IP."""
    if not (external_ids.get(VIP_FIP) or external_ids.get(ADDITIONAL_VIP_FIPS)):
        return
    for key, value in external_ids.items():
        if key.startswith(POOL_PREFIX):
            for entry in extids.parse_members(value):
                yield canonical(entry.address) or entry.address, entry.subnet_id or ""


def _words(text: str) -> tuple[str, tuple[str, ...]]:
    """MAC (empty when none) and canonical addresses of one `addresses` or `neutron:cidrs` text.

    Not cached, nor are its addresses: a cloud has a hundred thousand, each read once.
    """
    mac = ""
    found: dict[str, None] = {}
    for word in text.replace(",", " ").split():
        if _MAC.fullmatch(word):
            mac = mac or word.lower()
        elif (address := uncached_canonical(word.partition("/")[0])) is not None:
            found[address] = None
    return mac, tuple(found)


def port_addresses(
    addresses: Iterable[str], external_ids: Mapping[str, str]
) -> tuple[str | None, tuple[str, ...]]:
    """MAC and canonical IP addresses of a Logical_Switch_Port.

    Words such as `router`, `unknown`, `dynamic` carry none. A port whose column names no address (a
    router's port, a VIP port that Neutron leaves unbound) has those of `neutron:cidrs`.
    """
    mac: str | None = None
    found: dict[str, None] = {}
    for text in addresses:
        text_mac, text_addresses = _words(text)
        mac = mac or text_mac or None
        found.update(dict.fromkeys(text_addresses))
    if not found:
        found = dict.fromkeys(_words(external_ids.get(CIDRS, ""))[1])
    return mac, tuple(found)


def provider_switch(external_ids: Mapping[str, str], has_localnet: bool) -> bool:
    """Whether a Logical_Switch is a provider network's: no load balancer may be on it."""
    return has_localnet or bool(external_ids.get(PHYSICAL_NETWORK))


def gateway_interface(external_ids: Mapping[str, str], has_chassis: bool, has_group: bool) -> bool:
    """Whether a Logical_Router_Port is a gateway port, however the Neutron release marks it."""
    return has_chassis or has_group or external_ids.get(EXTERNAL_GATEWAY, "").strip().lower() == "true"


def interface_subnets(external_ids: Mapping[str, str]) -> frozenset[str]:
    """The Neutron subnets of a Logical_Router_Port."""
    return frozenset(_SEPARATORS.split(external_ids.get(SUBNET_IDS, ""))) - {""}


def lowest_ipv4(addresses: Iterable[str]) -> str | None:
    """The numerically lowest IPv4 address of these texts: the one floating IP of a port that we serve.

    A VIP port has one fixed address, so several floating IPs are an error of its user's; the same
    rule for every source keeps Neutron's listing and the LSP from disagreeing by order alone.
    """
    found = {spelled for text in addresses if (spelled := canonical(text)) and not is_v6(spelled)}
    return min(found, key=lambda spelled: tuple(map(int, spelled.split("."))), default=None)


def port_fip(external_ids: Mapping[str, str]) -> str | None:
    """The floating IP that Neutron noted on a Logical_Switch_Port."""
    text = external_ids.get(PORT_FIP)
    return lowest_ipv4(_SEPARATORS.split(text)) if text else None


def ignores_lsp_down(options: Mapping[str, str]) -> bool:
    """NB_Global options:ignore_lsp_down, true when absent (ovn-nb(5))."""
    return options.get("ignore_lsp_down", "true").lower() != "false"
