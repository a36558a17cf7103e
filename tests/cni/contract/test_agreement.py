"""Members that must agree with one another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cni.generate import near_results
from refimpl.cni.contract import VERSIONS
from refimpl.cni.contract.agreement import disagreements


def test_every_pair_that_disagrees_is_told() -> None:
    """A document may have many."""
    ips = [
        {"address": "10.1.0.2/24", "version": "6", "gateway": "fd00::1", "interface": 2},
        {"address": "fd00::2/64", "version": "4", "gateway": "10.1.0.1", "interface": 0},
    ]
    routes = [{"dst": "::/0", "gw": "10.1.0.1"}]
    value: dict[str, object] = {"interfaces": [{}, {}], "ips": ips, "routes": routes}
    assert [each.pointer for each in disagreements(value, "0.4.0")] == [
        "/ips/0/gateway",
        "/ips/0/version",
        "/ips/0/interface",
        "/ips/1/gateway",
        "/ips/1/version",
        "/routes/0/gw",
    ]


@pytest.mark.parametrize("address", ["::ffff:10.1.0.2/120", "10.1.0.2/24"])
def test_a_mapped_address_goes_with_ipv4(address: str) -> None:
    """As in the Go library."""
    value: dict[str, object] = {
        "ips": [{"address": address, "version": "4", "gateway": "10.1.0.1"}]
    }
    assert disagreements(value, "0.4.0") == []


@given(near_results(), st.sampled_from(VERSIONS))
def test_no_value_breaks_it(value: dict[str, object], version: str) -> None:
    """What has a wrong form by itself is passed over."""
    for problem in disagreements(value, version):
        assert problem.pointer.startswith(("/ip", "/routes"))
