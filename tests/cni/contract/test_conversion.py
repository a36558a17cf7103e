"""Results from one version to another."""

from __future__ import annotations

import itertools

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cni.generate import results
from refimpl.cni.contract import (
    LATEST,
    VERSIONS,
    Address,
    ConversionError,
    Dns,
    Interface,
    Result,
    Route,
    convert,
    decode,
    encode,
    lossless,
    problems,
)
from refimpl.cni.contract.addresses import family

PAIRS = list(itertools.product(VERSIONS, VERSIONS))
FLAT, LISTS = VERSIONS[:2], VERSIONS[2:]

FULL = Result(
    LATEST,
    (
        Interface("br0", "0a:58:0a:01:00:01", 1500, extra={"i": 1}),
        Interface("eth0", mtu=1400, sandbox="/run/n", socket_path="/s", pci_id="p"),
    ),
    (
        Address("fd00::2/64", "fd00::1", 1),
        Address("10.1.0.2/24", "10.1.0.1", 1, {"a": 1}),
        Address("10.1.0.3/24", "", 1),
    ),
    (
        Route("::/0", "fd00::1", 1400, 1360, 5, 7, 0, {"r": 1}),
        Route("0.0.0.0/0", scope=253),
        Route("10.2.0.0/16", "10.1.0.1", table=0),
    ),
    Dns(("10.1.0.1",), extra={"d": 1}),
    {"t": 1},
)

# Of each version.
FEW = settings(max_examples=40)


@pytest.mark.parametrize("source", VERSIONS)
@FEW
@given(data=st.data())
def test_a_lossless_way_gives_the_result_back(source: str, data: st.DataObject) -> None:
    """Also with unknown members on every level."""
    result = data.draw(results(source))
    for target in VERSIONS:
        if lossless(source, target):
            assert convert(convert(result, target), source) == result


@pytest.mark.parametrize("source", VERSIONS)
@FEW
@given(data=st.data())
def test_a_converted_result_is_one_of_its_version(source: str, data: st.DataObject) -> None:
    """With no problem, and the same when it is written and read."""
    result = data.draw(results(source))
    for target in VERSIONS if result.ips else LISTS:
        converted = convert(result, target)
        assert problems(encode(converted), target) == []
        assert decode(encode(converted), target) == converted


@pytest.mark.parametrize("source", VERSIONS)
@FEW
@given(data=st.data())
def test_a_second_way_there_and_back_loses_nothing_more(source: str, data: st.DataObject) -> None:
    """What is lost, is lost the first time."""
    result = data.draw(results(source))
    for target in VERSIONS if result.ips else LISTS:
        once = convert(convert(result, target), source)
        assert convert(convert(once, target), source) == once


def test_lossless_are_the_ways_up_and_those_among_equals() -> None:
    """The whole table, by the size of what each version can say."""
    size = dict(zip(VERSIONS, [0, 0, 1, 1, 1, 1, 2], strict=True))
    assert {pair for pair in PAIRS if lossless(*pair)} == {
        (source, target) for source, target in PAIRS if size[source] <= size[target]
    }


@pytest.mark.parametrize("target", FLAT)
@pytest.mark.parametrize("source", LISTS)
def test_to_the_first_versions_go_one_address_of_each_family_and_their_routes(
    source: str, target: str
) -> None:
    """IPv4 first, no interfaces, no index, no attributes of routes; unknown members stay."""
    result = convert(convert(FULL, source), target, keep_route_attributes=True)
    assert result == Result(
        target,
        (),
        (Address("10.1.0.2/24", "10.1.0.1", None, {"a": 1}), Address("fd00::2/64", "fd00::1")),
        (
            Route("0.0.0.0/0"),
            Route("10.2.0.0/16", "10.1.0.1"),
            Route("::/0", "fd00::1", extra={"r": 1}),
        ),
        Dns(("10.1.0.1",), extra={"d": 1}),
        {"t": 1},
    )


def test_routes_of_a_family_without_an_address_are_lost() -> None:
    """The first versions have no place for them."""
    result = attrs.evolve(FULL, ips=FULL.ips[:1])
    assert convert(result, "0.2.0").routes == (Route("::/0", "fd00::1", extra={"r": 1}),)


