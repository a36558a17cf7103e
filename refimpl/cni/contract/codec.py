"""Results from and to JSON values, in the shape of each version (CNI SPEC section 5)."""

from __future__ import annotations

from refimpl.cni.contract.addresses import family
from refimpl.cni.contract.checking import problems
from refimpl.cni.contract.problem import (
    ConversionError,
    Kind,
    Problem,
    ShapeError,
    is_integer,
    wanted,
)
from refimpl.cni.contract.results import Address, Dns, Interface, Result, Route
from refimpl.cni.contract.shapes import members
from refimpl.cni.contract.versions import VERSIONS

__all__ = ["decode", "encode"]


def decode(value: object, version: str, *, lenient: bool = False, ipam: bool = False) -> Result:
    """The result in a decoded JSON value, read as that version.

    Raises ShapeError with everything `problems` finds. `lenient` keeps what can be kept instead:
    known members of the right type are read whatever they say, the others stay in `extra`; then
    only an unknown version, or a value that is no object, is refused. Whatever cniVersion says,
    the result is one of `version`.
    Values in `extra` are shared with `value`, not copied.
    """
    version = version or VERSIONS[0]
    if not lenient and (found := problems(value, version, ipam=ipam)):
        raise ShapeError(f"a CNI {version} result", found)
    if version not in VERSIONS:
        raise ShapeError(f"a CNI {version} result", problems(value, version))
    if not isinstance(value, dict):
        problem = Problem("", wanted("an object", value), Kind.TYPE)
        raise ShapeError(f"a CNI {version} result", [problem])
    return _result(_Rest(value), version)


class _Rest(dict[str, object]):
    """The members of an object that were not read yet; null counts as absent."""

    def text(self, name: str) -> str:
        found = self.get(name)
        if found is None or isinstance(found, str):
            return str(self.pop(name, None) or "")
        return ""

    def number(self, name: str) -> int | None:
        found = self.get(name)
        if found is None or is_integer(found):
            self.pop(name, None)
            return found
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(each for each in self._array(name) if isinstance(each, str))

    def objects(self, name: str) -> list[_Rest | None]:
        """The elements of an array; None stands for one that is no object."""
        return [_Rest(each) if isinstance(each, dict) else None for each in self._array(name)]

    def one(self, name: str) -> _Rest | None:
        found = self.get(name)
        if found is None or isinstance(found, dict):
            self.pop(name, None)
        return _Rest(found) if isinstance(found, dict) else None

    def _array(self, name: str) -> list[object]:
        found = self.get(name)
        if found is None or isinstance(found, list):
            self.pop(name, None)
        return found if isinstance(found, list) else []

    def left(self) -> dict[str, object]:
        return dict(self)


def _result(rest: _Rest, version: str) -> Result:
    rest.pop("cniVersion", None)
    dns = _dns(rest.one("dns") or _Rest())
    if "ip4" in members("result", version):
        ips, routes = _flat(rest)
        return Result(version, (), ips, routes, dns, rest.left())
    # A placeholder for what is no object keeps the indexes of the others true.
    interfaces = tuple(
        Interface("") if each is None else _interface(each) for each in rest.objects("interfaces")
    )
    versioned = "version" in members("address", version)
    ips = tuple(_address(each, versioned) for each in rest.objects("ips") if each is not None)
    routes = tuple(_route(each) for each in rest.objects("routes") if each is not None)
    return Result(version, interfaces, ips, routes, dns, rest.left())


def _flat(rest: _Rest) -> tuple[tuple[Address, ...], tuple[Route, ...]]:
    ips: list[Address] = []
    routes: list[Route] = []
    for name in ("ip4", "ip6"):
        one = rest.one(name)
        if one is not None:
            routes += [_route(each) for each in one.objects("routes") if each is not None]
            text, gateway = one.text("ip"), one.text("gateway")
            ips.append(Address(text, gateway, None, one.left()))
    return tuple(ips), tuple(routes)


def _interface(rest: _Rest) -> Interface:
    return Interface(
        name=rest.text("name"),
        mac=rest.text("mac"),
        mtu=rest.number("mtu") or 0,
        sandbox=rest.text("sandbox"),
        socket_path=rest.text("socketPath"),
        pci_id=rest.text("pciID"),
        extra=rest.left(),
    )


def _address(rest: _Rest, versioned: bool) -> Address:
    text = rest.text("address")
    # The family is that of the address; a version that says something else is kept as it came.
    if versioned and rest.get("version") in (None, str(family(text))):
        rest.pop("version", None)
    gateway, interface = rest.text("gateway"), rest.number("interface")
    return Address(text, gateway, interface, rest.left())


