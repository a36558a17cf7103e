"""Results from one version to another, with the losses of the Go library.

Three shapes lie under the seven versions: ip4/ip6 up to 0.2.0, lists from 0.3.0, and the
attributes that 1.1.0 added. What no version knows (`extra`) stays wherever its object stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import attrs

from refimpl.cni.contract.addresses import family
from refimpl.cni.contract.codec import inner, typed
from refimpl.cni.contract.problem import ConversionError
from refimpl.cni.contract.results import Address, Dns, Interface, Result, Route
from refimpl.cni.contract.shapes import known
from refimpl.cni.contract.versions import VERSIONS, at_least
from refimpl.cni.format.results import is_flat, reduced

__all__ = ["convert", "lossless"]


def lossless(source: str, target: str) -> bool:
    """Whether every valid result of `source` survives in `target` and comes back as it was.

    One exception: a result of 0.1.0 or 0.2.0 without any address cannot come back.
    """
    return _holds(target) >= _holds(source)


def _holds(version: str) -> int:
    """How much a result can say; 1.0.0 only drops what an address tells by itself."""
    return 0 if is_flat(version) else 1 + at_least(version, "1.1.0")


def convert(
    result: Result,
    version: str,
    *,
    keep_route_attributes: bool = False,
    keep_interface_attributes: bool = False,
) -> Result:
    """The result as that version tells it; the empty version is 0.1.0.

    Below 1.1.0 routes lose mtu, advmss, priority, table, scope, and interfaces mtu, socketPath,
    pciID. The Go library keeps those of routes (0.3.0 to 1.0.0) and of interfaces (1.0.0 only):
    the two arguments do as it does. To 0.1.0 and 0.2.0 only the first address of each family
    goes, with the routes of that family. The same version gives the same result.
    Raises ConversionError for an unknown version, and to 0.1.0 and 0.2.0 without any address.
    """
    version = version or VERSIONS[0]
    if version == result.cni_version:
        return result
    for each in (result.cni_version, version):
        if each not in VERSIONS:
            raise ConversionError(
                f"result of version {result.cni_version!r} to {version!r}: {each!r} is no version "
                f"of results; known are {', '.join(VERSIONS)}"
            )
    if is_flat(result.cni_version):
        result = _sorted_by_family(result)
    kept = {
        "interfaces": keep_interface_attributes and version == "1.0.0",
        "routes": keep_route_attributes,
    }
    result = _unknown_only(result)
    try:
        less = reduced(inner(result), version, [name for name, holds in kept.items() if holds])
    except ValueError as unfit:
        raise ConversionError(
            f"result of version {result.cni_version} to {version}: {unfit}; answer in 0.3.0 or "
            "later"
        ) from None
    return typed(less, version, dict(result.extra))


def _sorted_by_family(result: Result) -> Result:
    """IPv4 before IPv6, as ip4 stands before ip6; the order within a family stays."""
    ips = sorted(result.ips, key=lambda each: family(each.address) or 0)
    routes = sorted(result.routes, key=lambda each: family(each.dst) or 0)
    return attrs.evolve(result, ips=tuple(ips), routes=tuple(routes))


def _unknown_only(result: Result) -> Result:
    """Without known members of a wrong type, which a lenient `decode` leaves in `extra`."""
    ips = {**known("address"), **known("ip4 or ip6")}
    return attrs.evolve(
        result,
        interfaces=tuple(_pruned(each, known("interface")) for each in result.interfaces),
        ips=tuple(_pruned(each, ips) for each in result.ips),
        routes=tuple(_pruned(each, known("route")) for each in result.routes),
        dns=_pruned(result.dns, known("dns")),
        extra=_pruned(result, known("result")).extra,
    )


_Part = TypeVar("_Part", Interface, Address, Route, Dns, Result)


def _pruned(part: _Part, names: Mapping[str, object]) -> _Part:
    extra = {name: value for name, value in part.extra.items() if name not in names}
    return attrs.evolve(part, extra=extra)
