"""Numbers as protobuf writes them: seven bits a byte, the lowest first."""

from __future__ import annotations

__all__ = ["encoded"]


def encoded(number: int) -> bytes:
    """The bytes of a number that is not negative."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])
