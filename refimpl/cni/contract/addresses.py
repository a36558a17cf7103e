"""IP addresses as results write them: strict text forms, and the family that CNI sees in them."""

from __future__ import annotations

import ipaddress
import re

__all__ = ["family", "is_address", "is_cidr", "is_mac", "is_network", "is_resolver", "normal"]

_PREFIX = re.compile(r"[0-9]|[1-9][0-9]{1,2}")
_MAC = re.compile(
    r"[0-9a-f]{2}(:[0-9a-f]{2})+|[0-9a-f]{2}(-[0-9a-f]{2})+|[0-9a-f]{4}(\.[0-9a-f]{4})+",
    re.IGNORECASE | re.ASCII,
)
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _address(text: str) -> _Address | None:
    try:
        return None if "%" in text or "/" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def _split(text: str) -> tuple[_Address, int] | None:
    """Address and prefix length of a CIDR; None when it is not exactly that."""
    head, slash, tail = text.partition("/")
    address = _address(head)
    if address is None or not slash or not _PREFIX.fullmatch(tail):
        return None
    return (address, int(tail)) if int(tail) <= address.max_prefixlen else None


def is_address(text: str) -> bool:
    """A bare IP address: no prefix length, no zone."""
    return _address(text) is not None


def is_resolver(text: str) -> bool:
    """An IP address; a link-local name server may carry its zone ("fe80::1%eth0")."""
    head, percent, zone = text.partition("%")
    return is_address(head) and (not percent or (":" in head and bool(zone)))


def is_cidr(text: str) -> bool:
    """An address with a prefix length in decimal; host bits may be set."""
    return _split(text) is not None


def is_network(text: str) -> bool:
    """A CIDR without host bits; what is no CIDR at all is none either."""
    parts = _split(text)
    if parts is None:
        return False
    address, prefix = parts
    return int(address) & ((1 << (address.max_prefixlen - prefix)) - 1) == 0


def is_mac(text: str) -> bool:
    """A hardware address of two octets or more, in one of the three usual spellings."""
    return _MAC.fullmatch(text) is not None


def family(text: str) -> int | None:
    """4 or 6 for an address or a CIDR, None for anything else.

    An IPv6 address that maps an IPv4 one counts as 4, as for every Go plugin (`net.IP.To4`).
    """
    head = text.partition("/")[0]
    address = _address(head)
    if address is None or ("/" in text and _split(text) is None):
        return None
    return 6 if isinstance(address, ipaddress.IPv6Address) and not address.ipv4_mapped else 4


def normal(text: str) -> str:
    """The one spelling of an address or CIDR that a Go plugin would print; other text unchanged."""
    head, slash, tail = text.partition("/")
    address = _address(head)
    if address is None or family(text) is None:
        return text
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        # A mask that covers part of the mapping prefix cannot be told in IPv4.
        if slash and int(tail) < 96:
            return f"{address}{slash}{tail}"
        tail = str(int(tail) - 96) if slash else ""
        address = address.ipv4_mapped
    return f"{address}{slash}{tail}"
