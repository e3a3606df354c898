"""From `[neutron]` options to a Neutron that answers: inheritance, regions, interfaces, errors."""

from __future__ import annotations

import pytest
from keystoneauth1 import exceptions as ksa

from ovnlb.reconciler.endpoint import EndpointError
from ovnlb.reconciler.neutron_client import NeutronClient, Retry
from ovnlb.reconciler.neutron_session import endpoint_url, open_connection, open_network, open_session
from ovnlb.reconciler.settings import load_settings
from servers import keystone as keystones
from servers import neutron as neutrons

REGIONS = ("RegionOne", "RegionTwo")
INTERFACES = ("public", "internal", "admin")
DEAD = "http://127.0.0.1:9"


@pytest.fixture
def neutron():
    with neutrons.serving({"networks": [{"id": "net"}]}) as server:
        yield server


@pytest.fixture
def keystone(neutron):
    with keystones.serving([]) as server:
        yield server


def conf_of(tmp_path, keystone, neutron_options, service_auth=None):
    sections = {
        "database": {"connection": "sqlite:////nowhere"},
        "service_auth": keystone.options if service_auth is None else service_auth,
        "neutron": neutron_options,
    }
    lines = []
    for section, options in sections.items():
        lines += [f"[{section}]", *(f"{name} = {value}" for name, value in options.items()), ""]
    path = tmp_path / "octavia.conf"
    path.write_text("\n".join(lines))
    return load_settings([str(path)], overrides=OVN).neutron_conf


OVN = {"ovn.ovn_nb_connection": ["unix:/nowhere/nb"], "ovn.ovn_sb_connection": ["unix:/nowhere/sb"]}


def six(live, region, interface):
    """A catalog of two regions by three interfaces; only one endpoint is alive."""
    return [
        keystones.network(
            keystones.endpoint(i, live if (r, i) == (region, interface) else f"{DEAD}/{r}/{i}", r)
            for r in REGIONS
            for i in INTERFACES
        )
    ]


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("interface", INTERFACES)
def test_region_and_interface_are_honoured_B108(tmp_path, keystone, neutron, region, interface):
    keystone.catalog = six(neutron.url, region, interface)
    conf = conf_of(tmp_path, keystone, {"region_name": region, "valid_interfaces": interface})
    client = NeutronClient(lambda: open_network(conf), Retry(1))
    assert client.find_port("none", "net") is None
    assert [call.path for call in neutron.calls] == ["ports"]


@pytest.mark.parametrize(
    ("options", "interface"),
    [
        ({}, "public"),
        ({"endpoint_type": "internalURL"}, "internal"),
        ({"valid_interfaces": "admin,public"}, "admin"),
    ],
)
def test_interface_by_default_and_by_its_older_name(tmp_path, keystone, neutron, options, interface):
    keystone.catalog = six(neutron.url, "RegionOne", interface)
    conf = conf_of(tmp_path, keystone, {"region_name": "RegionOne", **options})
    assert endpoint_url(conf, open_session(conf), False)[0] == neutron.url


@pytest.mark.parametrize("option", ["endpoint_override", "endpoint"])
def test_endpoint_override_asks_for_no_catalog_entry(tmp_path, keystone, neutron, option):
    conf = conf_of(tmp_path, keystone, {option: neutron.url})
    assert NeutronClient(lambda: open_network(conf), Retry(1)).get_port("x") is None


def test_own_credentials_are_not_overridden(tmp_path, keystone, neutron):
    keystone.catalog = six(neutron.url, "RegionOne", "public")
    wrong = {**keystone.options, "password": "wrong"}
    conf = conf_of(tmp_path, keystone, {**keystone.options, "region_name": "RegionOne"}, wrong)
    assert NeutronClient(lambda: open_network(conf), Retry(1)).get_port("x") is None


def test_wrong_password_is_keystones_401(tmp_path, keystone):
    conf = conf_of(tmp_path, keystone, {}, {**keystone.options, "password": "wrong"})
    with pytest.raises(ksa.Unauthorized, match="wrong password"):
        open_network(conf)


def test_several_endpoints_left_is_a_warning_that_lists_them_or_strictly_an_error(
    tmp_path, keystone, neutron, caplog
):
    keystone.catalog = [
        keystones.network(
            [keystones.endpoint("public", neutron.url), keystones.endpoint("public", DEAD, "Two")]
        )
    ]
    conf = conf_of(tmp_path, keystone, {})
    open_connection(conf)
    assert neutron.url in caplog.text
    assert DEAD in caplog.text
    with pytest.raises(EndpointError, match="2 endpoints fit"):
        open_connection(conf, strict=True)


def test_a_region_that_the_catalog_lacks_lists_those_it_has(tmp_path, keystone):
    keystone.catalog = six(DEAD, "RegionOne", "public")
    conf = conf_of(tmp_path, keystone, {"region_name": "Atlantis"})
    with pytest.raises(EndpointError, match="Atlantis: the catalog has RegionOne, RegionTwo"):
        open_network(conf)


def test_without_any_auth_type_the_options_are_named(tmp_path, keystone):
    conf = conf_of(tmp_path, keystone, {}, {})
    with pytest.raises(ValueError, match=r"\[neutron\]auth_type nor \[service_auth\]auth_type"):
        open_session(conf)


def test_no_keystone_at_all(tmp_path, neutron):
    """auth_type none knows its endpoint; its options live in a section of their own."""
    path = tmp_path / "octavia.conf"
    path.write_text(
        f"[database]\nconnection = sqlite:////x\n[neutron]\nauth_section = open\n"
        f"[open]\nauth_type = none\nendpoint = {neutron.url}\n"
    )
    conf = load_settings([str(path)], overrides=OVN).neutron_conf
    assert NeutronClient(lambda: open_network(conf), Retry(1)).get_port("x") is None
    assert endpoint_url(conf, open_session(conf), False) == (None, None)


def test_timeout_and_tls_options_reach_the_session(tmp_path, keystone):
    assert open_session(conf_of(tmp_path, keystone, {})).timeout == 30
    conf = conf_of(tmp_path, keystone, {"timeout": 7, "insecure": "true"})
    assert (open_session(conf).timeout, open_session(conf).verify) == (7, False)
    conf = conf_of(tmp_path, keystone, {"ca_certificates_file": "/etc/ca.pem"})
    assert open_session(conf).verify == "/etc/ca.pem"
