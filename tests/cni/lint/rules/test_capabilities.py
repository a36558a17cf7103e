"""Capabilities: declared, known, needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]


def second(plugin: dict[str, Any]) -> dict[str, Any]:
    """A list with that plugin after one that makes the interface."""
    return {"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "bridge"}, plugin]}


@pytest.mark.parametrize(
    "name",
    [
        *("portMappings", "ipRanges", "bandwidth", "dns", "ips", "mac", "infinibandGUID"),
        *("deviceID", "aliases", "cgroupPath", "io.kubernetes.cri.pod-annotations"),
        "acme.example/x",
    ],
)
def test_conventional_and_vendors_capabilities_are_fine(judged: Judged, name: str) -> None:
    """A name with a domain is its owner's business."""
    assert judged(second({"type": "t", "capabilities": {name: True}})) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [("portMapping", "portMappings"), ("x", "known are"), ("ipranges", "ipRanges")],
)
def test_a_slip_is_a_warning_that_names_what_was_meant(
    judged: Judged, name: str, meant: str
) -> None:
    """The plugin waits for a value that never comes."""
    (finding,) = judged(second({"type": "t", "capabilities": {name: True}}))
    assert (finding.id, finding.severity) == ("CNI-CFG-019", "warning")
    assert meant in finding.fix


def test_capabilities_below_ipam_are_not_seen(judged: Judged) -> None:
    """The runtime reads those of the plugin object."""
    document = second({"type": "t", "ipam": {"type": "x", "capabilities": {"ips": True}}})
    (finding,) = judged(document)
    assert (finding.id, finding.severity) == ("CNI-CFG-019", "warning")


@pytest.mark.parametrize(
    ("plugin", "severity"),
    [
        ({"type": "portmap"}, "warning"),
        ({"type": "portmap", "capabilities": {"portMappings": False}}, "warning"),
        ({"type": "bandwidth"}, "warning"),
        ({"type": "bandwidth", "ingressRate": 1000, "ingressBurst": 1000}, None),
        ({"type": "tuning"}, "info"),
        ({"type": "tuning", "mtu": 1400}, None),
        ({"type": "tuning", "capabilities": {"mac": True}}, None),
        ({"type": "acme"}, None),
    ],
)
def test_a_plugin_with_nothing_to_do_is_told(
    judged: Judged, plugin: dict[str, Any], severity: str | None
) -> None:
    """tuning without settings is shipped by projects, so it is only worth knowing."""
    findings = judged(second(plugin), only="CNI-CFG-020")
    assert [str(finding.severity) for finding in findings] == ([severity] if severity else [])
