"""The half of a network that IPv6 has, and whether it can be had."""

from __future__ import annotations

from pathlib import Path

from conformance.cni.plugins.families import has_ipv6, ipv4_only
from conformance.cni.plugins.real import chosen_document
from conformance.cni.settings import CniSettings


def test_our_bridge_network_has_both_families() -> None:
    """A plugin that loses one of them would pass with the other."""
    _, document = chosen_document("bridge", CniSettings())
    subnets = [each["subnet"] for group in document["ipam"]["ranges"] for each in group]
    assert subnets == ["10.88.0.0/16", "fd00:88::/64"]
    assert [each["dst"] for each in document["ipam"]["routes"]] == ["0.0.0.0/0", "::/0"]


def test_without_ipv6_the_other_half_is_left() -> None:
    """And the rest of the document as it is."""
    _, document = chosen_document("bridge", CniSettings())
    half = ipv4_only(document)
    assert half["ipam"]["ranges"] == [[{"subnet": "10.88.0.0/16"}]]
    assert half["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}]
    assert half["ipam"]["type"] == "host-local"
    assert {**half, "ipam": {}} == {**document, "ipam": {}}
    assert len(document["ipam"]["ranges"]) == 2


def test_a_document_without_addresses_stays_as_it_is() -> None:
    """A chained plugin has no ipam."""
    assert ipv4_only({"type": "tuning"}) == {"type": "tuning"}


def test_ipv6_that_is_not_there_or_switched_off_cannot_be_had(tmp_path: Path) -> None:
    """A kernel without it has no such file; container engines write 1 into it."""
    switch = tmp_path / "disable_ipv6"
    assert not has_ipv6(switch)
    switch.write_text("1\n")
    assert not has_ipv6(switch)
