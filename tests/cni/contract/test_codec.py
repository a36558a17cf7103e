"""Results from and to JSON values."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cni.generate import documents, json_values, near_results, results
from refimpl.cni.contract import (
    LATEST,
    VERSIONS,
    Address,
    ConversionError,
    Dns,
    Interface,
    Result,
    Route,
    ShapeError,
    decode,
    encode,
    problems,
)

# Of each version.
FEW = settings(max_examples=40)


@pytest.mark.parametrize("version", VERSIONS)
@FEW
@given(data=st.data())
def test_a_document_comes_back_as_it_was(version: str, data: st.DataObject) -> None:
    """In every version, with unknown members on every level, strictly and leniently read."""
    document = data.draw(documents(version))
    assert encode(decode(document, version)) == document
    assert encode(decode(document, version, lenient=True)) == document


@pytest.mark.parametrize("version", VERSIONS)
@FEW
@given(data=st.data())
def test_a_result_comes_back_as_it_was(version: str, data: st.DataObject) -> None:
    """And what is written has no problem."""
    result = data.draw(results(version))
    assert problems(encode(result), version) == []
    assert decode(encode(result), version) == result


def test_every_member_is_read() -> None:
    """Each one into the attribute of its name."""
    interface = {"name": "eth0", "mac": "0a:58:0a:01:00:05", "mtu": 1500, "sandbox": "/run/n"}
    interface |= {"socketPath": "/s", "pciID": "0000:3b:02.1", "x": 1}
    route = {"dst": "::/0", "gw": "fd00::1", "mtu": 1, "advmss": 2, "priority": 3, "table": 0}
    document = {
        "cniVersion": LATEST,
        "interfaces": [interface],
        "ips": [{"address": "fd00::2/64", "gateway": "fd00::1", "interface": 0, "y": 2}],
        "routes": [route | {"scope": 0}],
        "dns": {"nameservers": ["::1"], "domain": "a", "search": ["b"], "options": ["c"]},
        "z": 3,
    }
    result = decode(document, LATEST)
    mac = "0a:58:0a:01:00:05"
    assert result == Result(
        LATEST,
        (Interface("eth0", mac, 1500, "/run/n", "/s", "0000:3b:02.1", {"x": 1}),),
        (Address("fd00::2/64", "fd00::1", 0, {"y": 2}),),
        (Route("::/0", "fd00::1", 1, 2, 3, 0, 0),),
        Dns(("::1",), "a", ("b",), ("c",)),
        {"z": 3},
    )
    assert encode(result) == document


def test_the_two_families_of_the_first_versions_become_lists_and_back() -> None:
    """IPv4 first, each route with its family."""
    document = {
        "cniVersion": "0.2.0",
        "ip6": {"ip": "fd00::2/64", "routes": [{"dst": "::/0"}]},
        "ip4": {"ip": "10.1.0.2/24", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
    }
    result = decode(document, "0.2.0")
    assert result.ips == (Address("10.1.0.2/24", "10.1.0.1"), Address("fd00::2/64"))
    assert result.routes == (Route("0.0.0.0/0"), Route("::/0"))
    assert encode(result) == document


def test_what_is_empty_is_left_out() -> None:
    """Empty arrays, text and objects say nothing; table 0 and scope 0 do."""
    document = {
        "cniVersion": LATEST,
        "interfaces": [{"name": "eth0", "mac": "", "mtu": 0, "sandbox": ""}],
        "ips": [],
        "routes": [{"dst": "::/0", "priority": 0, "table": 0, "scope": 0}],
        "dns": {"search": []},
    }
    assert encode(decode(document, LATEST)) == {
        "cniVersion": LATEST,
        "interfaces": [{"name": "eth0"}],
        "routes": [{"dst": "::/0", "table": 0, "scope": 0}],
    }


def test_a_wrong_document_is_refused_with_all_its_problems() -> None:
    """Not only with the first."""
    document = {"cniVersion": "1.0.0", "ips": [{"address": "x"}, {"address": "y"}]}
    with pytest.raises(ShapeError, match=r"not a CNI 1\.0\.0 result: /ips/0/address") as raised:
        decode(document, "1.0.0")
    assert raised.value.problems == tuple(problems(document, "1.0.0"))


def test_a_lenient_reading_keeps_what_it_can() -> None:
    """Right types are read, the others stay as they came; null is nothing."""
    document = {
        "interfaces": ["eth0", {"name": "eth1", "mtu": "1500", "sandbox": None}],
        "ips": [None, {"address": "10.1.0.2", "interface": 7, "version": "4"}],
        "routes": None,
        "dns": {"search": ["a", 1], "domain": 5},
        "ip4": [],
    }
    result = decode(document, "1.0.0", lenient=True)
    assert result == Result(
        "1.0.0",
        # The first one is a placeholder: indexes count it.
        (Interface(""), Interface("eth1", extra={"mtu": "1500"})),
        (Address("10.1.0.2", "", 7, {"version": "4"}),),
        (),
        Dns(search=("a",), extra={"domain": 5}),
        {"ip4": []},
    )


def test_a_lenient_reading_is_one_of_the_version_asked_for() -> None:
    """Whatever the document says, or leaves out; what was read goes out in that version."""
    for document in ({}, {"cniVersion": "0.4.0"}, {"cniVersion": Decimal("1.0")}):
        assert encode(decode(document, "1.0.0", lenient=True)) == {"cniVersion": "1.0.0"}


def test_a_family_that_is_not_the_address_s_is_kept_by_a_lenient_reading() -> None:
    """A missing one is added."""
    ips = [{"address": "10.1.0.2/24", "version": "6"}, {"address": "fd00::2/64"}]
    written = encode(decode({"ips": ips}, "0.4.0", lenient=True))
    expected = [
        {"version": "6", "address": "10.1.0.2/24"},
        {"version": "6", "address": "fd00::2/64"},
    ]
    assert written["ips"] == expected


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_what_is_no_object_is_refused_leniently_too(value: object) -> None:
    """There is nothing to keep."""
    with pytest.raises(ShapeError):
        decode(value, LATEST, lenient=True)


@pytest.mark.parametrize("lenient", [True, False])
def test_an_unknown_version_is_refused(lenient: bool) -> None:
    """No shape is known for it."""
    with pytest.raises(ShapeError, match=r"9\.9\.9"):
        decode({}, "9.9.9", lenient=lenient)


def test_an_abbreviated_result_is_read_as_such() -> None:
    """It need not tell its version."""
    assert decode({"ips": []}, LATEST, ipam=True) == Result(LATEST)
    with pytest.raises(ShapeError, match="cniVersion"):
        decode({"ips": []}, LATEST)


@given(json_values() | near_results(), st.sampled_from([*VERSIONS, "", "9"]), st.booleans())
def test_no_value_breaks_the_reader(value: object, version: str, lenient: bool) -> None:
    """It gives a result, or refuses in one way."""
    try:
        result = decode(value, version, lenient=lenient)
    except ShapeError:
        assert problems(value, version)
    else:
        assert result.cni_version == (version or "0.1.0")


@given(near_results(), st.sampled_from(VERSIONS[2:]))
def test_what_was_read_leniently_can_be_written_and_read_again(
    value: dict[str, object], version: str
) -> None:
    """From 0.3.0 on every result has a place for everything."""
    result = decode(value, version, lenient=True)
    assert decode(encode(result), version, lenient=True) == result


@pytest.mark.parametrize(
    ("result", "what"),
    [
        (Result("9.9.9"), "no such version"),
        (Result("0.2.0", (Interface("eth0"),)), "interfaces"),
        (Result("0.2.0", (), (Address("10.0.0.1/8"), Address("10.0.0.2/8"))), "a second IPv4"),
        (Result("0.2.0", (), (Address("10.0.0.1/8", interface=0),)), "index"),
        (Result("0.2.0", (), (Address("x"),)), "the address 'x'"),
        (Result("0.2.0", (), (Address("10.0.0.1/8"),), (Route("::/0"),)), "the route to ::/0"),
    ],
)
def test_what_a_version_has_no_place_for_is_not_written(result: Result, what: str) -> None:
    """Silence would lose it."""
    with pytest.raises(ConversionError, match=what):
        encode(result)


def test_what_a_version_does_not_define_is_written_where_there_is_a_place() -> None:
    """A fake plugin may want that breach; the check finds it."""
    result = Result("0.4.0", (Interface("eth0", mtu=1500),), (), (Route("::/0", mtu=1400),))
    pointers = [problem.pointer for problem in problems(encode(result), "0.4.0")]
    assert pointers == ["/interfaces/0/mtu", "/routes/0/mtu"]
