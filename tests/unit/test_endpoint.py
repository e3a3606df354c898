"""Endpoint discovery: the worked examples of the API-SIG text, its rules, and keystoneauth1 as a judge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keystoneauth1 import exceptions as ksa
from keystoneauth1.access import service_catalog

from ovnlb.reconciler.endpoint import (
    CatalogEndpoint,
    EndpointError,
    Wanted,
    choose,
    read_catalog,
    refuse_impossible,
    version_matches,
)


def entry(service_type, *endpoints, name="cinder"):
    return {"type": service_type, "name": name, "id": f"id-{service_type}", "endpoints": list(endpoints)}


def at(interface, url, region="RegionOne", **more):
    return {"interface": interface, "region": region, "url": url, **more}


PUBLIC = "https://block-storage.example.com"
VERSIONED = [
    entry("volumev3", at("public", f"{PUBLIC}/v3")),
    entry("volumev2", at("public", f"{PUBLIC}/v2")),
]
UNVERSIONED = [entry("block-storage", at("public", PUBLIC))]
MIXED = [
    entry("block-storage", at("public", PUBLIC)),
    entry(
        "volumev2",
        at("public", f"{PUBLIC}/v2"),
        at("internal", "https://block-storage.example.int/v2"),
    ),
]
EXAMPLES = [
    pytest.param(VERSIONED, "block-storage", None, ("public",), f"{PUBLIC}/v3", id="official-to-first-alias"),
    pytest.param(VERSIONED, "volumev2", None, ("public",), f"{PUBLIC}/v2", id="alias-as-listed"),
    pytest.param(VERSIONED, "volume", None, ("public",), None, id="other-alias-is-not-safe"),
    pytest.param(VERSIONED, "volume", "2", ("public",), f"{PUBLIC}/v2", id="alias-by-version"),
    pytest.param(UNVERSIONED, "block-storage", None, ("public",), PUBLIC, id="official-as-listed"),
    pytest.param(UNVERSIONED, "volumev2", None, ("public",), PUBLIC, id="alias-to-official"),
    pytest.param(UNVERSIONED, "volumev2", "3", ("public",), None, id="alias-of-another-version"),
    pytest.param(
        MIXED, "block-storage", None, ("internal", "public"), PUBLIC, id="type-goes-before-interface"
    ),
    pytest.param(
        MIXED,
        "volumev2",
        None,
        ("internal", "public"),
        "https://block-storage.example.int/v2",
        id="first-interface",
    ),
]


@pytest.mark.parametrize(("catalog", "service_type", "version", "interfaces", "url"), EXAMPLES)
def test_the_texts_examples(catalog, service_type, version, interfaces, url):
    wanted = Wanted(service_type, interfaces, version=version)
    if url is None:
        with pytest.raises(EndpointError):
            choose(read_catalog(catalog), wanted)
    else:
        assert choose(read_catalog(catalog), wanted).endpoint.url == url


def test_an_impossible_version_is_refused_before_any_catalog():
    with pytest.raises(EndpointError, match="version 2, not 3"):
        refuse_impossible(Wanted("volumev2", version="3"))


def test_official_type_with_a_version_takes_the_alias_of_that_version():
    assert (
        choose(read_catalog(VERSIONED), Wanted("block-storage", version="2")).endpoint.url == f"{PUBLIC}/v2"
    )


def test_alias_takes_the_highest_version_of_a_range():
    assert choose(read_catalog(VERSIONED), Wanted("volume", version="2,")).endpoint.url == f"{PUBLIC}/v3"


def test_catalog_of_identity_v2():
    catalog = [
        {
            "type": "network",
            "name": "neutron",
            "endpoints_links": [],
            "endpoints": [
                {"region": "one", "publicURL": "http://p", "internalURL": "http://i", "adminURL": "http://a"}
            ],
        }
    ]
    found = choose(read_catalog(catalog), Wanted(interfaces=("internalURL", "public"))).endpoint
    assert (found.url, found.interface, found.region) == ("http://i", "internal", "one")


NETWORK = read_catalog(
    [
        entry(
            "network",
            at("public", "http://one", region="Name of one", region_id="one"),
            at("public", "http://two", region="Name of two", region_id="two"),
            at("internal", "http://three", region="one", region_id="three"),
            name="neutron",
        )
    ]
)


@pytest.mark.parametrize(
    ("region", "url"),
    [("two", "http://two"), ("Name of two", "http://two"), ("one", "http://one"), ("three", "http://three")],
)
def test_region_by_id_then_by_name_B108(region, url):
    assert choose(NETWORK, Wanted(interfaces=("public", "internal"), region=region)).endpoint.url == url


def test_several_left_warn_and_list_them():
    choice = choose(NETWORK, Wanted())
    assert choice.endpoint.url == "http://one"
    assert "http://one" in choice.warning
    assert "http://two" in choice.warning
    assert choose(NETWORK, Wanted(region="one")).warning is None


def test_strict_refuses_several_and_lists_them():
    with pytest.raises(EndpointError, match=r"2 endpoints fit.*http://one.*http://two"):
        choose(NETWORK, Wanted(strict=True))


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (Wanted(region="nowhere"), "region nowhere.*one, two.*region_name"),
        (Wanted(interfaces=("admin",)), "no admin endpoint.*internal, public.*valid_interfaces"),
        (Wanted("compute"), "no service of type compute.*found: network"),
        (Wanted(service_name="other"), "named other"),
    ],
)
def test_errors_list_what_was_found(wanted, text):
    with pytest.raises(EndpointError, match=text):
        choose(NETWORK, wanted)


def test_service_name_is_ignored_where_the_catalog_has_none_unless_strict():
    nameless = [CatalogEndpoint("network", "public", "http://x")]
    assert choose(nameless, Wanted(service_name="neutron")).endpoint.url == "http://x"
    with pytest.raises(EndpointError):
        choose(nameless, Wanted(service_name="neutron", strict=True))


@pytest.mark.parametrize(
    ("required", "matching", "others"),
    [
        ("3.1", ["3.3", "v3.1"], ["4.1", "3", "3.0"]),
        ("2", ["2", "2.0", "v2.5"], ["1", "3"]),
        ("latest", ["1", "9.9"], []),
        (None, ["1", "9.9"], []),
        ("", ["2"], []),
        ("2,4", ["2", "2.3", "3", "4", "4.7"], ["1.9", "5"]),
        ("2.1,4.0", ["2.3", "3", "4", "4.7"], ["2", "5"]),
        ("2,", ["2", "7"], ["1"]),
        ("2,latest", ["2", "7"], ["1"]),
    ],
)
def test_version_comparison(required, matching, others):
    assert [v for v in matching + others if version_matches(required, v)] == matching


TYPES = st.sampled_from(["network", "block-storage", "volumev3", "volumev2", "compute", "no-such-type"])
CATALOGS = st.lists(
    st.builds(
        lambda kind, ends: entry(kind, *ends),
        TYPES,
        st.lists(
            st.builds(
                at,
                st.sampled_from(["public", "internal", "admin"]),
                st.sampled_from(["http://a", "http://b", "http://c"]),
                st.sampled_from(["r1", "r2"]),
            ),
            max_size=3,
        ),
    ),
    max_size=4,
    unique_by=lambda made: made["type"],
)


@settings(max_examples=300, deadline=None)
@given(
    CATALOGS,
    TYPES,
    st.sampled_from([("public",), ("internal", "public"), ("admin",)]),
    st.sampled_from([None, "r1", "r2"]),
)
def test_without_versions_the_choice_is_keystoneauths(catalog, service_type, interfaces, region):
    judge = service_catalog.ServiceCatalogV3(catalog)
    try:
        expected = judge.url_for(service_type=service_type, interface=list(interfaces), region_name=region)
    except (ksa.EndpointNotFound, ksa.EmptyCatalog, ValueError):  # ValueError: all entries are empty
        expected = None
    try:
        found = choose(read_catalog(catalog), Wanted(service_type, interfaces, region)).endpoint.url
    except EndpointError:
        found = None
    assert found == expected
