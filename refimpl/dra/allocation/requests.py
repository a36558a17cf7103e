"""Requests of claims made ready: expressions compiled, devices of the mode All found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from refimpl.dra.allocation.capacities import check_requests, could_fit
from refimpl.dra.allocation.model import AllocationError, Features, NoSuchClass
from refimpl.dra.allocation.pools import Candidate, Pool
from refimpl.dra.cel import EvaluationError, Expression, ExpressionError, compiled

__all__ = ["MOST_RESULTS", "Alternative", "Request", "prepared"]

MOST_RESULTS = 32
"""Devices of a claim."""


@attrs.define(eq=False)
class Alternative:
    """What a request, or one of its subrequests, asks for. name: as results have it. devices: all
    there are for the mode All, else None."""

    claim: str
    request: str
    name: str
    spec: Mapping[str, Any]
    selectors: list[tuple[str, Expression]]
    derived: dict[str, Expression]
    admin: bool = False
    devices: list[Candidate] | None = None
    _matches: dict[int, str] = attrs.field(factory=dict)

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.claim}: {self.name}"

    @property
    def count(self) -> int:
        """How many devices."""
        return len(self.devices) if self.devices is not None else self.spec.get("count") or 1

    @property
    def amounts(self) -> Mapping[str, Any]:
        """What it asks of capacities."""
        return (self.spec.get("capacity") or {}).get("requests") or {}

    def refuses(self, candidate: Candidate) -> str:
        """Which selector does not take the device, "" for none. Raises AllocationError."""
        known = self._matches.get(id(candidate))
        if known is None:
            known = self._matches[id(candidate)] = self._refused(candidate)
        return known

    def _refused(self, candidate: Candidate) -> str:
        where = ""
        try:
            seen = candidate.seen()
            for where, expression in self.selectors:
                if not expression.matches(seen):
                    return f"{where} does not match: {expression.text}"
        except (EvaluationError, ValueError) as error:
            raise AllocationError(
                f"claim {self.claim}, request {self.name}: {where} fails on device"
                f" {'/'.join(candidate.id)}: {error}"
            ) from None
        return ""


@attrs.frozen(eq=False)
class Request:
    """Its alternatives, the best first: one, or its subrequests."""

    claim: int
    alternatives: list[Alternative]


def prepared(
    claims: list[Mapping[str, Any]],
    classes: Mapping[str, Mapping[str, Any]],
    pools: list[Pool],
    features: Features,
) -> list[Request]:
    """The requests of all claims in their order. Raises AllocationError."""
    requests = []
    for index, claim in enumerate(claims):
        name = (claim.get("metadata") or {}).get("name", "")
        own = [
            Request(index, _alternatives(name, request, classes, features))
            for request in ((claim["spec"].get("devices") or {}).get("requests") or ())
        ]
        for request in own:
            for each in request.alternatives:
                _find_all(each, pools, features)
        least = sum(min(each.count for each in request.alternatives) for request in own)
        if least > MOST_RESULTS:
            raise AllocationError(
                f"claim {name} asks for {least} devices at least; {MOST_RESULTS} are allowed"
            )
        requests += own
    return requests


def _alternatives(
    claim: str,
    request: Mapping[str, Any],
    classes: Mapping[str, Mapping[str, Any]],
    features: Features,
) -> list[Alternative]:
    name = request["name"]
    asked = [(name, request["exactly"])] if request.get("exactly") else []
    asked += [(f"{name}/{sub['name']}", sub) for sub in request.get("firstAvailable") or ()]
    if not asked:
        raise AllocationError(f"claim {claim}, request {name}: neither exactly nor firstAvailable")
    return [_alternative(claim, name, full, spec, classes, features) for full, spec in asked]


def _alternative(
    claim: str,
    request: str,
    name: str,
    spec: Mapping[str, Any],
    classes: Mapping[str, Mapping[str, Any]],
    features: Features,
) -> Alternative:
    where = f"claim {claim}, request {name}"
    wanted = spec.get("deviceClassName") or ""
    if wanted not in classes:
        raise NoSuchClass(f"{where}: there is no device class {wanted!r}")
    if spec.get("allocationMode", "ExactCount") not in ("ExactCount", "All"):
        raise AllocationError(f"{where}: unknown allocation mode {spec['allocationMode']!r}")
    derived = spec.get("derivedAttributes") or []
    if derived and not features.experimental:
        raise AllocationError(f"{where}: derived attributes are switched off")
    of_class = (classes[wanted].get("spec") or {}).get("selectors") or []
    selectors = [
        (f"selector {index} of class {wanted}", _expression(each, where))
        for index, each in enumerate(of_class)
    ]
    selectors += [
        (f"selector {index} of the request", _expression(each, where))
        for index, each in enumerate(spec.get("selectors") or ())
    ]
    check_requests(where, (spec.get("capacity") or {}).get("requests") or {})
    return Alternative(
        claim,
        request,
        name,
        spec,
        selectors,
        {each["name"]: _compiled(each["expression"], where) for each in derived},
        admin=bool(spec.get("adminAccess")),
    )


def _expression(selector: Mapping[str, Any], where: str) -> Expression:
    if not selector.get("cel"):
        raise AllocationError(f"{where}: a selector without an expression")
    return _compiled(selector["cel"]["expression"], where)


def _compiled(text: str, where: str) -> Expression:
    try:
        return compiled(text, list_attributes=True)
    except ExpressionError as error:
        raise AllocationError(f"{where}: {text}: {error}") from None


def _find_all(alternative: Alternative, pools: list[Pool], features: Features) -> None:
    """Finds the devices of the mode All. Raises AllocationError for a pool that cannot be used."""
    if alternative.spec.get("allocationMode") != "All":
        return
    found = []
    for pool in pools:
        if pool.problem:
            raise AllocationError(
                f"claim {alternative.claim}, request {alternative.name} asks for all devices, and"
                f" pool {'/'.join(pool.id)} {pool.problem}"
            )
        found += [
            each
            for each in pool.candidates
            if not alternative.refuses(each) and could_fit(alternative.amounts, each, features)
        ]
    alternative.devices = found
