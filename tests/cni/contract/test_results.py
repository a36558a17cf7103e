"""Results as plain data."""

from __future__ import annotations

from hypothesis import given

from conformance.cni.generate import results
from refimpl.cni.contract import (
    LATEST,
    Address,
    Dns,
    Interface,
    Result,
    Route,
    abbreviated,
    encode,
    normalised,
    problems,
    stripped,
)


@given(results(LATEST))
def test_an_abbreviated_result_is_one_of_an_ipam_plugin(result: Result) -> None:
    """No interfaces, no index, all the rest."""
    short = abbreviated(result)
    assert problems(encode(short), LATEST, ipam=True) == []
    assert [each.address for each in short.ips] == [each.address for each in result.ips]
    assert (short.routes, short.dns) == (result.routes, result.dns)


@given(results(LATEST))
def test_a_stripped_result_has_no_unknown_members(result: Result) -> None:
    """As after a plugin with types of its own; what is known stays."""
    bare = stripped(result)
    parts = (bare, bare.dns, *bare.interfaces, *bare.ips, *bare.routes)
    assert not any(part.extra for part in parts)
    assert stripped(bare) == bare
    assert len(bare.interfaces) == len(result.interfaces)


def test_two_spellings_of_one_network_are_equal_when_normalised() -> None:
    """A chained plugin that prints addresses anew has changed nothing."""
    first = Result(LATEST, (), (Address("FD00:0::1/64", "FD00::2"),), (Route("0::/0", "FD00::2"),))
    second = Result(LATEST, (), (Address("fd00::1/64", "fd00::2"),), (Route("::/0", "fd00::2"),))
    assert first != second
    assert normalised(first) == normalised(second)


def test_dns_is_false_when_it_says_nothing() -> None:
    """An unknown member says something."""
    assert not Dns()
    assert Dns(domain="a")
    assert Dns(extra={"x": 1})


def test_unknown_members_count_in_a_comparison() -> None:
    """A plugin that drops them has changed the result."""
    assert Interface("eth0", extra={"x": 1}) != Interface("eth0")
