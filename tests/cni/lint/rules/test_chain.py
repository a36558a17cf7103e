"""The plugins of a list together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Judged = Callable[..., Any]
MAP = {"type": "portmap", "capabilities": {"portMappings": True}}
BRIDGE = {"type": "bridge", "ipam": {"type": "dhcp"}}


def listed(*plugins: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A list of these plugins."""
    return {"cniVersion": "1.0.0", "name": "n", "plugins": list(plugins), **members}


@pytest.mark.parametrize("first", ["portmap", "tuning", "firewall", "bandwidth", "sbr", "vrf"])
def test_a_chained_plugin_cannot_come_first(judged: Judged, first: str) -> None:
    """It is called without the result that it changes."""
    (finding,) = judged(listed({"type": first}), only="CNI-CFG-029")
    assert (finding.severity, finding.line) == ("error", 1)
    assert judged(listed(BRIDGE, {"type": first}), only="CNI-CFG-029") == []


def test_two_plugins_that_make_the_interface_are_a_warning_at_the_second(judged: Judged) -> None:
    """Both are given the same CNI_IFNAME."""
    (finding,) = judged(listed(BRIDGE, MAP, {"type": "macvlan"}), only="CNI-CFG-030")
    assert finding.severity == "warning"
    assert "macvlan" in finding.message


def test_plugins_that_nobody_knows_are_not_judged(judged: Judged) -> None:
    """Chained vendors' plugins are common."""
    assert judged(listed({"type": "acme-net"}, {"type": "acme-more"})) == []


@pytest.mark.parametrize(
    ("members", "count"),
    [({}, 1), ({"disableCheck": True}, 0), ({"cniVersion": "0.3.1"}, 0)],
)
def test_sbr_breaks_check_of_the_plugin_before_it(
    judged: Judged, members: dict[str, Any], count: int
) -> None:
    """Only where CHECK is made at all."""
    document = {**listed(BRIDGE, {"type": "sbr"}), **members}
    assert len(judged(document, only="CNI-CFG-031")) == count


def test_sbr_after_a_plugin_without_addresses_is_fine(judged: Judged) -> None:
    """There are no routes to move."""
    assert judged(listed({"type": "bridge"}, {"type": "sbr"}), only="CNI-CFG-031") == []
