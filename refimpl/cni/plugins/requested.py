"""Addresses that a request asks for by name, and the name servers of a resolv.conf."""

from __future__ import annotations

from refimpl.cni.format.addresses import address, cidr
from refimpl.cni.format.errors import INVALID_CONFIG, IO, CniError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from refimpl.cni.plugins.ranges import RangeSet
    from refimpl.cni.plugins.request import Call

__all__ = ["by_set", "resolv_conf"]


def by_set(call: Call, sets: list[RangeSet]) -> list[int | None]:
    """The address asked of each range set, None where any will do. Raises CniError (7) for an
    address that is in no range, or one of two for the same set: nobody gets another silently."""
    found: list[int | None] = [None] * len(sets)
    for given in _asked(call):
        try:
            family, value, prefix = cidr(given) if "/" in str(given) else (*address(given), None)
        except ValueError as error:
            raise CniError(INVALID_CONFIG, f"an address is asked for, but {error}") from None
        place = _place(sets, found, family, value, prefix)
        if place is not None:
            found[place] = value
        elif not call.breach("ignore-request"):
            raise CniError(
                INVALID_CONFIG,
                f"{given} was asked for; no range of network {call.name} can give it",
            )
    return found


def _place(
    sets: list[RangeSet], found: list[int | None], family: int, value: int, prefix: int | None
) -> int | None:
    for place, each in enumerate(sets):
        fits = each.find(family, value)
        if found[place] is None and fits is not None and prefix in (None, fits.prefix):
            return place
    return None


def _asked(call: Call) -> list[Any]:
    runtime = call.config.get("runtimeConfig", {}).get("ips")
    args = call.config.get("args", {})
    cni = args.get("cni", {}) if isinstance(args, dict) else {}
    ours = cni.get("ips") if isinstance(cni, dict) else None
    env = [
        item.partition("=")[2]
        for item in call.environ.get("CNI_ARGS", "").split(";")
        if item.partition("=")[0] == "IP" and item.partition("=")[2]
    ]
    if call.breach("env-over-args") and env:
        return env
    for where, given in (("runtimeConfig.ips", runtime), ("args.cni.ips", ours)):
        if given is not None and not isinstance(given, list):
            raise CniError(INVALID_CONFIG, f"{where} is {given!r}; it has to be an array")
    return runtime or ours or env


def resolv_conf(path: object) -> dict[str, Any]:
    """nameservers, domain, search and options of a resolv.conf(5). Raises CniError."""
    if not isinstance(path, str):
        raise CniError(INVALID_CONFIG, f"ipam.resolvConf is {path!r}; it has to be a string")
    try:
        with open(path, "rb") as file:
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        raise CniError(IO, f"ipam.resolvConf {path} cannot be read: {error.strerror}") from None
    found: dict[str, Any] = {}
    for key, *values in (line.split() for line in lines if line.split()):
        if key == "nameserver":
            found.setdefault("nameservers", []).extend(values[:1])
        elif key == "domain" and values:
            found["domain"] = values[0]
        elif key in ("search", "options"):
            found.setdefault(key, []).extend(values)
    return found
