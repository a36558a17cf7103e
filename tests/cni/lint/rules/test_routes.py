"""Routes of an ipam object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]


def routed(*routes: Any, version: str = "1.0.0") -> dict[str, Any]:
    """A list whose ipam asks for these routes."""
    ipam = {"type": "dhcp", "routes": list(routes)}
    return {"cniVersion": version, "name": "n", "plugins": [{"type": "ptp", "ipam": ipam}]}


def test_sound_routes_are_fine(judged: Judged) -> None:
    """With and without a gateway, of both families."""
    sound = ({"dst": "0.0.0.0/0", "gw": "10.1.0.1"}, {"dst": "::/0"}, {"dst": "10.9.0.0/16"})
    assert judged(routed(*sound)) == []


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "default"},
        {"dst": "10.0.0.1"},
        {"gw": "10.0.0.1"},
        {"dst": "0.0.0.0/0", "gw": "gateway"},
        {"dst": "0.0.0.0/0", "gw": "10.0.0.1/24"},
        {"dst": "0.0.0.0/0", "gw": "fd00::1"},
        {"dst": "::/0", "gw": "10.0.0.1"},
        "0.0.0.0/0",
    ],
)
def test_a_route_that_no_plugin_can_set_is_an_error(judged: Judged, route: Any) -> None:
    """Syntax and family."""
    (finding,) = judged(routed(route))
    assert (finding.id, finding.severity) == ("CNI-CFG-025", "error")


@pytest.mark.parametrize(
    ("dst", "severity", "fix"),
    [
        ("10.1.2.3/8", "error", "write 10.0.0.0/8"),
        ("10.0.0.1/31", "error", "write 10.0.0.0/31"),
        ("0.0.0.1/0", "error", "write 0.0.0.0/0"),
        ("fd00::1/64", "warning", "write fd00::/64"),
        ("::1/0", "warning", "write ::/0"),
    ],
)
def test_bits_behind_the_prefix_are_an_error_for_ipv4_alone(
    judged: Judged, dst: str, severity: str, fix: str
) -> None:
    """Linux refuses such a route of IPv4 and clears the bits of IPv6."""
    (finding,) = judged(routed({"dst": dst}))
    assert (finding.id, finding.severity, finding.fix) == ("CNI-CFG-041", severity, fix)


@pytest.mark.parametrize("dst", ["10.1.2.3/32", "10.0.0.0/8", "fd00::1/128", "FD00:0::/16"])
def test_a_network_however_written_has_no_bits_behind_its_prefix(judged: Judged, dst: str) -> None:
    """A host is a network of one address."""
    assert judged(routed({"dst": dst})) == []


def test_routes_are_a_list(judged: Judged) -> None:
    """One route is a list of one."""
    document = routed()
    document["plugins"][0]["ipam"]["routes"] = {"dst": "0.0.0.0/0"}
    (finding,) = judged(document)
    assert (finding.id, finding.severity) == ("CNI-CFG-025", "error")


def test_a_second_default_route_is_a_warning(judged: Judged) -> None:
    """The kernel refuses or shadows it; with another priority it is meant."""
    twice = ({"dst": "0.0.0.0/0", "gw": "10.0.0.1"}, {"dst": "0.0.0.0/0", "gw": "10.0.0.2"})
    (finding,) = judged(routed(*twice))
    assert (finding.id, finding.severity) == ("CNI-CFG-025", "warning")
    ranked = [{**route, "priority": index} for index, route in enumerate(twice)]
    assert judged(routed(*ranked, version="1.1.0")) == []


@pytest.mark.parametrize("key", ["mtu", "advmss", "priority", "table", "scope"])
def test_members_of_1_1_0_are_a_warning_before(judged: Judged, key: str) -> None:
    """A result of an older version has no place for them."""
    route = {"dst": "0.0.0.0/0", key: 1}
    (finding,) = judged(routed(route))
    assert (finding.id, finding.severity) == ("CNI-CFG-026", "warning")
    assert judged(routed(route, version="1.1.0")) == []
