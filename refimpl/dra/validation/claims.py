"""ResourceClaims and what has a claim's requests. Source: resource.k8s.io/v1, limits of 1.37."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refimpl.dra.validation import names, taints
from refimpl.dra.validation.gates import Gates
from refimpl.dra.validation.problems import At, Reason, at_most, given, opaque_object, unique
from refimpl.dra.validation.selectors import costs_of_all, derived_attributes, selectors

__all__ = ["configuration", "device_claim"]

_MOST_REQUESTS, _MOST_ALTERNATIVES, _MOST_CONSTRAINTS, _MOST_CONFIG = 32, 8, 32, 32
_MODES = ("All", "ExactCount")


def device_claim(
    at: At, claim: Mapping[str, Any], gates: Gates, *, admin_at: At | None, fresh: bool = True
) -> None:
    """spec.devices of a claim. admin_at: where admin access is refused, None where the namespace
    has the label for it; fresh: its expressions are new."""
    requests = claim.get("requests") or []
    place = at.field("requests")
    at_most(place, requests, _MOST_REQUESTS)
    unique(place, requests, lambda each: each.get("name"))
    known = _names(requests)
    costs = 0
    for index, (each_at, each) in enumerate(place.items(requests)):
        names.label(each_at.field("name"), each.get("name", ""))
        costs += _request(each_at, each, claim, gates, fresh=fresh)
        exactly = each.get("exactly") or {}
        if exactly.get("adminAccess") and admin_at is not None:
            admin_at.field("requests").index(index).field("adminAccess").note(
                Reason.FORBIDDEN,
                "is for namespaces with the label resource.kubernetes.io/admin-access: true",
            )
    costs_of_all(at, costs)
    at_most(at.field("constraints"), claim.get("constraints"), _MOST_CONSTRAINTS)
    for each_at, each in at.field("constraints").items(claim.get("constraints")):
        _constraint(each_at, each, known)
    at_most(at.field("config"), claim.get("config"), _MOST_CONFIG)
    for each_at, each in at.field("config").items(claim.get("config")):
        _references(each_at.field("requests"), each.get("requests"), known)
        configuration(each_at, each)


def _names(requests: list[Mapping[str, Any]]) -> set[str]:
    """All that constraints and configurations may name."""
    known = set()
    for each in requests:
        name = each.get("name", "")
        known.add(name)
        known |= {f"{name}/{sub.get('name', '')}" for sub in each.get("firstAvailable") or ()}
    return known


def _request(
    at: At, value: Mapping[str, Any], claim: Mapping[str, Any], gates: Gates, *, fresh: bool
) -> int:
    """What the expressions of derived attributes cost."""
    exactly, alternatives = value.get("exactly"), value.get("firstAvailable")
    name = value.get("name", "")
    if exactly is not None and alternatives:
        at.invalid("has exactly or firstAvailable, not both")
    elif exactly is None and not alternatives:
        at.note(Reason.REQUIRED, "has exactly or firstAvailable")
    costs = 0
    if exactly is not None:
        costs += _asked(at.field("exactly"), exactly, (name,), claim, gates, fresh)
    place = at.field("firstAvailable")
    at_most(place, alternatives, _MOST_ALTERNATIVES)
    unique(place, alternatives, lambda each: each.get("name"))
    for each_at, each in place.items(alternatives):
        names.label(each_at.field("name"), each.get("name", ""))
        own = f"{name}/{each.get('name', '')}"
        costs += _asked(each_at, each, (name, own), claim, gates, fresh)
    return costs


def _asked(
    at: At,
    value: Mapping[str, Any],
    called: tuple[str, ...],
    claim: Mapping[str, Any],
    gates: Gates,
    fresh: bool,
) -> int:
    names.subdomain(at.field("deviceClassName"), value.get("deviceClassName", ""))
    selectors(at.field("selectors"), value.get("selectors"), gates, fresh=fresh)
    mode, count = value.get("allocationMode") or "ExactCount", value.get("count")
    at.field("allocationMode").one_of(mode, _MODES)
    if mode == "All" and count:
        at.field("count").invalid("may not be given with the allocation mode All")
    if mode == "ExactCount" and count is not None and count < 0:
        at.field("count").invalid(f"{count} is not above zero")
    for each_at, each in at.field("tolerations").items(value.get("tolerations")):
        taints.toleration(each_at, each)
    constraints = claim.get("constraints") or []
    used = {
        each.get(name)
        for each in constraints
        for name in ("matchAttribute", "distinctAttribute")
        if not each.get("requests") or set(each["requests"]) & set(called)
    }
    place = at.field("derivedAttributes")
    return derived_attributes(place, value.get("derivedAttributes"), used, gates)


def _constraint(at: At, value: Mapping[str, Any], known: set[str]) -> None:
    _references(at.field("requests"), value.get("requests"), known)
    found = given(value, "matchAttribute", "distinctAttribute")
    if not found:
        at.note(Reason.REQUIRED, "has matchAttribute or distinctAttribute")
    for name in found:
        names.full_name(at.field(name), value[name])


def _references(at: At, values: list[str] | None, known: set[str]) -> None:
    at_most(at, values, _MOST_REQUESTS)
    unique(at, values)
    for place, each in at.items(values):
        if each not in known:
            place.invalid(f"{each!r} is no request of the claim, nor request/subrequest")


def configuration(at: At, value: Mapping[str, Any]) -> None:
    """Parameters that only a driver knows."""
    opaque, place = value.get("opaque"), at.field("opaque")
    if opaque is None:
        place.note(Reason.REQUIRED, "has to be given")
        return
    names.driver(place.field("driver"), opaque.get("driver", ""))
    parameters, inside = opaque.get("parameters"), place.field("parameters")
    if parameters is None:
        inside.note(Reason.REQUIRED, "has to be given")
        return
    opaque_object(inside, parameters)
