"""Results as a plugin takes them from others and gives them on: checked, in the inner form between
(`format.results`)."""

from __future__ import annotations

from refimpl.cni.format.addresses import address, cidr, same_family
from refimpl.cni.format.results import fold, is_flat, plain, reduced, unfold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Result = dict[str, Any]

__all__ = ["load", "same_shape", "shape"]


def load(value: object, version: str) -> Result:
    """A decoded result of that version in the inner form, without members of newer versions.

    Raises ValueError: the first thing that makes it no result of that version.
    """
    if not isinstance(value, dict):
        raise ValueError("a result is an object")
    if is_flat(version) and (foreign := sorted({"ips", "interfaces", "routes"} & set(value))):
        raise ValueError(f"{foreign[0]} came with 0.3.0")
    inner = unfold(plain(value, version), version)
    _check(inner, version)
    for ip in inner.get("ips", ()):
        ip.pop("version", None)
    return inner


def shape(inner: Result, version: str) -> Result:
    """The inner form as a result of that version, without what that cannot tell. Raises ValueError
    where nothing is left: before 0.3.0 a result needs an address."""
    return fold(reduced(inner, version), version)


def same_shape(value: Result, version: str) -> Result:
    """A result that stays in its version: checked, everything kept. Raises ValueError."""
    load(value, version)
    return {**plain(value, version), "cniVersion": version}


def _check(inner: Result, version: str) -> None:
    for key in ("interfaces", "ips", "routes"):
        items = inner.get(key, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise ValueError(f"{key} is no array of objects")
    if not isinstance(inner.get("dns", {}), dict):
        raise ValueError("dns is no object")
    if foreign := sorted({"ip4", "ip6"} & set(inner)):
        why = "is no object" if is_flat(version) else "went with 0.3.0"
        raise ValueError(f"{foreign[0]} {why}")
    for interface in inner.get("interfaces", ()):
        if not isinstance(interface.get("name"), str):
            raise ValueError("an interface has no name")
    for ip in inner.get("ips", ()):
        if is_flat(version) and "routes" in ip:
            raise ValueError("the routes of a family are no array")
        _check_ip(ip, len(inner.get("interfaces", ())))
    for route in inner.get("routes", ()):
        cidr(route.get("dst"))
        _check_gateway(route.get("gw"), route["dst"])


def _check_ip(ip: Result, interfaces: int) -> None:
    cidr(ip.get("address"))
    _check_gateway(ip.get("gateway"), ip["address"])
    index = ip.get("interface")
    if index is None:
        return
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < interfaces:
        raise ValueError(
            f"interface {index!r} of address {ip['address']} is no index into "
            f"{interfaces} interfaces"
        )


def _check_gateway(gateway: object, beside: str) -> None:
    if gateway is None or gateway == "":
        return
    address(gateway)
    if not same_family(str(gateway), beside):
        raise ValueError(f"{gateway} is no gateway for {beside}: another family")
