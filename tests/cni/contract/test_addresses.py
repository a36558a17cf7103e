"""Addresses as results write them."""

from __future__ import annotations

from ipaddress import ip_interface

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.cni.contract import addresses


@pytest.mark.parametrize(
    "text", ["10.1.0.5/16", "10.1.0.0/32", "fd00::5/64", "::ffff:10.0.0.1/120"]
)
def test_a_cidr_is_an_address_with_a_prefix(text: str) -> None:
    """Host bits may be set."""
    assert addresses.is_cidr(text)
    assert not addresses.is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "10.1.0.5",
        "10.1.0.5/",
        "10.1.0.5/33",
        "10.1.0.5/024",
        "10.1.0.5/255.255.0.0",
        "10.1.0.5/-1",
        "10.1.0.5/16/1",
        "10.1.0.05/16",
        "10.1/16",
        "fe80::1%eth0/64",
        "fd00::/129",
        " 10.1.0.5/16",
        "10.1.0.5/16\n",
        "10.1.0.5/١",
    ],
)
def test_other_text_is_no_cidr(text: str) -> None:
    """Netmasks, zones, short forms and leading zeros mean different things to different readers."""
    assert not addresses.is_cidr(text)
    assert not addresses.is_network(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("10.1.0.0/16", True), ("10.1.0.5/16", False), ("::/0", True), ("fd00::1/127", False)],
)
def test_a_network_has_no_host_bits(text: str, is_one: bool) -> None:
    """The destination of a route is a network."""
    assert addresses.is_network(text) == is_one


@pytest.mark.parametrize("text", ["0a:58:0a:01:00:05", "0A-58-0A-01-00-05", "0a58.0a01.0005"])
def test_hardware_addresses_have_three_spellings(text: str) -> None:
    """Colons, hyphens, dots; Infiniband and tunnels have other lengths."""
    assert addresses.is_mac(text)
    assert addresses.is_mac("00:11:" * 9 + "00:11")


@pytest.mark.parametrize("text", ["0a", "0a:58-0a", "0a:5", "0a:58:", "zz:58", "0a580a010005"])
def test_other_text_is_no_hardware_address(text: str) -> None:
    """One separator, whole octets."""
    assert not addresses.is_mac(text)


def test_a_resolver_may_have_a_zone_and_nothing_else_may() -> None:
    """A link-local name server is of no use without one."""
    assert addresses.is_resolver("fe80::1%eth0")
    assert addresses.is_resolver("10.0.0.2")
    assert not addresses.is_resolver("10.0.0.2%eth0")
    assert not addresses.is_resolver("fe80::1%")
    assert not addresses.is_address("fe80::1%eth0")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10.0.0.1", 4),
        ("10.0.0.1/8", 4),
        ("fd00::1", 6),
        ("::ffff:10.0.0.1", 4),
        ("::ffff:10.0.0.1/120", 4),
        ("10.0.0.1/99", None),
        ("ten", None),
    ],
)
def test_a_mapped_address_counts_as_ipv4(text: str, number: int | None) -> None:
    """As every plugin in Go sees it."""
    assert addresses.family(text) == number


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("FD00:0::1/64", "fd00::1/64"),
        ("::ffff:10.0.0.1/120", "10.0.0.1/24"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("nonsense", "nonsense"),
        ("10.0.0.1/99", "10.0.0.1/99"),
    ],
)
def test_one_address_has_one_normal_spelling(text: str, same: str) -> None:
    """What a plugin in Go would print; text that is no address stays as it is."""
    assert addresses.normal(text) == same


def test_a_mask_over_the_mapping_prefix_stays_in_ipv6() -> None:
    """It cannot be told as IPv4."""
    assert addresses.normal("::ffff:10.0.0.1/64").endswith("/64")
    assert ip_interface(addresses.normal("::ffff:10.0.0.1/64")) == ip_interface(
        "::ffff:10.0.0.1/64"
    )


@given(st.ip_addresses())
def test_normal_text_stays_as_it_is(address: object) -> None:
    """The spelling of Python's library is the normal one, and doing it twice changes nothing."""
    once = addresses.normal(f"{address}/32")
    assert addresses.is_cidr(once)
    assert addresses.normal(once) == once


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    """What has a family is an address or a CIDR, and the other way round."""
    known = addresses.is_address(text) or addresses.is_cidr(text)
    assert (addresses.family(text) is not None) == known
