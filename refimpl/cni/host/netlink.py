"""Netlink: how the kernel is asked about links and told to change them, as bytes packed and taken
apart (netlink(7), rtnetlink(7)).

All of it is here and by hand, as a snapshot before and after every act of a case is read through
it: a library that decodes every attribute takes milliseconds a link. Every exchange has a socket of
its own, in the namespace of the calling thread.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from attrs import frozen

__all__ = [
    "IFA",
    "IFLA",
    "NETFILTER",
    "RTA",
    "Kind",
    "Message",
    "ask",
    "attributes",
    "change",
    "dump",
    "head",
    "pack",
]

NETFILTER: Final = 12
"""The protocol of the packet filter (linux/netlink.h)."""

_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ATTRIBUTE: Final = struct.Struct("=HH")
_REQUEST, _ACKNOWLEDGE, _DUMP, _INTERRUPTED = 0x1, 0x4, 0x300, 0x10
_ERROR, _DONE = 2, 3
_TYPE_MASK: Final = 0x3FFF
_DEADLINE_S: Final = 10.0
_PIECE: Final = 1 << 16  # a kernel packs a dump into pieces of half of that at most
_ATTEMPTS: Final = 20


class Kind(IntEnum):
    """What can be dumped, by the number of the request."""

    LINKS = 18
    ADDRESSES = 22
    ROUTES = 26
    RULES = 34
    QUEUES = 38


class IFLA:
    """Attributes of links (linux/if_link.h)."""

    ADDRESS, IFNAME, MTU, LINK, MASTER, LINKINFO = 1, 3, 4, 5, 10, 18
    NET_NS_FD, LINK_NETNSID = 28, 37
    INFO_KIND, INFO_DATA = 1, 2  # inside of LINKINFO


class IFA:
    """Attributes of addresses (linux/if_addr.h)."""

    ADDRESS, LOCAL = 1, 2


class RTA:
    """Attributes of routes (linux/rtnetlink.h)."""

    DST, OIF, GATEWAY, PRIORITY, METRICS, MULTIPATH, TABLE, VIA = 1, 4, 5, 6, 8, 9, 15, 18
    METRIC_MTU, METRIC_ADVMSS = 2, 8  # inside of METRICS


_FIXED: Final = {
    Kind.LINKS: struct.Struct("=BxHiII"),  # ifinfomsg: family, type, index, flags, change
    Kind.ADDRESSES: struct.Struct("=BBBBI"),  # ifaddrmsg: family, length, flags, scope, index
    Kind.ROUTES: struct.Struct("=8BI"),  # rtmsg
    Kind.RULES: struct.Struct("=8BI"),  # fib_rule_hdr
    Kind.QUEUES: struct.Struct("=B3xiIII"),  # tcmsg: family, index, handle, parent, info
}


@frozen
class Message:
    """One object: the members of its fixed part in order, and its attributes by number."""

    fixed: tuple[int, ...]
    attributes: Mapping[int, bytes]

    def number(self, name: int) -> int:
        """An attribute that is an unsigned 32-bit number, 0 without it."""
        return int.from_bytes(self.attributes.get(name, b"")[:4], sys.byteorder)

    def text(self, name: int) -> str:
        """An attribute that is a zero-terminated text, "" without it."""
        return self.attributes.get(name, b"").rstrip(b"\0").decode(errors="replace")


def dump(kind: Kind) -> list[Message]:
    """All objects of a kind in the calling thread's namespace. Raises OSError."""
    for _ in range(_ATTEMPTS):
        messages = _dumped(kind)
        if messages is not None:
            return messages
    raise OSError(f"{kind.name.lower()} changed during each of {_ATTEMPTS} readings of them")


def change(kind: Kind, request: int, flags: int, *parts: bytes) -> None:
    """Has the kernel act on an object of a kind and waits for its word. `request` is the number of
    the act, `parts` its head and attributes. Raises OSError."""
    what = f"changing {kind.name.lower()}"
    for _ in _answers(socket.NETLINK_ROUTE, request, flags | _ACKNOWLEDGE, b"".join(parts), what):
        pass


def ask(protocol: int, request: int, body: bytes) -> bytes:
    """The body of the one message that answers a request. Raises OSError."""
    return next(_answers(protocol, request, 0, body, "netlink"))[1]


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes of a message or of a nested attribute; of several of one number the last."""
    members: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < 4:
            break
        members[kind & _TYPE_MASK] = data[at + 4 : at + length]
        at += length + 3 & ~3
    return members


def head(kind: Kind, *members: int) -> bytes:
    """The fixed part of an object of a kind, from its members in order."""
    return _FIXED[kind].pack(*members)


def pack(name: int, value: bytes | str | int) -> bytes:
    """An attribute: bytes as they are, a text with its zero, a number of 32 bits."""
    if isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, int):
        value = value.to_bytes(4, sys.byteorder)
    return _ATTRIBUTE.pack(len(value) + 4, name) + value + bytes(-len(value) % 4)


def _dumped(kind: Kind) -> list[Message] | None:
    """None when the objects changed meanwhile: the kernel marks such a dump as inconsistent."""
    fixed_part = _FIXED[kind]
    messages: list[Message] = []
    every, what = bytes(fixed_part.size), f"reading {kind.name.lower()}"
    for flags, body in _answers(socket.NETLINK_ROUTE, kind, _DUMP, every, what):
        if flags & _INTERRUPTED:
            return None
        members = attributes(body[fixed_part.size :])
        messages.append(Message(fixed_part.unpack_from(body), members))
    return messages


def _answers(
    protocol: int, request: int, flags: int, body: bytes, what: str
) -> Iterator[tuple[int, bytes]]:
    """Flags and body of every message that answers one request, up to the last one."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as kernel:
        kernel.settimeout(_DEADLINE_S)
        kernel.send(_HEADER.pack(16 + len(body), request, flags | _REQUEST, 1, 0) + body)
        while True:
            for kind, marks, answer in _messages(kernel.recv(_PIECE)):
                if kind == _ERROR and (code := -struct.unpack_from("=i", answer)[0]):
                    raise OSError(code, f"{what} was refused: {os.strerror(code)}")
                if kind in (_ERROR, _DONE):  # error 0 is the acknowledgement
                    return
                yield marks, answer


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + 16 <= len(data):
        length, kind, flags, _sequence, _port = _HEADER.unpack_from(data, at)
        yield kind, flags, data[at + 16 : at + length]
        at += length + 3 & ~3
