"""Results as libcni's types hold them: known members only, in the order the types print them.

The tables are the fields of those types (CNI 1.3.1, pkg/types): JSON name, reader, and when the
member is left out.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Final

from refimpl.cni.contract import Problem, ShapeError
from refimpl.cni.runtime.gojson import Struct

__all__ = ["decode"]

Reader = Callable[[Any, str], Any]
Fields = tuple[tuple[str, Reader, str], ...]

# When a member is left out of the text: its value is empty; it was not given; never.
EMPTY: Final = "empty"
ABSENT: Final = "absent"
NEVER: Final = "never"

_INT64: Final = range(-(2**63), 2**63)


def decode(value: Any, version: str) -> Struct:
    """The result that libcni reads from a decoded JSON value, for the type of that version.

    Raises ShapeError for a version without a type, a member of another JSON type, an address that
    is none. Unknown members vanish, names count in any case of their letters, null is absent.
    """
    family = next((family for family in _FAMILIES if version in family), None)
    if family is None:
        raise _refused("/cniVersion", f"no result type for version {version!r}")
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise _refused("", f"wanted an object, got {type(value).__name__}")
    result = _struct(_FAMILIES[family])(value, "")
    named = result.get("cniVersion", "")
    if named not in family:
        raise _refused("/cniVersion", f"wanted one of {', '.join(family)}, got {named!r}")
    if not named:
        result = Struct({"cniVersion": "0.1.0", **result})
    return _sorted(result) if version in _MODERN else result


def _sorted(result: Struct) -> Struct:
    """1.x results print through a map: sorted throughout, and an empty `dns` is dropped."""
    if not result.get("dns"):
        result.pop("dns", None)

    def order(value: Any) -> Any:
        if isinstance(value, dict):
            return Struct((key, order(value[key])) for key in sorted(value))
        return [order(item) for item in value] if isinstance(value, list) else value

    ordered: Struct = order(result)
    return ordered


def _struct(fields: Fields) -> Reader:
    """A reader for a struct: each member goes to the field whose name it has, in any case."""
    names = {name.casefold(): (name, read) for name, read, _ in fields}

    def read_struct(value: Any, at: str) -> Struct:
        if not isinstance(value, dict):
            raise _refused(at, f"wanted an object, got {type(value).__name__}")
        given: dict[str, Any] = {}
        for key, item in value.items():
            if key.casefold() in names and item is not None:
                name, read = names[key.casefold()]
                given[name] = read(item, f"{at}/{key}")
        members = ((name, given.get(name, _EMPTY.get(read)), left) for name, read, left in fields)
        return Struct(
            (name, Struct() if item is None else item)
            for name, item, left in members
            if not (item in (None, "", 0, []) and left is EMPTY)
            if not (name not in given and left is ABSENT)
        )

    return read_struct


def _list(read: Reader) -> Reader:
    def read_list(value: Any, at: str) -> list[Any]:
        if not isinstance(value, list):
            raise _refused(at, f"wanted an array, got {type(value).__name__}")
        return [
            None if item is None else read(item, f"{at}/{index}")
            for index, item in enumerate(value)
        ]

    return read_list


def _string(value: Any, at: str) -> str:
    if not isinstance(value, str):
        raise _refused(at, f"wanted a string, got {type(value).__name__}")
    return value


def _whole(value: Any, at: str) -> int:
    """An int of Go; a float arrives here where the document was turned around before."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(at, f"wanted an integer, got {type(value).__name__}")
    number = int(value)
    if number != value or number not in _INT64:
        raise _refused(at, f"wanted an integer of 64 bits, got {value}")
    return number


def _address(value: Any, at: str) -> str:
    text = _string(value, at)
    if not text:
        return ""
    try:
        return _printed(ipaddress.ip_address(text))
    except ValueError:
        raise _refused(at, f"wanted an IP address, got {text[:60]!r}") from None


def _cidr(value: Any, at: str) -> str:
    text = _string(value, at)
    head, _, length = text.partition("/")
    try:
        address = ipaddress.ip_address(head)
        if "%" in head or not length.isdecimal() or int(length) > address.max_prefixlen:
            raise ValueError
    except ValueError:
        raise _refused(at, f"wanted an address with prefix length, got {text[:60]!r}") from None
    bits = int(length)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        bits = max(bits - 96, 0)
    return f"{_printed(address)}/{bits}"


def _printed(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _refused(at: str, text: str) -> ShapeError:
    return ShapeError("a result that libcni can read", [Problem(at, text)])


_EMPTY: Mapping[Reader, Any] = {_string: "", _whole: 0, _cidr: "<nil>", _address: ""}
_TEXTS = _list(_string)

_DNS: Fields = (
    ("nameservers", _TEXTS, EMPTY),
    ("domain", _string, EMPTY),
    ("search", _TEXTS, EMPTY),
    ("options", _TEXTS, EMPTY),
)
_ROUTE: Fields = (
    ("dst", _cidr, NEVER),
    ("gw", _address, EMPTY),
    ("mtu", _whole, EMPTY),
    ("advmss", _whole, EMPTY),
    ("priority", _whole, EMPTY),
    ("table", _whole, ABSENT),
    ("scope", _whole, ABSENT),
)
_ROUTES = _list(_struct(_ROUTE))
_IP_020: Fields = (
    ("ip", _cidr, NEVER),
    ("gateway", _address, EMPTY),
    ("routes", _ROUTES, EMPTY),
)
_IP_100: Fields = (
    ("interface", _whole, ABSENT),
    ("address", _cidr, NEVER),
    ("gateway", _address, EMPTY),
)
_IP_040: Fields = (("version", _string, NEVER), *_IP_100)
_INTERFACE_040: Fields = (
    ("name", _string, NEVER),
    ("mac", _string, EMPTY),
    ("sandbox", _string, EMPTY),
)
_INTERFACE_100: Fields = (
    ("name", _string, NEVER),
    ("mac", _string, EMPTY),
    ("mtu", _whole, EMPTY),
    ("sandbox", _string, EMPTY),
    ("socketPath", _string, EMPTY),
    ("pciID", _string, EMPTY),
)


def _listed(interface: Fields, address: Fields) -> Fields:
    return (
        ("cniVersion", _string, EMPTY),
        ("interfaces", _list(_struct(interface)), EMPTY),
        ("ips", _list(_struct(address)), EMPTY),
        ("routes", _ROUTES, EMPTY),
        # A struct is never empty for Go: `"dns":{}` is printed.
        ("dns", _struct(_DNS), NEVER),
    )


_MODERN: Final = ("1.0.0", "1.1.0")
_FAMILIES: Mapping[tuple[str, ...], Fields] = {
    ("", "0.1.0", "0.2.0"): (
        ("cniVersion", _string, EMPTY),
        ("ip4", _struct(_IP_020), ABSENT),
        ("ip6", _struct(_IP_020), ABSENT),
        ("dns", _struct(_DNS), NEVER),
    ),
    ("0.3.0", "0.3.1", "0.4.0"): _listed(_INTERFACE_040, _IP_040),
    _MODERN: _listed(_INTERFACE_100, _IP_100),
}
