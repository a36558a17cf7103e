"""Addresses and networks, as strict as `ipaddress`, which is the judge here."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cni.format import addresses


@given(st.ip_addresses(), st.integers(0, 128))
def test_any_network_is_read_as_the_library_reads_it(address, prefix) -> None:
    """Value, prefix, first and last address, and the text of all."""
    prefix = min(prefix, address.max_prefixlen)
    given_text = f"{address}/{prefix}"
    family, value, length = addresses.cidr(given_text)
    network = ipaddress.ip_network(given_text, strict=False)
    assert (family, value, length) == (address.version, int(address), prefix)
    assert addresses.first(family, value, length) == int(network.network_address)
    assert addresses.last(family, value, length) == int(network.broadcast_address)
    assert ipaddress.ip_address(addresses.text(family, value)) == address
    assert ipaddress.ip_network(addresses.network_of(given_text)) == network
    assert addresses.same(given_text, f"{addresses.text(family, value)}/{prefix}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "1.2.3.4 ",
        "::1%lo",
        "fe80",
        "x",
        "1.2.3.4\0",
        "１.2.3.4",
        None,
        5,
        ["1.2.3.4"],
        "1.2.3.4/24",
    ],
)
def test_what_is_no_address_is_refused(text) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="is no IP address"):
        addresses.address(text)


@pytest.mark.parametrize(
    "text",
    [
        "1.2.3.4",
        "1.2.3.4/",
        "1.2.3.4/33",
        "::1/129",
        "1.2.3.4/x",
        "1.2.3.4/024",
        "/24",
        "1.2.3.4/-1",
        "1.2.3.4/24/1",
        "1.2.3.4/²",
        None,
        5,
    ],
)
def test_what_has_no_prefix_is_refused(text) -> None:
    """Nor is a mask."""
    with pytest.raises(ValueError, match="is no "):
        addresses.cidr(text)


def test_a_network_has_no_host_bits() -> None:
    """The network that was meant is named."""
    assert addresses.network("10.1.0.0/24") == (4, 0x0A010000, 24)
    with pytest.raises(ValueError, match=r"10\.1\.0\.0/24"):
        addresses.network("10.1.0.5/24")
