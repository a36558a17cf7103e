"""Addresses and networks as integers, read strictly; `ipaddress` would double a call's start."""

from __future__ import annotations

from _socket import inet_ntop, inet_pton

__all__ = ["address", "cidr", "family", "network", "network_of", "same", "same_family", "text"]

_FAMILIES = {4: 2, 6: 10}  # AF_INET, AF_INET6 of Linux


def address(given: object) -> tuple[int, int]:
    """(4 or 6, the address as an integer). Raises ValueError for anything but a bare address."""
    if isinstance(given, str) and given.isascii():
        family = 6 if ":" in given else 4
        try:
            return family, int.from_bytes(inet_pton(_FAMILIES[family], given), "big")
        except (OSError, ValueError):
            pass
    raise ValueError(f"{given!r} is no IP address")


def cidr(given: object) -> tuple[int, int, int]:
    """(family, address with its host bits, prefix length) of "10.1.0.2/24". Raises ValueError."""
    if isinstance(given, str):
        head, slash, tail = given.partition("/")
        if slash and tail.isascii() and tail.isdigit() and len(tail) < 4:
            family, value = address(head)
            if int(tail) <= width(family) and str(int(tail)) == tail:
                return family, value, int(tail)
    raise ValueError(f"{given!r} is no address with a prefix length, like 10.1.0.2/24")


def network(given: object) -> tuple[int, int, int]:
    """As `cidr`, for a network: host bits are refused, not cut. Raises ValueError."""
    family, value, prefix = cidr(given)
    if value != first(family, value, prefix):
        raise ValueError(
            f"{given!r} is an address inside a network; the network itself is "
            f"{text(family, first(family, value, prefix))}/{prefix}"
        )
    return family, value, prefix


def family(given: object) -> int | None:
    """4 or 6 for the text of an address or a CIDR, None for anything else.

    An IPv6 address that maps an IPv4 one counts as 4, as for every Go plugin (`net.IP.To4`).
    """
    try:
        number, value = cidr(given)[:2] if "/" in str(given) else address(given)
    except ValueError:
        return None
    return 4 if number == 6 and value >> 32 == 0xFFFF else number


def width(family: int) -> int:
    """The bits of an address."""
    return 32 if family == 4 else 128


def first(family: int, value: int, prefix: int) -> int:
    """The network's own address."""
    host = width(family) - prefix
    return value >> host << host


def last(family: int, value: int, prefix: int) -> int:
    """The highest address of the network: the broadcast address of IPv4."""
    return first(family, value, prefix) + (1 << (width(family) - prefix)) - 1


def text(family: int, value: int) -> str:
    """The canonical text of an address."""
    return inet_ntop(_FAMILIES[family], value.to_bytes(width(family) // 8, "big"))


def network_of(given: object) -> str:
    """The network that a CIDR text lies in, as text: 10.1.0.2/24 -> 10.1.0.0/24."""
    family, value, prefix = cidr(given)
    return f"{text(family, first(family, value, prefix))}/{prefix}"


def same(one: object, other: object) -> bool:
    """Whether two CIDR texts mean the same address and prefix, however they are spelled."""
    return cidr(one) == cidr(other)


def same_family(one: str, other: str) -> bool:
    """Whether two texts, each with or without prefix, are of one family."""
    return (":" in one) == (":" in other)
