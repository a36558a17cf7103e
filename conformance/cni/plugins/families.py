"""Networks of ours have addresses of both families; where IPv6 cannot be had they lose its half."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["has_ipv6", "ipv4_only"]

_SWITCH = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
_NAT = ("ip6tables", "-t", "nat", "-S")
_DEADLINE_S = 10.0


def has_ipv6(switch: Path = _SWITCH) -> bool:
    """Whether links of the present network namespace get IPv6 addresses, and these can be
    masqueraded."""
    if not switch.is_file() or switch.read_text().strip() != "0" or not shutil.which(_NAT[0]):
        return False
    try:
        done = subprocess.run(_NAT, capture_output=True, timeout=_DEADLINE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def ipv4_only(document: Mapping[str, Any]) -> dict[str, Any]:
    """A plugin object without the ranges and routes of IPv6 in its `ipam`."""
    ipam = dict(document.get("ipam") or {})
    for name, kept in (("ranges", _has_ipv4_subnets), ("routes", _goes_to_ipv4)):
        if name in ipam:
            ipam[name] = [each for each in ipam[name] if kept(each)]
    return {**document, "ipam": ipam} if ipam else dict(document)


def _has_ipv4_subnets(ranges: list[dict[str, Any]]) -> bool:
    return not any(":" in each["subnet"] for each in ranges)


def _goes_to_ipv4(route: dict[str, Any]) -> bool:
    return ":" not in route["dst"]
