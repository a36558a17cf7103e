"""Which kinds of links this kernel makes: found by making one, as no list can be read."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from typing import Final

from refimpl.cni.host import changes, syscalls
from refimpl.cni.host.netlink import pack

__all__ = ["makes"]

_UNDER: Final = ("vlan", "macvlan", "ipvlan")
"""Kinds that need a link below them."""

_DATA: Final = {
    "vlan": pack(1, struct.pack("=H", 7)),  # its number
    "macvlan": pack(1, 4),  # mode bridge
    "ipvlan": pack(1, struct.pack("=H", 0)),  # mode L2
    "vrf": pack(1, 7),  # its table
    "vxlan": pack(1, 7) + pack(15, struct.pack(">H", 4789)),  # its number, the port
}
"""What a link of a kind needs beyond its name: attributes of linux/if_link.h."""

_TUNNELS: Final = {"tun": 0x1, "tap": 0x2}
_TUNSETIFF, _NO_HEADER = 0x4004_54CA, 0x1000  # linux/if_tun.h


def makes(kind: str) -> bool:
    """Makes a link of the kind in a namespace that is gone afterwards; False when refused."""
    with syscalls.inside(None):
        try:
            if kind in _TUNNELS:
                _make_tunnel(kind)
            elif kind == "veth":
                changes.add_pair("tried", "other")
            else:
                changes.add_link("tried", kind, _DATA.get(kind, b""), below=_below(kind))
        except OSError:  # EOPNOTSUPP, or no /dev/net/tun
            return False
        return True


def _below(kind: str) -> int:
    if kind not in _UNDER:
        return 0
    changes.add_pair("parent", "other")
    return socket.if_nametoindex("parent")


def _make_tunnel(kind: str) -> None:
    """A device of a process, which netlink does not make; it ends with the open file."""
    request = struct.pack("16sH22x", b"tried", _TUNNELS[kind] | _NO_HEADER)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(device, _TUNSETIFF, request)
    finally:
        os.close(device)
