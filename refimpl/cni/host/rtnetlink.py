"""Dumps of rtnetlink(7) as bytes taken apart: fixed part and attributes of each message.

pyroute2 changes things here, but does not read them: a snapshot before and after every act of a
case would take it milliseconds a link, most of them spent on attributes that nobody looks at.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from attrs import frozen

__all__ = ["Kind", "Message", "attributes", "dump"]

_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ATTRIBUTE: Final = struct.Struct("=HH")
_DUMP, _INTERRUPTED = 0x301, 0x10
_ERROR, _DONE = 2, 3
_TYPE_MASK: Final = 0x3FFF
_DEADLINE_S: Final = 10.0
_ATTEMPTS: Final = 20


class Kind(IntEnum):
    """What can be dumped, by the number of the request."""

    LINKS = 18
    ADDRESSES = 22
    ROUTES = 26
    RULES = 34
    QUEUES = 38


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
        found = _dumped(kind)
        if found is not None:
            return found
    raise OSError(f"{kind.name.lower()} changed during each of {_ATTEMPTS} readings of them")


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes of a message or of a nested attribute; of several of one number the last."""
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < 4:
            break
        found[kind & _TYPE_MASK] = data[at + 4 : at + length]
        at += length + 3 & ~3
    return found


def _dumped(kind: Kind) -> list[Message] | None:
    """None when the objects changed meanwhile: the kernel marks such a dump as inconsistent."""
    fixed = _FIXED[kind]
    found: list[Message] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as asker:
        asker.settimeout(_DEADLINE_S)
        asker.send(_HEADER.pack(16 + fixed.size, kind, _DUMP, 1, 0) + bytes(fixed.size))
        while True:
            for answer, flags, body in _messages(asker.recv(1 << 18)):
                if flags & _INTERRUPTED:
                    return None
                if answer == _DONE:
                    return found
                if answer == _ERROR:
                    code = -struct.unpack_from("=i", body)[0]
                    raise OSError(code, f"reading {kind.name.lower()} was refused")
                found.append(Message(fixed.unpack_from(body), attributes(body[fixed.size :])))


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + 16 <= len(data):
        length, kind, flags, _sequence, _port = _HEADER.unpack_from(data, at)
        yield kind, flags, data[at + 16 : at + length]
        at += length + 3 & ~3
