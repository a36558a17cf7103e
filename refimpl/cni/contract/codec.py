"""Results as typed values, from and to JSON values in the shape of each version.

The shapes are `format.results`'s; between them and `Result` stands its inner form.
"""

from __future__ import annotations

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
from refimpl.cni.format.results import fold, is_flat, unfold

__all__ = ["decode", "encode", "inner", "typed"]


def decode(value: object, version: str, *, lenient: bool = False, ipam: bool = False) -> Result:
    """The result in a decoded JSON value, read as that version.

    Raises ShapeError with everything `problems` finds. `lenient` keeps what can be kept instead:
    known members of the right type are read whatever they say, the others stay in `extra`; then
    only an unknown version, or a value that is no object, is refused. Whatever cniVersion says,
    the result is one of `version`.
    """
    version = version or VERSIONS[0]
    if not lenient and (wrong := problems(value, version, ipam=ipam)):
        raise ShapeError(f"a CNI {version} result", wrong)
    if version not in VERSIONS:
        raise ShapeError(f"a CNI {version} result", problems(value, version))
    if not isinstance(value, dict):
        problem = Problem("", wanted("an object", value), Kind.TYPE)
        raise ShapeError(f"a CNI {version} result", [problem])
    defined = members("result", version)
    foreign = {name: item for name, item in value.items() if name not in defined}
    document = {name: item for name, item in value.items() if name in defined}
    return typed(unfold(document, version), version, foreign)


class _Rest(dict[str, object]):
    """The members of an object that were not read yet; null counts as absent."""

    def text(self, name: str) -> str:
        value = self.get(name)
        if value is None or isinstance(value, str):
            return str(self.pop(name, None) or "")
        return ""

    def number(self, name: str) -> int | None:
        value = self.get(name)
        if value is None or is_integer(value):
            self.pop(name, None)
            return value
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(each for each in self._array(name) if isinstance(each, str))

    def objects(self, name: str) -> list[_Rest | None]:
        """The elements of an array; None stands for one that is no object."""
        return [_Rest(each) if isinstance(each, dict) else None for each in self._array(name)]

    def one(self, name: str) -> _Rest:
        value = self.get(name)
        if value is None or isinstance(value, dict):
            self.pop(name, None)
        return _Rest(value) if isinstance(value, dict) else _Rest()

    def _array(self, name: str) -> list[object]:
        value = self.get(name)
        if value is None or isinstance(value, list):
            self.pop(name, None)
        return value if isinstance(value, list) else []

    def left(self) -> dict[str, object]:
        return dict(self)


def typed(inner: dict[str, object], version: str, foreign: dict[str, object]) -> Result:
    """The `Result` of the inner form; `foreign` are members of the document that the version has
    not. What has a wrong type stays in `extra`."""
    rest = _Rest(inner)
    # A placeholder for what is no object keeps the indexes of the others true.
    interfaces = tuple(
        Interface("") if each is None else _interface(each) for each in rest.objects("interfaces")
    )
    indexed = not is_flat(version)
    ips = tuple(_address(each, indexed) for each in rest.objects("ips") if each is not None)
    routes = tuple(_route(each) for each in rest.objects("routes") if each is not None)
    dns = _dns(rest.one("dns"))
    return Result(version, interfaces, ips, routes, dns, {**rest.left(), **foreign})


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


def _address(rest: _Rest, indexed: bool) -> Address:
    address, gateway = rest.text("address"), rest.text("gateway")
    interface = rest.number("interface") if indexed else None
    return Address(address, gateway, interface, rest.left())


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
    version = result.cni_version
    if version not in VERSIONS:
        raise ConversionError(
            f"result of version {version!r}: no such version; give it one of {', '.join(VERSIONS)}"
        )
    try:
        if is_flat(version) and any(each.interface is not None for each in result.ips):
            raise ValueError("the index of an interface")
        return {**fold(inner(result), version), **result.extra}
    except ValueError as unfit:
        raise ConversionError(
            f"result of version {version} with {unfit}: the results of that version have no place "
            "for it; convert() the result, or leave it out"
        ) from None


def inner(result: Result) -> dict[str, object]:
    """The inner form of a result, but for its own `extra`."""
    lists: dict[str, object] = {
        "interfaces": [_interface_out(each) for each in result.interfaces],
        "ips": [_address_out(each) for each in result.ips],
        "routes": [_route_out(each) for each in result.routes],
    }
    return _filled({**lists, "dns": _dns_out(result.dns)})


def _filled(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value not in ("", 0, [], {})}


def _interface_out(interface: Interface) -> dict[str, object]:
    optional: dict[str, object] = {
        "mac": interface.mac,
        "mtu": interface.mtu,
        "sandbox": interface.sandbox,
        "socketPath": interface.socket_path,
        "pciID": interface.pci_id,
    }
    return {"name": interface.name, **_filled(optional), **interface.extra}


def _address_out(address: Address) -> dict[str, object]:
    gateway = _filled({"gateway": address.gateway})
    index = {} if address.interface is None else {"interface": address.interface}
    return {"address": address.address, **gateway, **index, **address.extra}


def _route_out(route: Route) -> dict[str, object]:
    optional: dict[str, object] = {
        "gw": route.gw,
        "mtu": route.mtu,
        "advmss": route.advmss,
        "priority": route.priority,
    }
    numbers = {"table": route.table, "scope": route.scope}
    given = {name: value for name, value in numbers.items() if value is not None}
    return {"dst": route.dst, **_filled(optional), **given, **route.extra}


def _dns_out(dns: Dns) -> dict[str, object]:
    optional: dict[str, object] = {
        "nameservers": list(dns.nameservers),
        "domain": dns.domain,
        "search": list(dns.search),
        "options": list(dns.options),
    }
    return {**_filled(optional), **dns.extra}
