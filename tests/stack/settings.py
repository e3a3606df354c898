"""Where one stack lives and the configuration files of its services, as values."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PASSWORD = "secret"
REGION = "RegionOne"


def free_ports(count: int) -> tuple[int, ...]:
    """Loopback TCP ports that nobody listens on now.

    From below 32768: no outgoing connection takes one of those between now and the start of its server.
    """
    with contextlib.ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            candidate = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                candidate.bind(("127.0.0.1", random.SystemRandom().randrange(12000, 32000)))
                found.append(candidate.getsockname()[1])
        return tuple(found)


@dataclass(frozen=True)
class Ports:
    """Every TCP port of one stack, all on loopback."""

    database: int
    nb: int
    sb: int
    keystone: int
    neutron: int
    octavia: int

    @classmethod
    def free(cls) -> Ports:
        """Six ports that are free now."""
        return cls(*free_ports(6))


@dataclass(frozen=True)
class Place:
    """The directories of one stack below one root; the root's path is short because sockets live in it."""

    root: Path
    ports: Ports = field(default_factory=Ports.free)

    def directory(self, name: str) -> Path:
        """A directory of this stack, made when absent."""
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def url(self, service: str) -> str:
        """The API endpoint of ``keystone``, ``neutron`` or ``octavia``."""
        suffix = "/v3" if service == "keystone" else ""
        return f"http://127.0.0.1:{getattr(self.ports, service)}{suffix}"

    @property
    def octavia_run(self) -> Path:
        """What octavia calls /var/run/octavia."""
        return self.directory("run/octavia")


Sections = Mapping[str, Mapping[str, object]]


def render(sections: Sections) -> str:
    """An oslo.config file; option values that are lists become comma lists."""
    lines: list[str] = []
    for section, options in sections.items():
        lines.append(f"[{section}]")
        for name, value in options.items():
            text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            lines.append(f"{name} = {text}")
        lines.append("")
    return "\n".join(lines)


def service_user(place: Place, user: str) -> dict[str, object]:
    """keystoneauth options of a service user."""
    return {
        "auth_type": "password",
        "auth_url": place.url("keystone"),
        "username": user,
        "password": PASSWORD,
        "project_name": "service",
        "user_domain_id": "default",
        "project_domain_id": "default",
        "region_name": REGION,
    }


def keystone(place: Place, database: str) -> Sections:
    """keystone.conf: token validation from memory, else each call of a service costs 0.7 s."""
    etc = place.directory("etc")
    return {
        "DEFAULT": {"log_file": place.directory("logs") / "keystone.log", "transport_url": "fake://"},
        "database": {"connection": database},
        "token": {"provider": "fernet", "expiration": 86400},
        "fernet_tokens": {"key_repository": etc / "fernet-keys"},
        "fernet_receipts": {"key_repository": etc / "fernet-keys"},
        "credential": {"key_repository": etc / "credential-keys"},
        "cache": {"enabled": "true", "backend": "dogpile.cache.memory", "expiration_time": 600},
        "identity": {"password_hash_rounds": 4},
    }


def neutron(place: Place, database: str, venv: Path, nb: str, sb: str) -> Sections:
    """neutron.conf and ml2_conf.ini in one file: ML2/OVN, geneve for tenants, a flat and VLAN network
    ``public``.
    """
    state = place.directory("neutron")
    quotas = (
        "network",
        "subnet",
        "port",
        "router",
        "floatingip",
        "security_group",
        "security_group_rule",
    )
    return {
        "DEFAULT": {
            "core_plugin": "ml2",
            "service_plugins": "ovn-router",
            "transport_url": "fake://",
            "host": "stack",
            "auth_strategy": "keystone",
            "api_paste_config": venv / "etc" / "neutron" / "api-paste.ini",
            "state_path": state,
            "log_file": place.directory("logs") / "neutron.log",
            "rpc_workers": 1,
            "rpc_state_report_workers": 0,
            "notify_nova_on_port_status_changes": "false",
            "notify_nova_on_port_data_changes": "false",
            "dhcp_agent_notification": "false",
        },
        "oslo_concurrency": {"lock_path": state / "lock"},
        "database": {"connection": database},
        "keystone_authtoken": {
            "www_authenticate_uri": place.url("keystone"),
            **service_user(place, "neutron"),
        },
        "quotas": {"default_quota": -1, **{f"quota_{name}": -1 for name in quotas}},
        "ml2": {
            "mechanism_drivers": "ovn",
            "type_drivers": "local,flat,vlan,geneve",
            "tenant_network_types": "geneve",
            "extension_drivers": "port_security",
            "overlay_ip_version": 4,
        },
        "ml2_type_geneve": {"vni_ranges": "1:65536", "max_header_size": 38},
        "ml2_type_flat": {"flat_networks": "public"},
        "ml2_type_vlan": {"network_vlan_ranges": "public"},
        "securitygroup": {"enable_security_group": "true"},
        "ovn": {
            "ovn_nb_connection": nb,
            "ovn_sb_connection": sb,
            "ovn_metadata_enabled": "false",
            "enable_distributed_floating_ip": "false",
            "neutron_sync_mode": "log",
        },
    }


def octavia(place: Place, database: str, nb: str, sb: str, agents: str) -> Sections:
    """octavia.conf; the same file serves both providers, ``agents`` are the provider agents of the
    driver-agent.
    """
    run = place.octavia_run
    user = service_user(place, "octavia")
    return {
        "DEFAULT": {"transport_url": "fake://", "host": "stack"},
        "api_settings": {
            "bind_host": "127.0.0.1",
            "bind_port": place.ports.octavia,
            "auth_strategy": "keystone",
            "api_base_uri": place.url("octavia"),
            "enabled_provider_drivers": "ovn:OVN provider",
            "default_provider_driver": "ovn",
            "allow_tls_terminated_listeners": "true",
            "healthcheck_enabled": "true",
        },
        "database": {"connection": database},
        "certificates": {"cert_generator": "local_cert_generator", "cert_manager": "noop_cert_manager"},
        "controller_worker": {
            "network_driver": "allowed_address_pairs_driver",
            "compute_driver": "compute_noop_driver",
            "amphora_driver": "amphora_noop_driver",
        },
        "driver_agent": {
            "status_socket_path": run / "status.sock",
            "stats_socket_path": run / "stats.sock",
            "get_socket_path": run / "get.sock",
            "enabled_provider_agents": agents,
        },
        "keystone_authtoken": {"www_authenticate_uri": place.url("keystone"), **user},
        "service_auth": user,
        "neutron": user,
        "ovn": {"ovn_nb_connection": nb, "ovn_sb_connection": sb},
        "ovnlb": {"resync_interval": 60},
        "oslo_messaging": {"topic": "octavia_prov"},
    }
