"""IP addresses as results write them: strict text forms, and the family that CNI sees in them."""

from __future__ import annotations

import re
from collections.abc import Callable

from refimpl.cni.format import addresses
from refimpl.cni.format.addresses import family

__all__ = ["family", "is_address", "is_cidr", "is_mac", "is_network", "is_resolver", "normal"]

_MAC = re.compile(
    r"[0-9a-f]{2}(:[0-9a-f]{2})+|[0-9a-f]{2}(-[0-9a-f]{2})+|[0-9a-f]{4}(\.[0-9a-f]{4})+",
    re.IGNORECASE | re.ASCII,
)
_MAPPED_BITS = 96


def _is_read_by(read: Callable[[object], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def is_address(text: str) -> bool:
    """A bare IP address: no prefix length, no zone."""
    return _is_read_by(addresses.address, text)


def is_resolver(text: str) -> bool:
    """An IP address; a link-local name server may carry its zone ("fe80::1%eth0")."""
    head, percent, zone = text.partition("%")
    return is_address(head) and (not percent or (":" in head and bool(zone)))


def is_cidr(text: str) -> bool:
    """An address with a prefix length in decimal; host bits may be set."""
    return _is_read_by(addresses.cidr, text)


def is_network(text: str) -> bool:
    """A CIDR without host bits; what is no CIDR at all is none either."""
    return _is_read_by(addresses.network, text)


def is_mac(text: str) -> bool:
    """A hardware address of two octets or more, in one of the three usual spellings."""
    return _MAC.fullmatch(text) is not None


def normal(text: str) -> str:
    """The one spelling of an address or CIDR that a Go plugin would print; other text unchanged."""
    sees = family(text)
    if sees is None:
        return text
    head, slash, tail = text.partition("/")
    number, value = addresses.address(head)
    # A mask that covers part of the mapping prefix cannot be told in IPv4.
    if sees != number and (not slash or int(tail) >= _MAPPED_BITS):
        number, value = 4, value & 0xFFFF_FFFF
        tail = str(int(tail) - _MAPPED_BITS) if slash else ""
    return f"{addresses.text(number, value)}{slash}{tail}"
