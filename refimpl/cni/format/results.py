"""Results as JSON objects in the shape of each version, and the inner form between them.

The inner form is the newest shape without its cniVersion; unknown members are kept wherever they
are. What changed when: 0.3.0 brought `interfaces` and one list of `ips`, 1.0.0 dropped their
`version`, 1.1.0 added mtu, socketPath and pciID of an interface and the attributes of a route.
"""

from __future__ import annotations

from refimpl.cni.format.addresses import family
from refimpl.cni.format.versions import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    Object = dict[str, Any]

__all__ = ["ADDED", "fold", "is_flat", "plain", "reduced", "tells_family", "unfold"]

ADDED = {
    "interfaces": ("mtu", "socketPath", "pciID"),
    "routes": ("mtu", "advmss", "priority", "table", "scope"),
}
"""What came with 1.1.0, by the list whose elements have it."""

_FAMILIES = ("ip4", "ip6")


def is_flat(version: str) -> bool:
    """Whether results of the version have one object a family, `ip4` and `ip6`, and no lists."""
    return not at_least(version, "0.3.0")


def tells_family(version: str) -> bool:
    """Whether an address says in `version` what it is."""
    return at_least(version, "0.3.0") and not at_least(version, "1.0.0")


def unfold(document: Object, version: str) -> Object:
    """The inner form of a result of that version, a deep copy. A member of a wrong type stays where
    it is, and so does the `version` of an address that is of another family; null is absent."""
    inner: Object = _copy(document)
    inner.pop("cniVersion", None)
    _drop_nulls(inner)
    if is_flat(version):
        _join_families(inner)
    elif tells_family(version):
        for ip in _objects(inner, "ips"):
            if ip.get("version") in (None, str(family(ip.get("address")))):
                ip.pop("version", None)
    return inner


def _join_families(inner: Object) -> None:
    ips: list[Object] = []
    routes: list[Any] = []
    for key in _FAMILIES:
        part = inner.get(key)
        if not isinstance(part, dict | None):
            continue
        inner.pop(key, None)
        if part is None:
            continue
        if isinstance(part.get("routes"), list | None):
            routes += part.pop("routes", None) or ()
        address = (part.pop("ip", None) or "") if isinstance(part.get("ip"), str | None) else ""
        ips.append({**part, "address": address})
    lists = (("ips", ips), ("routes", routes))
    inner.update({key: items for key, items in lists if items})


def fold(inner: Object, version: str) -> Object:
    """The inner form as a result of that version, a deep copy. Nothing is dropped: raises
    ValueError with what the shape has no place for (`reduced` makes it fit)."""
    document: Object = {"cniVersion": version, **_copy(inner)}
    if is_flat(version):
        _part_families(document)
    elif tells_family(version) and "ips" in document:
        document["ips"] = [_with_family(ip) for ip in document["ips"]]
    return document


def _with_family(ip: Object) -> Object:
    number = family(ip["address"])
    return {"version": str(number), **ip} if number else ip


def _part_families(document: Object) -> None:
    ips, routes = document.pop("ips", ()), document.pop("routes", ())
    if document.pop("interfaces", ()):
        raise ValueError("interfaces")
    for ip in ips:
        number, address = family(ip["address"]), ip.pop("address")
        if number is None:
            raise ValueError(f"the address {address!r}")
        if f"ip{number}" in document:
            raise ValueError(f"a second IPv{number} address, {address}")
        own = [route for route in routes if family(route["dst"]) == number]
        document[f"ip{number}"] = {"ip": address, **({"routes": own} if own else {}), **ip}
    for route in routes:
        if f"ip{family(route['dst'])}" not in document:
            raise ValueError(f"the route to {route['dst']}, without an address of its family")


def reduced(inner: Object, version: str, keep: Collection[str] = ()) -> Object:
    """The part of the inner form that a result of that version can tell, a deep copy: before 0.3.0
    the first address of each family with the routes of that family, before 1.1.0 no member of
    `ADDED` but in the lists to `keep`. Raises ValueError before 0.3.0 without an address."""
    less: Object = _copy(inner)
    for name in () if at_least(version, "1.1.0") else ADDED:
        if name not in keep or is_flat(version):
            _drop(less, name, ADDED[name])
    if is_flat(version):
        _keep_first(less)
    return less


def _keep_first(less: Object) -> None:
    first: dict[int, Object] = {}
    for ip in less.pop("ips", ()):
        if number := family(ip["address"]):
            first.setdefault(number, ip).pop("interface", None)
    if not first:
        raise ValueError("it has no valid address, and results up to 0.2.0 must have one")
    given = less.pop("routes", ())
    routes = [route for key in sorted(first) for route in given if family(route["dst"]) == key]
    less.pop("interfaces", None)
    less["ips"] = [first[key] for key in sorted(first)]
    if routes:
        less["routes"] = routes


def plain(document: Object, version: str) -> Object:
    """A deep copy of a result of that version without null lists, without members of newer versions
    and without an address's `version` where that is gone."""
    less: Object = _copy(document)
    _drop_nulls(less)
    for name in () if at_least(version, "1.1.0") else ADDED:
        _drop(less, name, ADDED[name])
    if at_least(version, "1.0.0"):
        _drop(less, "ips", ("version",))
    return less


def _drop_nulls(document: Object) -> None:
    for key in ("interfaces", "ips", "routes", "dns"):
        if key in document and document[key] is None:
            del document[key]


def _drop(document: Object, key: str, names: tuple[str, ...]) -> None:
    for item in _objects(document, key):
        for name in names:
            item.pop(name, None)


def _objects(document: Object, key: str) -> list[Object]:
    items = document.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
