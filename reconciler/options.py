"""The oslo.config options that are read, with the texts of the configuration reference.

`[ovn]` is the original provider's, with its types; `[database]`, `[driver_agent]` and `[api_settings]`
are Octavia's; `[ovnlb]` is ours. Source: architecture.md section 8, octavia/common/config.py (19.0.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oslo_config import cfg, types

from ovnlb.diff.policy import Policy

REMOTE = types.String(regex=r"^(tcp|ssl|unix):.+")
RUN = "/var/run/octavia"

OVN_OPTS = [
    cfg.ListOpt(
        "ovn_nb_connection",
        item_type=REMOTE,
        default=["tcp:127.0.0.1:6641"],
        help="Where the OVN Northbound database is: tcp:IP:PORT, ssl:IP:PORT or unix:FILE. Several members "
        "of a cluster are separated by commas; IPv6 addresses stand in square brackets.",
    ),
    cfg.StrOpt("ovn_nb_private_key", default="", help="PEM file of the private key for ssl: Northbound."),
    cfg.StrOpt("ovn_nb_certificate", default="", help="PEM file of the certificate of that key."),
    cfg.StrOpt("ovn_nb_ca_cert", default="", help="PEM file of the CA that signed the Northbound server's."),
    cfg.ListOpt(
        "ovn_sb_connection",
        item_type=REMOTE,
        default=["tcp:127.0.0.1:6642"],
        help="Where the OVN Southbound database is, in the form of ovn_nb_connection. Health states come "
        "from it.",
    ),
    cfg.StrOpt("ovn_sb_private_key", default="", help="PEM file of the private key for ssl: Southbound."),
    cfg.StrOpt("ovn_sb_certificate", default="", help="PEM file of the certificate of that key."),
    cfg.StrOpt("ovn_sb_ca_cert", default="", help="PEM file of the CA that signed the Southbound server's."),
    cfg.IntOpt(
        "ovsdb_connection_timeout", default=180, help="Seconds to wait for a connection and for an answer."
    ),
    cfg.IntOpt("ovsdb_retry_max_interval", default=180, help="Most seconds between two attempts to connect."),
    cfg.IntOpt(
        "ovsdb_probe_interval",
        default=60000,
        min=0,
        help="Milliseconds of silence after which the server is asked whether it lives; 0 never asks.",
    ),
]

DATABASE_OPTS = [
    cfg.StrOpt(
        "connection", secret=True, help="Octavia's database, mysql+pymysql://USER:PASSWORD@HOST/octavia."
    ),
    cfg.StrOpt("connection_parameters", default="", help="Appended to the URL's parameters, a=b&c=d."),
]

DRIVER_AGENT_OPTS = [
    cfg.StrOpt("status_socket_path", default=f"{RUN}/status.sock", help="Socket that takes status reports."),
    cfg.StrOpt("stats_socket_path", default=f"{RUN}/stats.sock", help="Socket that takes statistics."),
    cfg.StrOpt("get_socket_path", default=f"{RUN}/get.sock", help="Socket that answers questions."),
    cfg.ListOpt("enabled_provider_agents", default=[], help="Provider agents that the driver-agent runs."),
]

API_OPTS = [
    cfg.DictOpt(
        "enabled_provider_drivers",
        default={"amphora": "The Octavia Amphora driver.", "octavia": "Deprecated alias of amphora."},
        help="Provider names and descriptions that Octavia's API offers.",
    ),
]

OVNLB_OPTS = [
    cfg.ListOpt("providers", default=["ovn"], help="Octavia provider names whose load balancers are ours."),
    cfg.StrOpt(
        "database_connection",
        secret=True,
        help="URL of Octavia's database to use instead of [database]connection, for instance with a user "
        "that may only SELECT, or of a replica. Only reads happen.",
    ),
    cfg.IntOpt(
        "database_connect_timeout", default=10, min=1, help="Seconds to wait for the database to answer."
    ),
    cfg.FloatOpt(
        "poll_interval",
        default=1.0,
        min=0.2,
        max=10.0,
        help="Seconds between two looks for load balancers in PENDING_*. Nudges only shorten this wait.",
    ),
    cfg.FloatOpt(
        "sweep_interval",
        default=30.0,
        min=1.0,
        help="Seconds between two looks for load balancers that changed without being seen pending.",
    ),
    cfg.FloatOpt(
        "resync_interval",
        default=600.0,
        min=10.0,
        help="Seconds between two full passes, which compare every load balancer with the Northbound rows.",
    ),
    cfg.IntOpt(
        "workers", default=4, min=1, max=64, help="Load balancers that are worked on at the same time."
    ),
    cfg.StrOpt(
        "policy",
        default=Policy.SYNC.value,
        choices=[
            (
                Policy.SYNC.value,
                "make the rows as they must be, remove what belongs to deleted load balancers",
            ),
            (Policy.NO_PRUNE.value, "as sync, but remove nothing of load balancers that are gone"),
            (Policy.OBSERVE_ONLY.value, "plan and report, write nothing, ask for no lock"),
        ],
        help="What may be written.",
    ),
    cfg.FloatOpt(
        "prune_grace",
        default=60.0,
        min=60.0,
        help="Seconds between the two complete reads of the database that must both miss a load balancer "
        "before what is left of it counts as an orphan. A create is invisible until it is committed.",
    ),
    cfg.IntOpt(
        "prune_max_count", default=5, min=0, help="Most objects that one pass may prune; more is refused."
    ),
    cfg.FloatOpt(
        "prune_max_percent",
        default=10.0,
        min=0.0,
        max=100.0,
        help="Most objects that one pass may prune, in percent of ours; more is refused.",
    ),
    cfg.StrOpt(
        "nudge_socket",
        help="Datagram socket on which octavia-api's driver tells the daemon of a change; by default "
        "ovnlb.sock beside [driver_agent]status_socket_path.",
    ),
    cfg.StrOpt(
        "metrics_listen", default="", help="ADDRESS:PORT for /metrics, /healthz and /readyz; empty: none."
    ),
    cfg.FloatOpt(
        "error_after",
        default=600.0,
        min=1.0,
        help="Seconds for which a load balancer may fail while all servers answer, before it is ERROR.",
    ),
    cfg.BoolOpt(
        "pace_northd",
        default=True,
        help="Gather changes into one transaction while ovn-northd has not caught up with the last, and in a "
        "stream of changes, so that it may rest.",
    ),
    cfg.BoolOpt("drain_on_zero_weight", default=True, help="Leave members of weight 0 out of the data path."),
    cfg.BoolOpt(
        "hm_port_monitor_mac",
        default=True,
        help="Create health-monitor ports with the MAC address that OVN's service monitor uses "
        "(NB_Global options:svc_monitor_mac), so that no backend learns another one.",
    ),
    cfg.BoolOpt(
        "strict_endpoint",
        default=False,
        help="Refuse, rather than warn, when several Neutron endpoints fit the [neutron] options.",
    ),
]

GROUPS: Mapping[str, Sequence[cfg.Opt]] = {
    "ovnlb": OVNLB_OPTS,
    "ovn": OVN_OPTS,
    "database": DATABASE_OPTS,
    "driver_agent": DRIVER_AGENT_OPTS,
    "api_settings": API_OPTS,
}


def register_options(conf: cfg.ConfigOpts) -> None:
    """Register every option above; one that Octavia or Neutron registered already stays theirs."""
    for group, options in GROUPS.items():
        for option in options:
            try:
                conf.register_opt(option, group=group)
            except cfg.DuplicateOptError:
                continue


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """The groups that are not Octavia's, for oslo-config-generator (entry point `oslo.config.opts`)."""
    return [("ovnlb", OVNLB_OPTS), ("ovn", OVN_OPTS)]
