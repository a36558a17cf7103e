"""How cases read a result: versions to try, null, links and addresses, on a simulated host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance.cni.cases.plugins.test_result_of_add import (
    test_a_result_has_the_version_of_the_request as _a_case,
)
from conformance.cni.plugins.plugin import PluginUnderTest
from conformance.cni.plugins.results import decoded, has_address, link_of, nulls, sentences, shapes
from refimpl.cni.contract import Interface, Kind
from refimpl.cni.host import Link
from tests.conformance_cni.conftest import as_a_case_gets_it


@pytest.fixture
def plugin() -> Iterator[PluginUnderTest]:
    """The interface fake, as a case of interface plugins gets it."""
    yield from as_a_case_gets_it(_a_case)


def test_one_version_stands_for_each_shape(plugin: PluginUnderTest) -> None:
    """Results of 0.3.0 and 0.4.0 look alike: trying both finds nothing more."""
    assert shapes(plugin) == ["0.2.0", "0.4.0", "1.0.0", "1.1.0"]


def test_an_entry_leads_to_its_link(plugin: PluginUnderTest) -> None:
    """With a sandbox into the container, without one to the host, elsewhere to nothing."""
    pod = plugin.attached()
    assert pod.result is not None
    for each in decoded(pod.result, plugin.newest).interfaces:
        link = link_of(plugin, pod, each)
        assert link is not None
        assert link.name == each.name
    assert link_of(plugin, pod, Interface("eth0", sandbox="/elsewhere")) is None
    assert link_of(plugin, pod, Interface("eth0")) is None


def test_null_is_found_at_any_depth() -> None:
    """The finding says where."""
    document: dict[str, Any] = {
        "ips": None,
        "routes": [{"dst": "0.0.0.0/0", "gw": None}],
        "dns": {},
    }
    assert list(nulls(document)) == ["/ips", "/routes/0/gw"]


def test_an_address_is_the_same_however_it_is_written() -> None:
    """The kernel spells IPv6 in its own way; the prefix counts."""
    link = Link("eth0", addresses=("fd00::2/64",))
    assert has_address(link, "fd00:0::2/64")
    assert not has_address(link, "fd00::2/128")
    assert not has_address(link, "no address")
    assert not has_address(None, "fd00::2/64")


def test_problems_are_chosen_by_kind_and_place() -> None:
    """A case about gateways says nothing of members of other versions."""
    result = {
        "cniVersion": "1.0.0",
        "ips": [{"address": "10.1.0.2/24", "gateway": "x", "version": "4"}],
    }
    assert len(sentences(result, "1.0.0", (Kind.FORMAT, Kind.FOREIGN))) == 2
    chosen = sentences(
        result, "1.0.0", (Kind.FORMAT,), lambda each: each.pointer.endswith("/gateway")
    )
    assert [text.partition(":")[0] for text in chosen] == ["/ips/0/gateway"]
