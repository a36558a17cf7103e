"""Statuses of ResourceClaims. Source: resource.k8s.io/v1 ResourceClaimStatus, limits of 1.37."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from refimpl.dra.validation import names, taints
from refimpl.dra.validation.claims import configuration
from refimpl.dra.validation.problems import At, Reason, at_most, opaque_object, required, unique

__all__ = ["claim_status"]

_MOST_RESULTS, _MOST_CONFIG, _MOST_CONSUMERS, _MOST_ADDRESSES = 32, 64, 256, 16
_LONGEST_INTERFACE, _LONGEST_HARDWARE = 256, 128
_SOURCES = ("FromClaim", "FromClass")


def claim_status(
    at: At, status: Mapping[str, Any], before: Mapping[str, Any], *, deleting: bool
) -> None:
    """before: the stored claim with its spec and status; deleting: it has a deletion timestamp."""
    allocation, old = status.get("allocation"), (before.get("status") or {})
    claim = (before.get("spec") or {}).get("devices") or {}
    if allocation is not None:
        _allocation(at.field("allocation"), allocation, claim)
        if old.get("allocation") is not None and allocation != old["allocation"]:
            at.field("allocation").invalid("may be removed, but not be changed")
    _consumers(at.field("reservedFor"), status, old, deleting=deleting)
    _devices(at.field("devices"), status)


def _allocation(at: At, value: Mapping[str, Any], claim: Mapping[str, Any]) -> None:
    devices, place = value.get("devices") or {}, at.field("devices")
    requests = claim.get("requests") or ()
    known = {each.get("name", "") for each in requests if not each.get("firstAvailable")} | {
        f"{each.get('name', '')}/{sub.get('name', '')}"
        for each in requests
        for sub in each.get("firstAvailable") or ()
    }
    at_most(place.field("results"), devices.get("results"), _MOST_RESULTS)
    for each_at, each in place.field("results").items(devices.get("results")):
        _result(each_at, each, known)
    at_most(place.field("config"), devices.get("config"), _MOST_CONFIG)
    for each_at, each in place.field("config").items(devices.get("config")):
        if required(each_at.field("source"), each.get("source")):
            each_at.field("source").one_of(each["source"], _SOURCES)
        configuration(each_at, each)
    if value.get("nodeSelector") is not None:
        taints.node_selector(at.field("nodeSelector"), value["nodeSelector"], one_term=False)


def _result(at: At, value: Mapping[str, Any], known: set[str]) -> None:
    if value.get("request") not in known:
        at.field("request").invalid(f"{value.get('request')!r} is no request of the claim")
    _named(at, value)
    taints.binding(at, value)
    taints.operations(at.field("skipNodeOperations"), value.get("skipNodeOperations"))


def _named(at: At, value: Mapping[str, Any]) -> None:
    """A device by driver, pool and name, and perhaps one share of it."""
    names.driver(at.field("driver"), value.get("driver", ""))
    names.pool(at.field("pool"), value.get("pool", ""))
    names.label(at.field("device"), value.get("device", ""))
    if value.get("shareID") is not None:
        names.share_id(at.field("shareID"), value["shareID"])


def _consumers(
    at: At, status: Mapping[str, Any], old: Mapping[str, Any], *, deleting: bool
) -> None:
    found = status.get("reservedFor") or []
    at_most(at, found, _MOST_CONSUMERS)
    unique(at, found, lambda each: each.get("uid"))
    for place, each in at.items(found):
        for name in ("resource", "name", "uid"):
            required(place.field(name), each.get(name))
    if found and status.get("allocation") is None:
        at.note(Reason.FORBIDDEN, "may not be given without an allocation")
    known = {each.get("uid") for each in old.get("reservedFor") or ()}
    if deleting and any(each.get("uid") not in known for each in found):
        at.note(Reason.FORBIDDEN, "takes no new consumer while the claim is being deleted")


def _key(value: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(value.get(name) for name in ("driver", "pool", "device", "shareID"))


def _devices(at: At, status: Mapping[str, Any]) -> None:
    allocation = status.get("allocation")
    if allocation is None:
        return  # the entries go with the allocation
    results = (allocation.get("devices") or {}).get("results") or ()
    allocated = set(map(_key, results))
    unique(at, status.get("devices"), _key)
    for place, each in at.items(status.get("devices")):
        if _key(each) not in allocated:
            place.invalid(f"{'/'.join(filter(None, _key(each)))} is not allocated to the claim")
        taints.conditions(place.field("conditions"), each.get("conditions"))
        if each.get("data") is not None:
            opaque_object(place.field("data"), each["data"])
        _network(place.field("networkData"), each.get("networkData") or {})


def _network(at: At, value: Mapping[str, Any]) -> None:
    for name, most in (
        ("interfaceName", _LONGEST_INTERFACE),
        ("hardwareAddress", _LONGEST_HARDWARE),
    ):
        if len(value.get(name) or "") > most:
            at.field(name).note(Reason.TOO_LONG, f"has more than {most} characters")
    addresses, place = value.get("ips"), at.field("ips")
    at_most(place, addresses, _MOST_ADDRESSES)
    unique(place, addresses)
    for each_at, each in place.items(addresses):
        if not _is_interface(each):
            each_at.invalid(f"{each!r} is no address with the length of its prefix: 10.0.0.1/24")


def _is_interface(text: str) -> bool:
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        return False
    return str(interface) == text
