"""A listing of floating IPs that is older than what the Northbound database notes."""

from collections.abc import Mapping

import pytest

from ovnlb.reconciler.resync import ListedFips


class _Neutron:
    """Answers the listing of a pass and, anew, what is true now."""

    def __init__(self, listed: Mapping[str, str], now: Mapping[str, str]) -> None:
        self.listed, self.now, self.asked = listed, now, []

    def floating_ips(self, port_ids):
        return {port: self.listed[port] for port in port_ids if port in self.listed}

    def floating_ip_now(self, port_id):
        self.asked.append(port_id)
        return self.now.get(port_id)


@pytest.mark.parametrize(
    ("listed", "noted", "now", "expected"),
    [
        pytest.param("1.1.1.1", "1.1.1.1", None, "1.1.1.1", id="agreed"),
        pytest.param(None, "1.1.1.1", "1.1.1.1", "1.1.1.1", id="new-after-the-listing"),
        pytest.param("1.1.1.1", None, None, None, id="gone-after-the-listing"),
        pytest.param("1.1.1.1", None, "1.1.1.1", "1.1.1.1", id="northbound-is-wrong"),
    ],
)
def test_a_doubted_listing_is_asked_again(listed, noted, now, expected):
    """Neutron decides, but as it is now."""
    neutron = _Neutron({"p": listed} if listed else {}, {"p": now} if now else {})
    fips = ListedFips(neutron, {"p": noted}.get)
    assert fips.get("p") == expected
    assert neutron.asked == ([] if listed == noted else ["p"])
