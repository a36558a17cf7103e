"""What is wrong with a document."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cni.generate import documents, json_values, near_results
from refimpl.cni.contract import (
    LATEST,
    VERSIONS,
    Kind,
    Problem,
    ShapeError,
    error_problems,
    problems,
    supported_versions,
    version_problems,
)

# Of each version.
FEW = settings(max_examples=40)


def result(version: str = LATEST, **members: object) -> dict[str, object]:
    return {"cniVersion": version, **members}


def found(value: object, version: str = LATEST, **how: bool) -> list[tuple[str, str]]:
    return [(each.pointer, each.kind.value) for each in problems(value, version, **how)]


@pytest.mark.parametrize("version", VERSIONS)
@FEW
@given(data=st.data())
def test_generated_results_have_no_problem(version: str, data: st.DataObject) -> None:
    """In every version, whole and abbreviated."""
    assert problems(data.draw(documents(version)), version) == []
    assert problems(data.draw(documents(version, ipam=True)), version, ipam=True) == []


@pytest.mark.parametrize("value", [None, 1, "x", [], [{}]])
def test_a_result_is_an_object(value: object) -> None:
    """The pointer is that of the whole document."""
    assert found(value) == [("", "type")]


@pytest.mark.parametrize(
    ("members", "pointer", "kind"),
    [
        ({"cniVersion": "1.0.0"}, "/cniVersion", "version"),
        ({"cniVersion": ""}, "/cniVersion", "version"),
        ({"cniVersion": 1}, "/cniVersion", "type"),
        ({"cniVersion": None}, "/cniVersion", "type"),
        ({"ips": None}, "/ips", "null"),
        ({"dns": None}, "/dns", "null"),
        ({"ips": {}}, "/ips", "type"),
        ({"dns": []}, "/dns", "type"),
        ({"ips": [None]}, "/ips/0", "type"),
        ({"ips": ["10.1.0.2/24"]}, "/ips/0", "type"),
        ({"ips": [{}]}, "/ips/0/address", "missing"),
        ({"routes": [{}]}, "/routes/0/dst", "missing"),
        ({"interfaces": [{}]}, "/interfaces/0/name", "missing"),
        ({"interfaces": [{"name": ""}]}, "/interfaces/0/name", "value"),
        ({"interfaces": [{"name": None}]}, "/interfaces/0/name", "type"),
        ({"IPs": []}, "/IPs", "spelling"),
        ({"ip4": {"ip": "10.1.0.2/24"}}, "/ip4", "foreign"),
        ({"code": 7}, "/code", "foreign"),
        ({"msg": "no"}, "/msg", "foreign"),
        ({"dns": {"nameservers": ["dns.example"]}}, "/dns/nameservers/0", "format"),
        ({"dns": {"search": [1]}}, "/dns/search/0", "type"),
        ({"dns": {"domain": 1}}, "/dns/domain", "type"),
        ({"dns": {"servers": [], "Options": []}}, "/dns/Options", "spelling"),
    ],
)
def test_a_wrong_member_of_a_result_is_told(
    members: dict[str, object], pointer: str, kind: str
) -> None:
    """One breach, one problem, at its place."""
    assert found(result() | members) == [(pointer, kind)]


@pytest.mark.parametrize(
    ("members", "name", "kind"),
    [
        ({"mac": "xx"}, "mac", "format"),
        ({"mac": 5}, "mac", "type"),
        ({"mtu": "1500"}, "mtu", "type"),
        ({"mtu": Decimal("1500.0")}, "mtu", "type"),
        ({"mtu": 1500.0}, "mtu", "type"),
        ({"mtu": True}, "mtu", "type"),
        ({"mtu": -1}, "mtu", "value"),
        ({"mtu": 2**32}, "mtu", "value"),
        ({"sandbox": None}, "sandbox", "null"),
        ({"socketPath": "eth0.sock"}, "socketPath", "format"),
        ({"pciID": 1}, "pciID", "type"),
        ({"pciId": "x"}, "pciId", "spelling"),
    ],
)
def test_a_wrong_member_of_an_interface_is_told(
    members: dict[str, object], name: str, kind: str
) -> None:
    """One breach, one problem, at its place."""
    value = result(interfaces=[{"name": "eth0"} | members])
    assert found(value) == [(f"/interfaces/0/{name}", kind)]


@pytest.mark.parametrize(
    ("members", "name", "kind"),
    [
        ({"address": "10.1.0.2"}, "address", "format"),
        ({"address": ""}, "address", "format"),
        ({"address": 5}, "address", "type"),
        ({"gateway": "10.1.0.1/24"}, "gateway", "format"),
        ({"gateway": ""}, "gateway", "format"),
        ({"gateway": None}, "gateway", "null"),
        ({"gateway": "fd00::1"}, "gateway", "family"),
        ({"interface": 1}, "interface", "index"),
        ({"interface": -1}, "interface", "index"),
        ({"interface": "0"}, "interface", "type"),
        ({"interface": Decimal("0.0")}, "interface", "type"),
        ({"interface": True}, "interface", "type"),
        ({"version": "4"}, "version", "foreign"),
        ({"ip": "10.1.0.2/24"}, "ip", "foreign"),
        ({"routes": []}, "routes", "foreign"),
    ],
)
def test_a_wrong_member_of_an_address_is_told(
    members: dict[str, object], name: str, kind: str
) -> None:
    """One breach, one problem, at its place."""
    ips = [{"address": "10.1.0.2/24", "interface": 0} | members]
    value = result(interfaces=[{"name": "eth0"}], ips=ips)
    assert found(value) == [(f"/ips/0/{name}", kind)]


@pytest.mark.parametrize(
    ("members", "name", "kind"),
    [
        ({"dst": "10.1.0.0"}, "dst", "format"),
        ({"dst": "default"}, "dst", "format"),
        ({"dst": "10.1.0.5/16"}, "dst", "normal"),
        ({"gw": "10.1.0.1/16"}, "gw", "format"),
        ({"gw": "fd00::1"}, "gw", "family"),
        ({"mtu": "1500"}, "mtu", "type"),
        ({"advmss": -1}, "advmss", "value"),
        ({"priority": Decimal("1.5")}, "priority", "type"),
        ({"table": 2**32}, "table", "value"),
        ({"scope": 256}, "scope", "value"),
        ({"scope": "link"}, "scope", "type"),
        ({"GW": "10.1.0.1"}, "GW", "spelling"),
    ],
)
def test_a_wrong_member_of_a_route_is_told(
    members: dict[str, object], name: str, kind: str
) -> None:
    """One breach, one problem, at its place."""
    value = result(routes=[{"dst": "10.1.0.0/16"} | members])
    assert found(value) == [(f"/routes/0/{name}", kind)]


@pytest.mark.parametrize(
    ("members", "pointer", "kind"),
    [
        ({"ip4": {}}, "/ip4/ip", "missing"),
        ({"ip4": None}, "/ip4", "null"),
        ({"ip4": {"ip": "10.1.0.2"}}, "/ip4/ip", "format"),
        ({"ip4": {"ip": "fd00::2/64"}}, "/ip4/ip", "family"),
        ({"ip6": {"ip": "10.1.0.2/24"}}, "/ip6/ip", "family"),
        ({"ip6": {"ip": "::ffff:10.1.0.2/120"}}, "/ip6/ip", "family"),
        ({"ip6": {"ip": "fd00::2/64", "gateway": "10.1.0.1"}}, "/ip6/gateway", "family"),
        (
            {"ip4": {"ip": "10.1.0.2/24", "routes": [{"dst": "::/0"}]}},
            "/ip4/routes/0/dst",
            "family",
        ),
        ({"ip4": {"ip": "10.1.0.2/24", "version": "4"}}, "/ip4/version", "foreign"),
        ({"interfaces": []}, "/interfaces", "foreign"),
        ({"ips": None}, "/ips", "foreign"),
        ({"routes": []}, "/routes", "foreign"),
    ],
)
@pytest.mark.parametrize("version", ["0.1.0", "0.2.0"])
def test_the_first_versions_have_one_object_for_each_family(
    version: str, members: dict[str, object], pointer: str, kind: str
) -> None:
    """Lists came with 0.3.0."""
    assert found(result(version, **members), version) == [(pointer, kind)]


@pytest.mark.parametrize(
    ("named", "kind"), [(None, "type"), (4, "type"), ("IPv4", "value"), ("6", "family")]
)
@pytest.mark.parametrize("version", ["0.3.0", "0.3.1", "0.4.0"])
def test_addresses_told_their_version_until_1_0_0(version: str, named: object, kind: str) -> None:
    """A string, and the one that fits the address."""
    value = result(version, ips=[{"version": named, "address": "10.1.0.2/24"}])
    assert found(value, version) == [("/ips/0/version", kind)]
    missing = result(version, ips=[{"address": "10.1.0.2/24"}])
    assert found(missing, version) == [("/ips/0/version", "missing")]


@pytest.mark.parametrize("version", VERSIONS[2:-1])
def test_what_1_1_0_added_is_foreign_before(version: str) -> None:
    """Conversions of the Go library let the attributes of routes through."""
    route = {"dst": "::/0", "mtu": 1, "advmss": 1, "priority": 1, "table": 1, "scope": 0}
    interface = {"name": "eth0", "mtu": 1500, "socketPath": "/s", "pciID": "x"}
    value = result(version, interfaces=[interface], routes=[route])
    breaches = found(value, version)
    assert {kind for _, kind in breaches} == {"foreign"}
    assert len(breaches) == 8
    assert found(result(interfaces=[interface], routes=[route])) == []


def test_an_ipam_result_has_no_interfaces_and_needs_no_version() -> None:
    """Nor an index into them; a version that is said must be right."""
    ips = [{"address": "10.1.0.2/24", "interface": 0}]
    value = {"interfaces": [{"name": "eth0"}], "ips": ips}
    breaches = found(value, ipam=True)
    assert breaches == [("/interfaces", "foreign"), ("/ips/0/interface", "foreign")]
    assert found({"ips": []}, ipam=True) == []
    assert found(result("1.0.0"), ipam=True) == [("/cniVersion", "version")]


def test_a_result_without_version_is_one_of_0_1_0_only() -> None:
    """An absent version always meant the first one."""
    assert found({}, "0.1.0") == []
    assert found({}, "") == []
    assert found({}, "0.2.0") == [("/cniVersion", "missing")]


def test_members_that_no_version_knows_are_no_problem() -> None:
    """Not even null, on any level."""
    inner = {"x": None, "acme.example/y": [1]}
    value = result(interfaces=[{"name": "eth0"} | inner], dns=inner, **inner)
    assert found(value) == []


def test_an_index_is_not_judged_where_the_interfaces_are_unreadable() -> None:
    """One breach, not two."""
    ips = [{"address": "10.1.0.2/24", "interface": 0}]
    assert found(result(interfaces={}, ips=ips)) == [("/interfaces", "type")]
    assert found(result(ips=ips)) == [("/ips/0/interface", "index")]


def test_an_unknown_version_is_the_only_problem() -> None:
    """Nothing can be said about its shape."""
    assert found({}, "9.9.9") == [("/cniVersion", "version")]
    assert found({}, "1.0") == [("/cniVersion", "version")]


def test_a_problem_says_what_is_wanted_and_what_is_there() -> None:
    """Cases show these sentences as they are."""
    value = result("1.0.0", ips=[{"address": 5, "version": "4"}], code=7)
    assert [str(problem) for problem in problems(value, "1.0.0")] == [
        '/ips/0/address: wanted an IP with prefix such as "10.1.0.5/16", got the integer 5',
        "/ips/0/version: wanted nothing here at 1.0.0, got 'version' of an address, defined from "
        "0.3.0 until before 1.0.0",
        "/code: wanted nothing here, got 'code', which belongs to error objects",
    ]


@given(json_values() | near_results(), st.sampled_from([*VERSIONS, "", "9.9.9"]), st.booleans())
def test_no_value_breaks_the_check(value: object, version: str, ipam: bool) -> None:
    """Whatever a plugin prints, the answer is a list of sentences that point into the document."""
    for problem in problems(value, version, ipam=ipam):
        assert problem.pointer == "" or problem.pointer.startswith("/")
        assert problem.text.startswith(("wanted ", "no result of version"))


def error(**members: object) -> dict[str, object]:
    return {"cniVersion": LATEST, "code": 7, "msg": "no"} | members


@pytest.mark.parametrize(
    ("value", "pointer", "kind"),
    [
        (None, "", Kind.TYPE),
        (error(code=0), "/code", Kind.CODE),
        (error(code=-7), "/code", Kind.CODE),
        (error(code=8), "/code", Kind.CODE),
        (error(code=99), "/code", Kind.CODE),
        (error(code="7"), "/code", Kind.TYPE),
        (error(code=Decimal("7.0")), "/code", Kind.TYPE),
        (error(msg=""), "/msg", Kind.VALUE),
        (error(msg=None), "/msg", Kind.TYPE),
        (error(details=None), "/details", Kind.NULL),
        (error(Msg="no"), "/Msg", Kind.SPELLING),
        (error(ips=[]), "/ips", Kind.FOREIGN),
        (error(cniVersion="1.0.0"), "/cniVersion", Kind.VERSION),
        ({"code": 7, "msg": "no"}, "/cniVersion", Kind.MISSING),
        ({"cniVersion": LATEST, "msg": "no"}, "/code", Kind.MISSING),
    ],
)
def test_a_wrong_error_object_is_told(value: object, pointer: str, kind: Kind) -> None:
    """One breach, one problem, at its place."""
    breaches = error_problems(value, LATEST)
    assert [(each.pointer, each.kind) for each in breaches] == [(pointer, kind)]


def test_errors_answer_requests_of_unknown_versions_too() -> None:
    """Code 1 is the answer to such a request, and it names that version."""
    assert error_problems(error(cniVersion="9.9.9", code=1), "9.9.9") == []


@given(json_values() | near_results(), st.sampled_from([*VERSIONS, "", "9.9.9"]))
def test_no_value_breaks_the_checks_of_errors_and_versions(value: object, version: str) -> None:
    """They answer with a list, or refuse in one way."""
    breaches: list[Problem] = error_problems(value, version) + version_problems(value, version)
    assert breaches
    with pytest.raises(ShapeError):
        supported_versions(value)


@pytest.mark.parametrize(
    ("members", "pointer", "kind"),
    [
        ({"cniVersion": "0.4.0"}, "/cniVersion", Kind.VERSION),
        ({"supportedVersions": []}, "/supportedVersions", Kind.VALUE),
        ({"supportedVersions": None}, "/supportedVersions", Kind.TYPE),
        ({"supportedVersions": [1]}, "/supportedVersions/0", Kind.TYPE),
        ({"supportedversions": []}, "/supportedversions", Kind.SPELLING),
        ({"code": 1}, "/code", Kind.FOREIGN),
    ],
)
@pytest.mark.parametrize("version", [*VERSIONS, "9.9.9"])
def test_a_wrong_reply_to_version_is_told(
    version: str, members: dict[str, object], pointer: str, kind: Kind
) -> None:
    """For every version that is asked in, also one nobody knows."""
    if members.get("cniVersion") == version:
        members = {"cniVersion": "0.3.0"}
    reply: dict[str, Any] = {"cniVersion": version, "supportedVersions": ["0.4.0"]}
    assert version_problems(reply, version) == []
    breaches = version_problems(reply | members, version)
    assert [(each.pointer, each.kind) for each in breaches] == [(pointer, kind)]


def test_the_offered_versions_are_read_in_their_order() -> None:
    """Also from a plugin that answers its own version."""
    reply = {"cniVersion": "1.0.0", "supportedVersions": ["1.0.0", "0.4.0"]}
    assert supported_versions(reply) == ("1.0.0", "0.4.0")


def test_a_plugin_of_0_2_0_need_not_list_versions() -> None:
    """Nobody else may leave the list out."""
    assert supported_versions({"cniVersion": "0.2.0"}) == ("0.1.0", "0.2.0")
    assert supported_versions({"cniVersion": "0.2.0", "supportedVersions": []}) == (
        "0.1.0",
        "0.2.0",
    )
    with pytest.raises(ShapeError, match="/supportedVersions: wanted an array, got nothing"):
        supported_versions({"cniVersion": "0.3.0"})
