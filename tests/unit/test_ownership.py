"""Whose a Load_Balancer row is (architecture.md section 3, "Ownership")."""

import pytest

from ovnlb.desired.rows import LoadBalancerRow
from ovnlb.observed.bundle import BundleNorthbound
from ovnlb.observed.nb import observe, unclaimed
from ovnlb.observed.ownership import Ownership, classify

LB = "1b000000-0000-4000-8000-000000000001"
AMPHORA = "1b000000-0000-4000-8000-000000000002"
GONE = "1b000000-0000-4000-8000-000000000003"
KEYS = {"neutron:vip": "10.0.0.10", "enabled": "True"}
FORWARDING = {"neutron:device_owner": "port_forwarding_plugin"}


def row(name, **external_ids):
    return LoadBalancerRow(name=name, protocol="tcp", external_ids=external_ids)


@pytest.mark.parametrize(
    ("name", "external_ids", "owner"),
    [
        pytest.param(LB, KEYS, "ours", id="with-keys"),
        pytest.param(LB, {}, "ours", id="known-lb-whatever-its-keys"),
        pytest.param(LB, KEYS | {"neutron:device_owner": ""}, "ours", id="empty-mark"),
        pytest.param(GONE, KEYS, "ours", id="orphan-candidate"),
        pytest.param(GONE.upper(), KEYS, "ours", id="orphan-in-capitals"),
        pytest.param(GONE, {"neutron:vip": "10.0.0.10"}, "foreign", id="one-key-is-not-enough"),
        pytest.param(GONE, {"enabled": "True"}, "foreign", id="the-other-key-alone"),
        pytest.param("web", KEYS, "foreign", id="name-is-no-uuid"),
        pytest.param("", KEYS, "foreign", id="no-name"),
        pytest.param(f"{GONE}-tcp", KEYS, "foreign", id="longer-than-a-uuid"),
        pytest.param(GONE, FORWARDING | KEYS, "foreign", id="B085"),
        pytest.param(LB, FORWARDING, "foreign", id="B085-named-like-ours"),
        pytest.param(AMPHORA, FORWARDING, "foreign", id="B085-named-like-anothers"),
        pytest.param(AMPHORA, KEYS, "suspect", id="lb-of-another-provider"),
        pytest.param(AMPHORA, {}, "suspect", id="lb-of-another-provider-without-keys"),
        pytest.param(LB, KEYS | {"neutron:device_owner": "someone"}, "suspect", id="marked-by-another"),
        pytest.param("web", {"neutron:device_owner": "someone"}, "suspect", id="unnamed-marked-by-another"),
    ],
)
def test_classify(name, external_ids, owner):
    assert classify(row(name, **external_ids), {LB}, {AMPHORA}) is Ownership(owner)


def bundle(*rows):
    return BundleNorthbound(
        {
            "Load_Balancer": [
                {"_uuid": f"u{n}", "name": name, "external_ids": external_ids}
                for n, (name, external_ids) in enumerate(rows)
            ]
        }
    )


def test_observe_leaves_foreign_rows_out_and_keeps_suspects_apart():
    nb = bundle(
        (LB, KEYS), (LB, FORWARDING), (LB, KEYS | {"neutron:device_owner": "x"}), (GONE, KEYS), (LB, {})
    )
    state = observe(nb, LB)
    assert [one.uuid for one in state.rows] == ["u0", "u4"]
    assert [one.uuid for one in state.suspect] == ["u2"]


def test_observe_of_an_lb_of_another_provider_is_all_suspect():
    state = observe(bundle((AMPHORA, KEYS)), AMPHORA, ours={LB}, others={AMPHORA})
    assert (state.rows, [one.uuid for one in state.suspect]) == ((), ["u0"])


def test_observe_of_an_unknown_lb_needs_our_keys():
    nb = bundle((GONE, {}), (GONE, KEYS))
    assert [one.uuid for one in observe(nb, GONE, ours={LB}).rows] == ["u1"]


def test_observe_nothing():
    assert observe(bundle(), LB).rows == ()


def test_unclaimed_walks_all_but_ours():
    nb = bundle((LB, KEYS), (GONE, KEYS), ("web", {}), (AMPHORA, KEYS), (GONE, FORWARDING))
    found = [(one.uuid, owner.value) for one, owner in unclaimed(nb, {LB}, {AMPHORA})]
    assert found == [("u3", "suspect"), ("u1", "ours"), ("u4", "foreign"), ("u2", "foreign")]
