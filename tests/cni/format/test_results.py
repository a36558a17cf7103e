"""Results between the shapes of their versions."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cni.generate import documents, near_results
from refimpl.cni.contract.shapes import SHAPES
from refimpl.cni.format.results import ADDED, fold, plain, reduced, unfold
from refimpl.cni.format.versions import LATEST, VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=30)
@given(data=st.data())
def test_what_was_unfolded_folds_to_what_it_was(version: str, data: st.DataObject) -> None:
    """In every version, with unknown members on every level; the document is not touched."""
    document = data.draw(documents(version))
    before = copy.deepcopy(document)
    again = fold(unfold(document, version), version)
    assert {key: item for key, item in again.items() if item} == {
        "cniVersion": version,
        **{key: item for key, item in document.items() if item},
    }
    assert document == before


@given(near_results(), st.sampled_from(VERSIONS))
def test_no_object_breaks_the_reader(value: dict[str, object], version: str) -> None:
    """What has a wrong type stays where it is."""
    assert "cniVersion" not in unfold(value, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_member_of_a_newer_version_goes(version: str) -> None:
    """So does the family that an address told, where it tells none any more."""
    document = {"interfaces": [{"mtu": 1}], "ips": [{"version": "4"}], "routes": None}
    had = {"interfaces": [{"mtu": 1} if version == LATEST else {}], "ips": [{"version": "4"}]}
    if version in ("1.0.0", "1.1.0"):
        had["ips"] = [{}]
    assert plain(document, version) == had


def test_the_additions_of_1_1_0_are_those_of_the_table() -> None:
    """The judge's table of members has a version for each; the reader has only these."""
    for shape, name in (("interface", "interfaces"), ("route", "routes")):
        assert ADDED[name] == tuple(each.name for each in SHAPES[shape] if each.since == "1.1.0")


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ({"interfaces": [{"name": "eth0"}]}, "interfaces"),
        ({"ips": [{"address": "10.0.0.1/8"}, {"address": "10.0.0.2/8"}]}, "a second IPv4 address"),
        ({"ips": [{"address": "x"}]}, "the address 'x'"),
        ({"routes": [{"dst": "::/0"}]}, "the route to ::/0"),
    ],
)
def test_what_has_no_place_is_named(inner: dict[str, object], words: str) -> None:
    """Nothing is dropped silently; whoever wants that asks for the reduced form."""
    with pytest.raises(ValueError, match=words):
        fold(inner, "0.2.0")


def test_a_reduced_form_always_has_a_place() -> None:
    """The first address of each family with its routes, and no interface that it could be on."""
    inner = {
        "interfaces": [{"name": "eth0", "mtu": 1}],
        "ips": [{"address": "fd00::2/64", "interface": 0}, {"address": "fd00::3/64"}],
        "routes": [{"dst": "::/0", "table": 5}, {"dst": "0.0.0.0/0"}],
    }
    assert fold(reduced(inner, "0.2.0"), "0.2.0") == {
        "cniVersion": "0.2.0",
        "ip6": {"ip": "fd00::2/64", "routes": [{"dst": "::/0"}]},
    }
    kept = reduced(inner, "1.0.0", ("routes",))
    assert (kept["interfaces"], kept["routes"][0]) == ([{"name": "eth0"}], inner["routes"][0])
