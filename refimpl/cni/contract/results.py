"""A result as plain data, the same for every version; `codec` knows the shapes on the wire.

A member that was not given is "", 0 or an empty tuple, but None where 0 has a meaning of its own.
`extra` holds the members no version of the specification knows, as they came.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from refimpl.cni.contract.addresses import normal

__all__ = [
    "Address",
    "Dns",
    "Interface",
    "Result",
    "Route",
    "abbreviated",
    "normalised",
    "stripped",
]


def _extra() -> dict[str, object]:
    return {}


@attrs.frozen
class Interface:
    """An interface of an attachment; `sandbox` is "" on the host's side, `mtu` 0 when unknown."""

    name: str
    mac: str = ""
    mtu: int = 0
    sandbox: str = ""
    socket_path: str = ""
    pci_id: str = ""
    extra: Mapping[str, object] = attrs.field(factory=_extra)


@attrs.frozen
class Address:
    """An address in CIDR notation; `interface` is an index into the interfaces of the result."""

    address: str
    gateway: str = ""
    interface: int | None = None
    extra: Mapping[str, object] = attrs.field(factory=_extra)


@attrs.frozen
class Route:
    """A route; `dst` in CIDR notation, `scope` 0 global, 253 link, 254 host."""

    dst: str
    gw: str = ""
    mtu: int = 0
    advmss: int = 0
    priority: int = 0
    table: int | None = None
    scope: int | None = None
    extra: Mapping[str, object] = attrs.field(factory=_extra)


@attrs.frozen
class Dns:
    """What to tell a resolver; false when it says nothing."""

    nameservers: tuple[str, ...] = ()
    domain: str = ""
    search: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    extra: Mapping[str, object] = attrs.field(factory=_extra)

    def __bool__(self) -> bool:
        return self != Dns()


@attrs.frozen
class Result:
    """What ADD answers (CNI SPEC section 5). Up to 0.2.0 the addresses of `ip4` and `ip6` stand in
    `ips` in this order, and the routes of both in `routes`."""

    cni_version: str
    interfaces: tuple[Interface, ...] = ()
    ips: tuple[Address, ...] = ()
    routes: tuple[Route, ...] = ()
    dns: Dns = Dns()
    extra: Mapping[str, object] = attrs.field(factory=_extra)


def abbreviated(result: Result) -> Result:
    """The part of a result that an IPAM plugin answers: no interfaces, no index into them."""
    ips = tuple(attrs.evolve(address, interface=None) for address in result.ips)
    return attrs.evolve(result, interfaces=(), ips=ips)


def stripped(result: Result) -> Result:
    """The result without unknown members: what is left after it went through Go's types."""
    return attrs.evolve(
        result,
        interfaces=tuple(attrs.evolve(each, extra={}) for each in result.interfaces),
        ips=tuple(attrs.evolve(each, extra={}) for each in result.ips),
        routes=tuple(attrs.evolve(each, extra={}) for each in result.routes),
        dns=attrs.evolve(result.dns, extra={}),
        extra={},
    )


def normalised(result: Result) -> Result:
    """Every address in its one normal spelling, so that equal means the same network."""
    ips = (
        attrs.evolve(each, address=normal(each.address), gateway=normal(each.gateway))
        for each in result.ips
    )
    routes = (
        attrs.evolve(each, dst=normal(each.dst), gw=normal(each.gw)) for each in result.routes
    )
    return attrs.evolve(result, ips=tuple(ips), routes=tuple(routes))
