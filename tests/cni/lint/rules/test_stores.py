"""Networks that give out the same addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Folder = Callable[..., Any]
ROW = "CNI-CFG-039"


def network(name: str, subnet: str, **ipam: Any) -> dict[str, Any]:
    """A list with one range."""
    section = {"type": "host-local", "ranges": [[{"subnet": subnet}]], **ipam}
    return {"cniVersion": "1.0.0", "name": name, "plugins": [{"type": "ptp", "ipam": section}]}


def overlaps(report: Any) -> list[str]:
    """The warnings on shared addresses."""
    return [one.message for one in report.findings if one.id == ROW]


def test_networks_with_addresses_of_their_own_are_fine(folder: Folder) -> None:
    """Neighbours, and the same digits of another family."""
    documents = [network("a", "10.1.0.0/24"), network("b", "10.1.1.0/24"), network("c", "a01::/64")]
    assert overlaps(folder({f"{i}.conflist": one for i, one in enumerate(documents)})) == []


def test_overlapping_ranges_are_a_warning_that_names_the_other(folder: Folder) -> None:
    """One address, two containers."""
    report = folder(
        {"1.conflist": network("a", "10.1.0.0/16"), "2.conflist": network("b", "10.1.7.0/24")}
    )
    (message,) = overlaps(report)
    assert 'network "a"' in message
    assert "1.conflist" in message


def test_a_wide_range_is_seen_beyond_the_next_one(folder: Folder) -> None:
    """Three networks: the third lies in the first only."""
    report = folder(
        {
            "1.conflist": network("a", "10.0.0.0/8"),
            "2.conflist": network("b", "10.1.0.0/16"),
            "3.conflist": network("c", "10.200.0.0/16"),
        }
    )
    assert len(overlaps(report)) == 2


def test_one_store_for_two_networks_is_a_warning(folder: Folder) -> None:
    """GC of the one frees the addresses of the other."""
    documents = {
        "1.conflist": network("a", "10.1.0.0/24"),
        "2.conflist": network("a", "10.2.0.0/24", dataDir="/var/lib/cni/networks/"),
    }
    (message,) = overlaps(folder(documents))
    assert "/var/lib/cni/networks" in message
    documents["2.conflist"] = network("a", "10.2.0.0/24", dataDir="/run/other")
    assert overlaps(folder(documents)) == []
