"""Results between the shapes of their versions: one inner form, the newest, unknown members kept.

What changed when: 0.3.0 brought `interfaces` and one list of `ips`, 1.0.0 dropped their `version`,
1.1.0 added mtu, socketPath and pciID of an interface and the attributes of a route.
"""

from __future__ import annotations

from .addresses import address, cidr, same_family
from .errors import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Result = dict[str, Any]

__all__ = ["load", "plain", "same_shape", "shape"]

INTERFACE_NEW = ("mtu", "socketPath", "pciID")
ROUTE_NEW = ("mtu", "advmss", "priority", "table", "scope")


def load(value: object, version: str) -> Result:
    """A decoded result of that version in the inner form, without its cniVersion.

    Raises ValueError: the first thing that makes it no result of that version.
    """
    if not isinstance(value, dict):
        raise ValueError("a result is an object")
    found = plain(value, version)
    found.pop("cniVersion", None)
    if not at_least(version, "0.3.0"):
        found = _from_families(found)
    _check(found)
    for ip in found.get("ips", ()):
        ip.pop("version", None)
    return found


def plain(value: Result, version: str) -> Result:
    """A deep copy without null arrays and without members that belong to a newer version."""
    found: Result = _copy(value)
    for key in ("interfaces", "ips", "routes", "dns"):
        if key in found and found[key] is None:
            del found[key]
    if not at_least(version, "1.1.0"):
        _without(found.get("interfaces"), INTERFACE_NEW)
        _without(found.get("routes"), ROUTE_NEW)
    if at_least(version, "1.0.0"):
        _without(found.get("ips"), ("version",))
    return found


def shape(inner: Result, version: str) -> Result:
    """The inner form as a result of that version. Raises ValueError where it cannot be one: before
    0.3.0 a result needs an address."""
    found = {"cniVersion": version, **plain(inner, version)}
    if not at_least(version, "0.3.0"):
        return _to_families(found)
    if not at_least(version, "1.0.0"):
        for ip in found.get("ips", ()):
            ip["version"] = "6" if ":" in ip["address"] else "4"
    return found


def same_shape(value: Result, version: str) -> Result:
    """A result that stays in its version: checked, everything kept. Raises ValueError."""
    load(value, version)
    return {**plain(value, version), "cniVersion": version}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _without(items: object, names: tuple[str, ...]) -> None:
    for item in items if isinstance(items, list) else ():
        for name in names:
            if isinstance(item, dict):
                item.pop(name, None)


def _from_families(found: Result) -> Result:
    foreign = sorted({"ips", "interfaces", "routes"} & set(found))
    if foreign:
        raise ValueError(f"{foreign[0]} came with 0.3.0")
    ips, routes = [], []
    for key in ("ip4", "ip6"):
        part = found.pop(key, None)
        if part is None:
            continue
        if not isinstance(part, dict):
            raise ValueError(f"{key} is no object")
        given = part.pop("routes", None) or []
        if not isinstance(given, list):
            raise ValueError(f"{key}.routes is no array")
        routes += given
        ips.append({"address": part.pop("ip", None), **part})
    found.update({key: items for key, items in (("ips", ips), ("routes", routes)) if items})
    return found


def _to_families(found: Result) -> Result:
    ips, routes = found.pop("ips", []), found.pop("routes", [])
    found.pop("interfaces", None)
    for key, mark in (("ip4", False), ("ip6", True)):
        of = [ip for ip in ips if (":" in ip["address"]) == mark]
        if not of:
            continue
        part = {"ip": of[0]["address"]}
        part.update({name: of[0][name] for name in ("gateway",) if name in of[0]})
        own = [route for route in routes if (":" in route["dst"]) == mark]
        if own:
            part["routes"] = [{k: r[k] for k in ("dst", "gw") if k in r} for r in own]
        found[key] = part
    if not ips:
        raise ValueError("a result before 0.3.0 needs an address")
    return found


def _check(found: Result) -> None:
    for key in ("interfaces", "ips", "routes"):
        items = found.get(key, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise ValueError(f"{key} is no array of objects")
    if not isinstance(found.get("dns", {}), dict):
        raise ValueError("dns is no object")
    if foreign := {"ip4", "ip6"} & set(found):
        raise ValueError(f"{sorted(foreign)[0]} went with 0.3.0")
    for each in found.get("interfaces", []):
        if not isinstance(each.get("name"), str):
            raise ValueError("an interface has no name")
    for each in found.get("ips", []):
        _check_ip(each, len(found.get("interfaces", [])))
    for each in found.get("routes", []):
        cidr(each.get("dst"))
        _check_gateway(each.get("gw"), each["dst"])


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
