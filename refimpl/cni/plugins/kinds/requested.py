"""Addresses that a request asks for by name, and the name servers of a resolv.conf."""

from __future__ import annotations

from refimpl.cni.format.addresses import address, cidr
from refimpl.cni.format.errors import INVALID_CONFIG, IO, CniError
from refimpl.cni.format.files import content
from refimpl.cni.plugins.steps import step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.call import Call
    from refimpl.cni.plugins.kinds.ranges import RangeSet

__all__ = ["by_set", "in_variable", "resolv_conf"]


@step
def by_set(call: Call, sets: list[RangeSet]) -> list[int | None]:
    """The address asked of each range set, None where any will do. Raises CniError (7) for an
    address that is in no range, or one of two for the same set: nobody gets another silently."""
    wanted: list[int | None] = [None] * len(sets)
    for given in asked(call):
        try:
            family, value, prefix = cidr(given) if "/" in str(given) else (*address(given), None)
        except ValueError as error:
            raise CniError(INVALID_CONFIG, f"an address is asked for, but {error}") from None
        place = _place(sets, wanted, family, value, prefix)
        if place is None:
            raise CniError(
                INVALID_CONFIG,
                f"{given} was asked for; no range of network {call.name} can give it",
            )
        wanted[place] = value
    return wanted


def _place(
    sets: list[RangeSet], wanted: list[int | None], family: int, value: int, prefix: int | None
) -> int | None:
    for place, ranges in enumerate(sets):
        fits = ranges.find(family, value)
        if wanted[place] is None and fits is not None and prefix in (None, fits.prefix):
            return place
    return None


@step
def asked(call: Call) -> list[Any]:
    """The addresses that the request names, by the first means that names any. Raises CniError."""
    runtime = call.config.get("runtimeConfig", {}).get("ips")
    args = call.config.get("args", {})
    cni = args.get("cni", {}) if isinstance(args, dict) else {}
    ours = cni.get("ips") if isinstance(cni, dict) else None
    for where, given in (("runtimeConfig.ips", runtime), ("args.cni.ips", ours)):
        if given is not None and not isinstance(given, list):
            raise CniError(INVALID_CONFIG, f"{where} is {given!r}; it has to be an array")
    return runtime or ours or in_variable(call)


def in_variable(call: Call) -> list[str]:
    """The addresses that CNI_ARGS names."""
    pieces = (piece.partition("=") for piece in call.environ.get("CNI_ARGS", "").split(";"))
    return [value for key, _, value in pieces if key == "IP" and value]


def resolv_conf(path: object) -> dict[str, Any]:
    """nameservers, domain, search and options of a resolv.conf(5). Raises CniError."""
    if not isinstance(path, str):
        raise CniError(INVALID_CONFIG, f"ipam.resolvConf is {path!r}; it has to be a string")
    try:
        lines = content(path).decode(errors="replace").splitlines()
    except OSError as error:
        raise CniError(IO, f"ipam.resolvConf {path} cannot be read: {error.strerror}") from None
    members: dict[str, Any] = {}
    for key, *values in (line.split() for line in lines if line.split()):
        if key == "nameserver":
            members.setdefault("nameservers", []).extend(values[:1])
        elif key == "domain" and values:
            members["domain"] = values[0]
        elif key in ("search", "options"):
            members.setdefault(key, []).extend(values)
    return members
