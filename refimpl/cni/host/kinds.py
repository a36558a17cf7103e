"""Which kinds of links this kernel makes: found by making one, as no list can be read."""

from __future__ import annotations

from typing import Any, Final

from refimpl.cni.host import syscalls

__all__ = ["makes"]

_PARENT: Final = "parent"
_KINDS: Final[dict[str, dict[str, Any]]] = {
    "veth": {"peer": "other"},
    "vlan": {"link": _PARENT, "vlan_id": 7},
    "macvlan": {"link": _PARENT, "macvlan_mode": "bridge"},
    "ipvlan": {"link": _PARENT, "ipvlan_mode": 0},
    "vrf": {"vrf_table": 7},
    "vxlan": {"vxlan_id": 7, "vxlan_port": 4789},
    "tap": {"kind": "tuntap", "mode": "tap"},
    "tun": {"kind": "tuntap", "mode": "tun"},
}
"""What a link of a kind needs beyond its name."""


def makes(kind: str) -> bool:
    """Makes a link of the kind in a namespace that is gone afterwards; False when refused."""
    from pyroute2 import IPRoute, NetlinkError

    with syscalls.inside(None), IPRoute() as route:
        try:
            wanted = dict(_KINDS.get(kind, {}))
            if wanted.get("link") == _PARENT:
                route.link("add", ifname=_PARENT, kind="veth", peer="other")
                wanted["link"] = route.link_lookup(ifname=_PARENT)[0]
            route.link("add", **{"ifname": "tried", "kind": kind, **wanted})
        except (NetlinkError, OSError):  # EOPNOTSUPP, or no /dev/net/tun
            return False
        return True