@pytest.mark.parametrize("target", FLAT)
@pytest.mark.parametrize("ips", [(), (Address("nonsense"),)])
def test_without_an_address_there_is_no_way_to_the_first_versions(
    target: str, ips: tuple[Address, ...]
) -> None:
    """They must have one."""
    with pytest.raises(ConversionError, match="no valid address"):
        convert(attrs.evolve(FULL, ips=ips), target)


@pytest.mark.parametrize("target", LISTS[:-1])
def test_below_1_1_0_the_attributes_are_lost(target: str) -> None:
    """Of interfaces and of routes."""
    result = convert(FULL, target)
    assert result.interfaces == (
        Interface("br0", "0a:58:0a:01:00:01", extra={"i": 1}),
        Interface("eth0", sandbox="/run/n"),
    )
    assert result.routes == (
        Route("::/0", "fd00::1", extra={"r": 1}),
        Route("0.0.0.0/0"),
        Route("10.2.0.0/16", "10.1.0.1"),
    )
    assert (result.ips, result.dns, result.extra) == (FULL.ips, FULL.dns, FULL.extra)


@pytest.mark.parametrize("target", LISTS[:-1])
def test_the_go_library_keeps_some_attributes(target: str) -> None:
    """Those of routes everywhere, those of interfaces in 1.0.0 only."""
    result = convert(FULL, target, keep_route_attributes=True, keep_interface_attributes=True)
    assert result.routes == FULL.routes
    assert (result.interfaces == FULL.interfaces) == (target == "1.0.0")


@pytest.mark.parametrize("source", FLAT)
@pytest.mark.parametrize("target", LISTS)
def test_from_the_first_versions_ipv4_goes_before_ipv6(source: str, target: str) -> None:
    """Whatever the order of a result that was not read from a document."""
    ips = (Address("fd00::2/64"), Address("10.1.0.2/24", "10.1.0.1"))
    routes = (Route("::/0"), Route("0.0.0.0/0"))
    result = convert(Result(source, (), ips, routes), target)
    assert result == Result(target, (), ips[::-1], routes[::-1])


def test_a_mapped_address_becomes_ipv4() -> None:
    """The family of an address is read from it on the way from 1.x."""
    result = convert(Result(LATEST, (), (Address("::ffff:10.1.0.2/120"),)), "0.4.0")
    assert encode(result)["ips"] == [{"version": "4", "address": "::ffff:10.1.0.2/120"}]
    assert list(encode(convert(result, "0.2.0"))) == ["cniVersion", "ip4"]


@given(results(LATEST, unknown=False).filter(lambda result: result.ips))
def test_the_first_address_of_a_family_is_the_one_that_stays(result: Result) -> None:
    """In the order of the result."""
    for address in convert(result, "0.1.0").ips:
        number = family(address.address)
        like = [each.address for each in result.ips if family(each.address) == number]
        assert address.address == like[0]


def test_no_version_is_0_1_0() -> None:
    """As for configurations."""
    assert convert(FULL, "") == convert(FULL, "0.1.0")


@pytest.mark.parametrize("version", [*VERSIONS, "9.9.9"])
def test_the_same_version_is_the_same_result(version: str) -> None:
    """Even what does not belong there stays, and the version need not be known."""
    result = attrs.evolve(FULL, cni_version=version)
    assert convert(result, version) is result


@pytest.mark.parametrize(
    ("source", "target"), [("9.9.9", "1.0.0"), ("1.0.0", "1.0"), ("", "1.0.0")]
)
def test_an_unknown_version_is_refused(source: str, target: str) -> None:
    """There is no way that is known."""
    with pytest.raises(ConversionError, match="is no version of results"):
        convert(attrs.evolve(FULL, cni_version=source), target)


def test_known_members_of_a_wrong_type_do_not_cross() -> None:
    """A lenient reading leaves them in `extra`; the next version must not inherit them."""
    document = {
        "interfaces": [{"name": "eth0", "mtu": "1500", "x": 1}],
        "ips": [{"address": "10.1.0.2/24", "version": 4}],
        "ip4": {},
    }
    result = convert(decode(document, "0.4.0", lenient=True), LATEST)
    assert problems(encode(result), LATEST) == []
    assert result.interfaces == (Interface("eth0", extra={"x": 1}),)