def _route(rest: _Rest) -> Route:
    return Route(
        dst=rest.text("dst"),
        gw=rest.text("gw"),
        mtu=rest.number("mtu") or 0,
        advmss=rest.number("advmss") or 0,
        priority=rest.number("priority") or 0,
        table=rest.number("table"),
        scope=rest.number("scope"),
        extra=rest.left(),
    )


def _dns(rest: _Rest) -> Dns:
    return Dns(
        nameservers=rest.texts("nameservers"),
        domain=rest.text("domain"),
        search=rest.texts("search"),
        options=rest.texts("options"),
        extra=rest.left(),
    )


def encode(result: Result) -> dict[str, object]:
    """The result as a JSON value in the shape of its own version; what is empty is left out.

    Nothing that is set is dropped: members the version does not define (a route's mtu at 0.4.0)
    are written, and `problems` finds them. Raises ConversionError where the shape has no place:
    an unknown version, or up to 0.2.0 interfaces, a second address of one family, a route without
    an address of its family. `convert` makes a result that fits.
    """
    if result.cni_version not in VERSIONS:
        raise ConversionError(
            f"result of version {result.cni_version!r}: no such version; give it one of "
            f"{', '.join(VERSIONS)}"
        )
    dns = {"dns": _dns_out(result.dns)} if result.dns else {}
    head: dict[str, object] = {"cniVersion": result.cni_version}
    if "ip4" in members("result", result.cni_version):
        return {**head, **_flat_out(result), **dns, **result.extra}
    versioned = "version" in members("address", result.cni_version)
    arrays: dict[str, object] = {
        "interfaces": [_interface_out(each) for each in result.interfaces],
        "ips": [_address_out(each, versioned) for each in result.ips],
        "routes": [_route_out(each) for each in result.routes],
    }
    return {**head, **_said(arrays), **dns, **result.extra}


def _said(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value not in ("", 0, None, [], ())}


def _interface_out(interface: Interface) -> dict[str, object]:
    optional: dict[str, object] = {
        "mac": interface.mac,
        "mtu": interface.mtu,
        "sandbox": interface.sandbox,
        "socketPath": interface.socket_path,
        "pciID": interface.pci_id,
    }
    return {"name": interface.name, **_said(optional), **interface.extra}


def _address_out(address: Address, versioned: bool) -> dict[str, object]:
    told = family(address.address)
    version = {"version": str(told)} if versioned and told else {}
    index = {} if address.interface is None else {"interface": address.interface}
    gateway = _said({"gateway": address.gateway})
    return {**version, "address": address.address, **gateway, **index, **address.extra}


def _route_out(route: Route) -> dict[str, object]:
    optional: dict[str, object] = {
        "gw": route.gw,
        "mtu": route.mtu,
        "advmss": route.advmss,
        "priority": route.priority,
    }
    numbers = {"table": route.table, "scope": route.scope}
    given = {name: value for name, value in numbers.items() if value is not None}
    return {"dst": route.dst, **_said(optional), **given, **route.extra}


def _dns_out(dns: Dns) -> dict[str, object]:
    optional: dict[str, object] = {
        "nameservers": list(dns.nameservers),
        "domain": dns.domain,
        "search": list(dns.search),
        "options": list(dns.options),
    }
    return {**_said(optional), **dns.extra}


def _flat_out(result: Result) -> dict[str, object]:
    out: dict[str, object] = {}
    _refuse(result, bool(result.interfaces), "interfaces")
    for address in result.ips:
        told = family(address.address)
        name = f"ip{told}"
        _refuse(result, told is None, f"the address {address.address!r}")
        _refuse(result, name in out, f"a second IPv{told} address, {address.address}")
        _refuse(result, address.interface is not None, "the index of an interface")
        routes = [_route_out(each) for each in result.routes if family(each.dst) == told]
        gateway = _said({"gateway": address.gateway, "routes": routes})
        out[name] = {"ip": address.address, **gateway, **address.extra}
    for route in result.routes:
        homeless = f"ip{family(route.dst)}" not in out
        _refuse(result, homeless, f"the route to {route.dst}, without an address of its family")
    return out


def _refuse(result: Result, unfit: bool, what: str) -> None:
    if unfit:
        raise ConversionError(
            f"result of version {result.cni_version} with {what}: the results of that version "
            "have no place for it; convert() the result, or leave it out"
        )
