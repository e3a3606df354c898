"""The configuration: octavia.conf as it is, clear errors, the [neutron] inheritance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from ovnlb.reconciler import settings as module
from ovnlb.reconciler.options import GROUPS
from ovnlb.reconciler.settings import SettingsError, list_opts, load_settings, settings_from

URL = "mysql+pymysql://octavia:secret@db/octavia"
MINIMAL = f"[database]\nconnection = {URL}\n"

# As a deployment tool writes it, cut down: groups and options of others among ours.
OCTAVIA = """
[DEFAULT]
transport_url = rabbit://openstack:secret@mq:5672//
bind_host = 0.0.0.0
[api_settings]
bind_host = 10.0.0.11
enabled_provider_drivers = amphora:The Octavia Amphora driver,ovn: Octavia OVN driver
[database]
connection = mysql+pymysql://octavia:secret@db/octavia
connection_recycle_time = 10
max_pool_size = 1
[health_manager]
bind_port = 5555
[driver_agent]
status_socket_path = /run/octavia/status.sock
stats_socket_path = /run/octavia/stats.sock
get_socket_path = /run/octavia/get.sock
enabled_provider_agents = ovn
[service_auth]
auth_url = http://keystone:5000
auth_type = password
username = octavia
user_domain_name = Default
password = secret
project_name = service
project_domain_name = Default
cafile = /etc/ssl/service.pem
region_name = RegionTwo
[neutron]
region_name = RegionOne
endpoint_type = internalURL
[ovn]
ovn_nb_connection = tcp:10.0.0.1:6641,tcp:10.0.0.2:6641, tcp:[fd00::3]:6641
ovn_sb_connection = tcp:10.0.0.1:6642
ovsdb_connection_timeout = 30
ovsdb_probe_interval = 5000
"""


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that no configuration of this machine is found there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("OVNLB_CONFIG_FILES", raising=False)
    return home


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_an_existing_octavia_conf_works_as_it_is(tmp_path: Path) -> None:
    found = load_settings([write(tmp_path, "octavia.conf", OCTAVIA)])
    assert found.nb.remotes == "tcp:10.0.0.1:6641,tcp:10.0.0.2:6641,tcp:[fd00::3]:6641"
    assert (found.nb.timeout, found.nb.probe_interval) == (30.0, 5.0)
    assert found.sb.remotes == "tcp:10.0.0.1:6642"
    assert found.database_url == URL
    assert found.database_option == f"[database]connection in {tmp_path}/octavia.conf"
    assert found.sockets.status == "/run/octavia/status.sock"
    assert found.nudge_socket == "/run/octavia/ovnlb.sock"
    assert found.providers == ("ovn",)
    assert found.enabled_provider_drivers == ("amphora", "ovn")
    assert found.enabled_provider_agents == ("ovn",)
    assert found.warnings == ()


def test_defaults(tmp_path: Path) -> None:
    found = load_settings([write(tmp_path, "o.conf", MINIMAL)])
    assert (found.nb.remotes, found.sb.remotes) == ("tcp:127.0.0.1:6641", "tcp:127.0.0.1:6642")
    assert (found.nb.timeout, found.nb.probe_interval, found.ovsdb_retry_max_interval) == (180, 60, 180)
    assert (found.poll_interval, found.sweep_interval, found.resync_interval) == (1.0, 30.0, 600.0)
    assert (found.workers, found.policy, found.error_after) == (4, "sync", 600.0)
    assert (found.prune.grace, found.prune.max_count, found.prune.max_percent) == (60.0, 5, 10.0)
    assert (found.pace_northd, found.drain_on_zero_weight, found.hm_port_monitor_mac) == (True, True, True)
    assert (found.strict_endpoint, found.metrics_listen) == (False, "")
    assert found.nudge_socket == "/var/run/octavia/ovnlb.sock"


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    found = load_settings([write(tmp_path, "octavia.conf", OCTAVIA)])
    assert ":secret@" not in repr(found)


def test_later_files_win_and_directories_are_read(tmp_path: Path) -> None:
    first = write(
        tmp_path, "a.conf", MINIMAL + "[ovnlb]\nworkers = 2\npolicy = no-prune\npoll_interval = 2\n"
    )
    second = write(tmp_path, "b.conf", "[ovnlb]\nworkers = 3\n")
    write(tmp_path, "d/1.conf", "[ovnlb]\npoll_interval = 3\n")
    write(tmp_path, "d/2.conf", "[ovnlb]\npoll_interval = 4\n")
    write(tmp_path, "d/ignored.txt", "[ovnlb]\npoll_interval = 5\n")
    found = load_settings([first, second], [str(tmp_path / "d")])
    assert (found.workers, found.policy, found.poll_interval) == (3, "no-prune", 4.0)
    assert found.config_files == (first, second, f"{tmp_path}/d/1.conf", f"{tmp_path}/d/2.conf")


def test_files_are_searched_as_octavia_searches(quiet_home: Path) -> None:
    write(quiet_home, ".octavia/octavia.conf", MINIMAL + "[ovnlb]\nworkers = 2\n")
    write(quiet_home, "ovnlb.conf", "[ovnlb]\nworkers = 7\n")
    write(quiet_home, ".octavia/octavia.conf.d/x.conf", "[ovnlb]\npolicy = observe-only\n")
    found = load_settings()
    assert (found.database_url, found.workers, found.policy) == (URL, 7, "observe-only")
    explicit = write(quiet_home, "other.conf", MINIMAL + "[ovnlb]\npolicy = no-prune\n")
    named = load_settings([explicit])
    assert (named.workers, named.policy) == (4, "no-prune")
    assert named.config_files[-1] == explicit


def test_environment_names_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path, "a.conf", MINIMAL)
    second = write(tmp_path, "b.conf", "[ovnlb]\nworkers = 9\n")
    monkeypatch.setenv("OVNLB_CONFIG_FILES", f"{first};{second}")
    assert load_settings().workers == 9


def test_overrides(tmp_path: Path) -> None:
    file = write(tmp_path, "o.conf", MINIMAL)
    overrides = {"policy": "observe-only", "database.connection": "sqlite:///x"}
    found = load_settings([file], overrides=overrides)
    assert (found.policy, found.database_url) == ("observe-only", "sqlite:///x")
    with pytest.raises(SettingsError, match=r"\[ovnlb\]policy: "):
        load_settings([file], overrides={"policy": "everything"})
    with pytest.raises(SettingsError, match=r"\[ovnlb\]nonsense: "):
        load_settings([file], overrides={"nonsense": 1})


def test_database_url(tmp_path: Path) -> None:
    more = write(tmp_path, "a.conf", MINIMAL + "connection_parameters = ssl_ca=/ca&charset=utf8\n")
    assert load_settings([more]).database_url == f"{URL}?ssl_ca=/ca&charset=utf8"
    both = write(tmp_path, "b.conf", f"[database]\nconnection = {URL}?a=b\nconnection_parameters = c=d\n")
    assert load_settings([both]).database_url == f"{URL}?a=b&c=d"
    ours = write(
        tmp_path, "c.conf", MINIMAL + "[ovnlb]\ndatabase_connection = mysql://reader@replica/octavia\n"
    )
    found = load_settings([ours])
    assert found.database_url == "mysql://reader@replica/octavia"
    assert found.database_option == f"[ovnlb]database_connection in {ours}"


def test_a_slip_of_the_pen_is_a_warning(tmp_path: Path) -> None:
    file = write(tmp_path, "o.conf", MINIMAL + "[ovnlb]\npolicie = observe-only\npoll-interval = 2\n")
    found = load_settings([file])
    assert found.warnings == (f"unknown option [ovnlb]policie in {file}",)


@pytest.mark.parametrize(
    ("text", "option", "reason"),
    [
        pytest.param(
            "[ovn]\novn_nb_connection = tcp:1.2.3.4\n", "[ovn]ovn_nb_connection", "no port", id="B111"
        ),
        ("[ovn]\novn_sb_connection = tcp:fd00::1:6642\n", "[ovn]ovn_sb_connection", "square brackets"),
        ("[ovn]\novn_nb_connection = tcp:1.2.3.4:0\n", "[ovn]ovn_nb_connection", "no such port"),
        ("[ovn]\novn_nb_connection = http://x:1\n", "[ovn]ovn_nb_connection", "doesn't match regex"),
        (
            "[ovn]\novn_nb_connection = tcp:1.2.3.4:6641,\n[ovn]\novn_sb_connection =\n",
            "[ovn]ovn_sb_connection",
            "empty",
        ),
        ("[ovn]\novsdb_connection_timeout = soon\n", "[ovn]ovsdb_connection_timeout", "soon"),
        ("[ovnlb]\npolicy = some\n", "[ovnlb]policy", "some"),
        ("[ovnlb]\npoll_interval = 0\n", "[ovnlb]poll_interval", "0.2"),
        ("[ovnlb]\nworkers = many\n", "[ovnlb]workers", "many"),
        ("[ovnlb]\nproviders =\n", "[ovnlb]providers", "empty"),
        ("[ovnlb]\nmetrics_listen = 9000\n", "[ovnlb]metrics_listen", "ADDRESS:PORT"),
        ("[ovnlb]\npace_northd = perhaps\n", "[ovnlb]pace_northd", "perhaps"),
        ("[neutron]\nauth_type = magic\n", "[neutron]auth_type", "magic"),
    ],
)
def test_errors_name_option_and_file(tmp_path: Path, text: str, option: str, reason: str) -> None:
    base = write(tmp_path, "base.conf", MINIMAL + "[ovn]\n[ovnlb]\n[neutron]\n")
    file = write(tmp_path, "wrong.conf", text)
    last = write(
        tmp_path, "last.conf", "[ovn]\novsdb_retry_max_interval = 7\n[ovnlb]\nstrict_endpoint = true\n"
    )
    with pytest.raises(SettingsError) as raised:
        load_settings([base, file, last])
    assert f"{option} in {file}" in str(raised.value)
    assert reason in str(raised.value)


def test_all_problems_are_listed(tmp_path: Path) -> None:
    file = write(tmp_path, "o.conf", "[ovnlb]\nworkers = 0\npolicy = x\n[ovn]\novsdb_probe_interval = -1\n")
    with pytest.raises(SettingsError) as raised:
        load_settings([file])
    assert len(str(raised.value).splitlines()) == 3


def test_missing_database(tmp_path: Path) -> None:
    file = write(tmp_path, "o.conf", "[ovnlb]\n")
    with pytest.raises(SettingsError, match=rf"\[database\]connection is not set in {file}"):
        load_settings([file])


def test_missing_and_unparsable_files(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent\.conf"):
        load_settings([str(tmp_path / "absent.conf")])
    with pytest.raises(SettingsError, match=r"broken\.conf:1"):
        load_settings([write(tmp_path, "broken.conf", "connection = x\n")])
    with pytest.raises(SettingsError, match="nowhere"):
        load_settings([], [str(tmp_path / "nowhere")])


def test_tls_files(tmp_path: Path) -> None:
    present = write(tmp_path, "present.pem", "x")
    file = write(
        tmp_path,
        "o.conf",
        MINIMAL + "[ovn]\novn_nb_connection = ssl:10.0.0.1:6641,ssl:10.0.0.2:6641\n"
        f"ovn_nb_private_key = {present}\novn_nb_certificate = {tmp_path}/gone.pem\n",
    )
    with pytest.raises(SettingsError) as raised:
        load_settings([file])
    assert str(raised.value).splitlines() == [
        f"[ovn]ovn_nb_certificate in {file}: {tmp_path}/gone.pem: No such file or directory",
        "[ovn]ovn_nb_ca_cert is not set, ssl: needs it",
    ]
    write(tmp_path, "gone.pem", "x")
    whole = write(tmp_path, "more.conf", f"[ovn]\novn_nb_ca_cert = {present}\n")
    found = load_settings([file, whole])
    assert found.nb.ca_cert == present
    assert found.nb.remotes == "ssl:10.0.0.1:6641,ssl:10.0.0.2:6641"


def test_inheritance_from_service_auth(tmp_path: Path) -> None:
    neutron = load_settings([write(tmp_path, "octavia.conf", OCTAVIA)]).neutron_conf.neutron
    assert (neutron.auth_type, neutron.auth_url) == ("password", "http://keystone:5000")
    assert (neutron.username, neutron.password) == ("octavia", "secret")
    assert neutron.cafile == "/etc/ssl/service.pem"
    assert neutron.region_name == "RegionOne"
    assert neutron.valid_interfaces == ["internal"]


def test_no_inheritance_when_neutron_suffices(tmp_path: Path) -> None:
    own = "[neutron]\nauth_type = password\nauth_url = http://own:5000\nusername = n\npassword = p\n"
    own += "user_domain_name = d\nproject_name = s\nproject_domain_name = d\n"
    neutron = load_settings(
        [write(tmp_path, "o.conf", OCTAVIA), write(tmp_path, "n.conf", own)]
    ).neutron_conf.neutron
    assert (neutron.auth_url, neutron.username, neutron.cafile) == ("http://own:5000", "n", None)


def test_older_neutron_names(tmp_path: Path) -> None:
    old = "[neutron]\nendpoint = http://neutron:9696\nca_certificates_file = /old.pem\n"
    neutron = load_settings([write(tmp_path, "o.conf", OCTAVIA + old)]).neutron_conf.neutron
    assert (neutron.endpoint_override, neutron.cafile) == ("http://neutron:9696", "/old.pem")
    new = "[neutron]\nvalid_interfaces = admin,public\n"
    newer = load_settings([write(tmp_path, "p.conf", OCTAVIA + new)]).neutron_conf.neutron
    assert newer.valid_interfaces == ["admin", "public"]


def test_noauth_neutron_in_its_own_group_and_in_an_auth_section(tmp_path: Path) -> None:
    direct = MINIMAL + "[neutron]\nauth_type = none\nendpoint = http://neutron:9696\n"
    neutron = load_settings([write(tmp_path, "a.conf", direct)]).neutron_conf.neutron
    assert (neutron.auth_type, neutron.endpoint_override) == ("none", "http://neutron:9696")
    section = MINIMAL + "[neutron]\nauth_section = away\n[away]\nauth_type = none\nendpoint = http://n:1\n"
    conf = load_settings([write(tmp_path, "b.conf", section)]).neutron_conf
    assert conf.neutron.auth_section == "away"
    assert conf.away.endpoint == "http://n:1"


def test_incomplete_credentials_are_named(tmp_path: Path) -> None:
    file = write(tmp_path, "o.conf", MINIMAL + "[service_auth]\nauth_type = password\nusername = x\n")
    with pytest.raises(SettingsError, match=r"\[neutron\] and \[service_auth\] lack auth_url"):
        load_settings([file])


def test_global_configuration_is_not_touched(tmp_path: Path) -> None:
    load_settings([write(tmp_path, "octavia.conf", OCTAVIA)])
    assert "ovnlb" not in cfg.CONF
    assert "neutron" not in cfg.CONF


def parsed(files: list[str], **groups: list[Any]) -> cfg.ConfigOpts:
    """A configuration as octavia-api has it: its own options registered, parsed."""
    conf = cfg.ConfigOpts()
    for group, options in groups.items():
        conf.register_opts(options, group=group)
    conf([f"--config-file={file}" for file in files], project="octavia", prog="octavia-api")
    return conf


def test_inside_octavia_with_its_options_registered_B109(tmp_path: Path) -> None:
    """Same names, other definitions: theirs stay, and nothing of theirs is overridden."""
    conf = parsed(
        [write(tmp_path, "octavia.conf", OCTAVIA)],
        database=[cfg.StrOpt("connection", secret=True, help="oslo.db's")],
        driver_agent=[cfg.StrOpt("status_socket_path", default="/other", help="Octavia's")],
        ovn=[cfg.StrOpt("ovn_nb_connection", default="tcp:127.0.0.1:6641", help="an older Neutron's")],
        neutron=[cfg.StrOpt("endpoint", help="Octavia's"), cfg.StrOpt("cafile"), cfg.StrOpt("auth_type")],
    )
    found = settings_from(conf)
    again = settings_from(conf)
    assert found == again
    assert found.database_url == URL
    assert found.nb.remotes.startswith("tcp:10.0.0.1:6641,tcp:10.0.0.2:6641")
    assert found.nudge_socket == "/run/octavia/ovnlb.sock"
    assert found.neutron_conf.neutron.cafile == "/etc/ssl/service.pem"
    assert (conf.neutron.cafile, conf.neutron.auth_type) == (None, None)


def test_inside_octavia_api_unusable_ovn_options_do_no_harm(tmp_path: Path) -> None:
    file = write(tmp_path, "o.conf", MINIMAL + "[ovn]\novn_nb_connection = ssl:10.0.0.1:6641\n")
    assert settings_from(parsed([file])).nb.remotes == "ssl:10.0.0.1:6641"
    with pytest.raises(SettingsError, match="ovn_nb_private_key"):
        settings_from(parsed([file]), check_ovn=True)


def test_every_option_has_a_help_text_and_is_offered_to_the_generator() -> None:
    assert {group for group, _ in list_opts()} == {"ovnlb", "ovn"}
    for options in GROUPS.values():
        assert all(option.help and option.help.endswith(".") for option in options)


def test_unreadable_tls_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "folder.pem"
    folder.mkdir()
    text = f"[ovn]\novn_sb_connection = ssl:h:1\novn_sb_private_key = {folder}\n"
    text += f"ovn_sb_certificate = {folder}\novn_sb_ca_cert = {folder}\n"
    file = write(tmp_path, "o.conf", MINIMAL + text)
    with pytest.raises(SettingsError, match=rf"\[ovn\]ovn_sb_ca_cert in {file}: .*Is a directory"):
        load_settings([file])


def test_module_exports_the_neutron_functions() -> None:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    module.register_neutron(conf)
    assert module.inherit_service_auth(conf) is None
