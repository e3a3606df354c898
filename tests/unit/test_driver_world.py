"""The driver inside a process that has octavia's configuration: what it reads, and what it survives."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from octavia_lib.api.drivers import data_models as dm
from octavia_lib.api.drivers import exceptions
from oslo_config import cfg

from ovnlb.reconciler.driver import OvnlbProviderDriver
from ovnlb.reconciler.driver_world import make_world


def conf_of(tmp_path, text):
    path = tmp_path / "octavia.conf"
    path.write_text(text)
    conf = cfg.ConfigOpts()
    conf([f"--config-file={path}"], project="octavia")
    return conf


UNUSABLE = [
    pytest.param("", "connection is not set", id="empty"),
    pytest.param(
        "[ovnlb]\nworkers = many\n[database]\nconnection = sqlite:////x\n", "workers", id="no-number"
    ),
    pytest.param(
        "[database]\nconnection = sqlite:////x\n[neutron]\nauth_type = magic\n", "auth_type", id="auth-type"
    ),
]


@pytest.mark.parametrize(("text", "names"), UNUSABLE)
def test_unusable_configuration_leaves_the_checks_and_says_what_is_wrong(tmp_path, caplog, text, names):
    driver = OvnlbProviderDriver(make_world(conf_of(tmp_path, text)))
    assert names in caplog.text
    with pytest.raises(exceptions.UnsupportedOptionError):
        driver.listener_create(dm.Listener(protocol="HTTP"))
    driver.listener_create(dm.Listener(protocol="TCP", loadbalancer_id="lb"))
    driver.member_create(dm.Member(pool_id="p", address="10.0.0.1", subnet_id="s"))
    with pytest.raises(exceptions.DriverError) as caught:
        driver.create_vip_port("lb", "p", {"vip_network_id": "n", "vip_subnet_id": "s"}, [])
    assert caught.value.operator_fault_string.startswith("Cannot initialize OpenStackSDK. Exception: ")
    assert names in caught.value.operator_fault_string


def test_first_call_in_a_process_where_octavia_has_registered_its_options_B109(tmp_path):
    """Nothing of OVSDB comes in, no thread starts, no connection stays open; options may be there already."""
    (tmp_path / "octavia.conf").write_text(
        "[database]\nconnection = mysql://u:p@127.0.0.1:1/octavia\n[ovn]\novn_nb_connection = tcp:1.2.3.4\n"
        f"[driver_agent]\nstatus_socket_path = {tmp_path}/status.sock\n[neutron]\nregion_name = one\n"
    )
    program = f"""
        import os, socket, sys, threading
        from keystoneauth1 import loading
        from oslo_config import cfg
        for group in ("neutron", "service_auth"):
            loading.register_auth_conf_options(cfg.CONF, group)
            loading.register_session_conf_options(cfg.CONF, group)
            loading.register_adapter_conf_options(cfg.CONF, group, include_deprecated=False)
        cfg.CONF.register_opt(cfg.StrOpt("endpoint", help="of octavia"), "neutron")
        cfg.CONF.register_opt(cfg.StrOpt("connection", secret=True, help="of oslo.db"), "database")
        cfg.CONF(["--config-file={tmp_path}/octavia.conf"], project="octavia")
        nudges = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        nudges.bind("{tmp_path}/ovnlb.sock")
        nudges.settimeout(5)
        from octavia_lib.api.drivers import data_models as dm
        from ovnlb.reconciler.driver import OvnlbProviderDriver
        OvnlbProviderDriver().listener_create(dm.Listener(protocol="TCP", loadbalancer_id="lb"))
        assert nudges.recv(512) == b'{{"lb": "lb"}}'
        OvnlbProviderDriver().member_create(dm.Member(pool_id="p", address="10.0.0.1", subnet_id="s"))
        assert nudges.recv(512) == b"{{}}"
        loaded = {{name.split(".")[0] for name in sys.modules}}
        assert not loaded & {{"ovs", "ovsdbapp", "apscheduler"}}, loaded
        assert threading.active_count() == 1
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
