"""Ranges of host-local."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]


def ipam(*sets: Any, version: str = "1.0.0", **members: Any) -> dict[str, Any]:
    """A list with one plugin whose ipam has these sets of ranges."""
    section: dict[str, Any] = {"type": "host-local", **members}
    section.update({"ranges": list(sets)} if sets else {})
    return {"cniVersion": version, "name": "n", "plugins": [{"type": "ptp", "ipam": section}]}


@pytest.mark.parametrize(
    "document",
    [
        ipam([{"subnet": "10.1.0.0/16"}]),
        ipam([{"subnet": "10.1.0.0/30", "gateway": "10.1.0.1"}]),
        ipam([{"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.9"}]),
        ipam([{"subnet": "10.1.0.0/24", "rangeEnd": "10.1.0.99"}], [{"subnet": "fd00::/64"}]),
        ipam(
            [{"subnet": "10.1.0.0/24", "rangeEnd": "10.1.0.99"}],
            [{"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.100"}],
        ),
        ipam(subnet="10.1.0.0/16", rangeStart="10.1.2.0"),
        ipam(subnet="usePodCidr"),
        ipam(),
    ],
)
def test_sound_ranges_are_fine(judged: Judged, document: dict[str, Any]) -> None:
    """New and old form, one set and several, none at all, filled in by another plugin."""
    assert judged(document) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (ipam([{"subnet": "10.1.0.0"}]), "no CIDR"),
        (ipam([{"subnet": "10.1.0.0/33"}]), "no CIDR"),
        (ipam([{"subnet": "10.1.0.0/255.255.0.0"}]), "no CIDR"),
        (ipam([{"subnet": 10}]), "no CIDR"),
        (ipam([{"rangeStart": "10.1.0.1"}]), "no subnet"),
        (ipam([{"subnet": "10.1.0.7/24"}]), "host bits"),
        (ipam([{"subnet": "fd00::1/64"}]), "host bits"),
        (ipam([{"subnet": "10.1.0.0/31"}]), "no address left"),
        (ipam([{"subnet": "10.1.0.0/32"}]), "no address left"),
        (ipam([{"subnet": "fd00::/128"}]), "no address left"),
        (ipam([{"subnet": "10.1.0.0/24", "rangeStart": "10.2.0.1"}]), "outside"),
        (ipam([{"subnet": "10.1.0.0/24", "rangeEnd": "fd00::1"}]), "outside"),
        (ipam([{"subnet": "10.1.0.0/24", "gateway": "10.2.0.1"}]), "outside"),
        (ipam([{"subnet": "10.1.0.0/24", "gateway": "10.1.0.1/24"}]), "no address"),
        (
            ipam([{"subnet": "10.1.0.0/24", "rangeStart": "10.1.0.9", "rangeEnd": "10.1.0.8"}]),
            "comes after",
        ),
        (ipam([{"subnet": "10.1.0.0/24"}, {"subnet": "fd00::/64"}]), "another family"),
        (ipam([{"subnet": "10.1.0.0/24"}], [{"subnet": "10.1.0.0/16"}]), "overlaps"),
        (ipam([{"subnet": "10.1.0.0/24"}], subnet="10.1.0.0/24"), "overlaps"),
        (ipam({"subnet": "10.1.0.0/24"}), "not a list of ranges"),
        (ipam([]), "not a list of ranges"),
        (ipam(["10.1.0.0/24"]), "not an object"),
        (ipam(ranges="10.1.0.0/24"), "the string"),
    ],
)
def test_what_host_local_refuses_is_an_error(
    judged: Judged, document: dict[str, Any], words: str
) -> None:
    """Found when the first pod starts, if nobody looks before."""
    (finding,) = judged(document)
    assert (finding.id, finding.severity) == ("CNI-CFG-023", "error")
    assert words in finding.message


def test_ranges_of_other_plugins_are_judged_only_in_that_form(judged: Judged) -> None:
    """Their members of the same name may mean something else."""
    for members in ({"ranges": ["a-b"]}, {"subnet": "pool-1"}, {"range": "10.0.0.7/24"}):
        document = ipam(**members)
        document["plugins"][0]["ipam"]["type"] = "acme-ipam"
        assert judged(document) == []


@pytest.mark.parametrize(("version", "count"), [("0.1.0", 1), ("0.2.0", 1), ("0.3.0", 0)])
def test_old_versions_have_one_address_of_each_family(
    judged: Judged, version: str, count: int
) -> None:
    """Two sets are two addresses."""
    sets = ([{"subnet": "10.1.0.0/16"}], [{"subnet": "10.2.0.0/16"}], [{"subnet": "fd00::/64"}])
    findings = judged(ipam(*sets, version=version))
    assert [finding.id for finding in findings] == ["CNI-CFG-024"] * count


def test_two_ranges_of_one_set_are_one_address(judged: Judged) -> None:
    """So an old version has them."""
    sets = [{"subnet": "10.1.0.0/16"}, {"subnet": "10.2.0.0/16"}]
    assert judged(ipam(sets, version="0.2.0")) == []
