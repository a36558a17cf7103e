"""Whole objects of resource.k8s.io, as an API server of Kubernetes 1.37 judges them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from refimpl.dra.validation import names, taints
from refimpl.dra.validation.claims import configuration, device_claim
from refimpl.dra.validation.gates import Gates, without_disabled
from refimpl.dra.validation.problems import At, Problem, Reason, at_most, required
from refimpl.dra.validation.selectors import selectors
from refimpl.dra.validation.slices import slice_spec, slice_update
from refimpl.dra.validation.statuses import claim_status

__all__ = ["KINDS", "validate", "validate_status"]

_MOST_CONFIG = 32
_POOLS = 1000

Object = Mapping[str, Any]


@attrs.frozen
class _Asked:
    """An object and what is known around it."""

    at: At
    object: Object
    before: Object | None
    gates: Gates
    admin_access: bool

    @property
    def spec(self) -> Object:
        """The spec, empty where there is none."""
        return self.object.get("spec") or {}

    @property
    def old(self) -> Object:
        """The spec that is stored."""
        return (self.before or {}).get("spec") or {}


def validate(
    object: Object,
    *,
    before: Object | None = None,
    gates: Gates | None = None,
    admin_access: bool = False,
) -> list[Problem]:
    """What is wrong with an object that is created, or that takes the place of the one `before`.

    admin_access: the namespace has the label for it. The object has the shape of its kind (see
    refimpl.dra.shape) and only defaults are missing. Raises KeyError for a kind that is none of
    KINDS.
    """
    chosen = gates or Gates()
    shown = without_disabled(object, before, chosen)
    problems: list[Problem] = []
    check = KINDS[str(object["kind"])]
    check(_Asked(At(problems).field("spec"), shown, before, chosen, admin_access))
    return problems


def validate_status(status: Object, before: Object) -> list[Problem]:
    """What is wrong with a new status of the object `before`."""
    problems: list[Problem] = []
    at = At(problems).field("status")
    if before["kind"] == "ResourceClaim":
        deleting = bool((before.get("metadata") or {}).get("deletionTimestamp"))
        claim_status(at, status, before, deleting=deleting)
    elif before["kind"] == "DeviceTaintRule":
        taints.conditions(at.field("conditions"), status.get("conditions"))
    elif before["kind"] == "ResourcePoolStatusRequest":
        _pool_status(at, status, before.get("status"))
    return problems


def _slice(asked: _Asked) -> None:
    slice_spec(asked.at, asked.spec, asked.gates)
    if asked.before is not None:
        slice_update(asked.at, asked.spec, asked.old)


def _claim(asked: _Asked) -> None:
    at = asked.at.field("devices")
    if asked.before is not None:
        _unchanged(asked.at, asked.spec, asked.old)
        return
    admin_at = None if asked.admin_access else at
    device_claim(at, asked.spec.get("devices") or {}, asked.gates, admin_at=admin_at)


def _template(asked: _Asked) -> None:
    if asked.before is not None:
        _unchanged(asked.at, asked.spec.get("spec") or {}, asked.old.get("spec") or {})
        return
    for name in (asked.spec.get("metadata") or {}).keys() - {"labels", "annotations"}:
        asked.at.field("metadata", name).note(
            Reason.FORBIDDEN, "only labels and annotations are taken over by claims"
        )
    claim = (asked.spec.get("spec") or {}).get("devices") or {}
    # Admin access is refused as if the template were a claim.
    admin_at = None if asked.admin_access else asked.at.field("devices")
    device_claim(asked.at.field("spec", "devices"), claim, asked.gates, admin_at=admin_at)


def _unchanged(at: At, spec: Object, old: Object) -> None:
    if with_defaults(spec) != with_defaults(old):
        at.invalid("may not change")


def with_defaults(spec: Object) -> Object:
    """The spec of a claim as it is stored."""
    devices = dict(spec.get("devices") or {})
    requests = []
    for request in devices.get("requests") or ():
        shown = dict(request)
        if shown.get("exactly") is not None:
            shown["exactly"] = _counted(shown["exactly"])
        if shown.get("firstAvailable"):
            shown["firstAvailable"] = [_counted(each) for each in shown["firstAvailable"]]
        requests.append(shown)
    return {**spec, "devices": {**devices, "requests": requests}}


def _counted(asked: Object) -> Object:
    mode = asked.get("allocationMode") or "ExactCount"
    count = {"count": asked.get("count") or 1} if mode == "ExactCount" else {}
    return {**asked, "allocationMode": mode, **count}


def _class(asked: _Asked) -> None:
    spec, at = asked.spec, asked.at
    fresh = asked.before is None or spec.get("selectors") != asked.old.get("selectors")
    selectors(at.field("selectors"), spec.get("selectors"), asked.gates, fresh=fresh)
    at_most(at.field("config"), spec.get("config"), _MOST_CONFIG)
    for place, each in at.field("config").items(spec.get("config")):
        configuration(place, each)
    if spec.get("extendedResourceName") is not None:
        names.extended_resource(at.field("extendedResourceName"), spec["extendedResourceName"])


def _taint_rule(asked: _Asked) -> None:
    chosen, at = asked.spec.get("deviceSelector") or {}, asked.at
    if chosen.get("driver") is not None:
        names.driver(at.field("deviceSelector", "driver"), chosen["driver"])
    if chosen.get("pool") is not None:
        names.pool(at.field("deviceSelector", "pool"), chosen["pool"])
    if chosen.get("device") is not None:
        names.label(at.field("deviceSelector", "device"), chosen["device"])
    taints.taint(at.field("taint"), asked.spec.get("taint") or {})


def _pool_request(asked: _Asked) -> None:
    spec, at = asked.spec, asked.at
    names.driver(at.field("driver"), spec.get("driver", ""))
    if spec.get("poolName") is not None:
        names.pool(at.field("poolName"), spec["poolName"])
    if spec.get("limit") is not None and not 1 <= spec["limit"] <= _POOLS:
        at.field("limit").invalid(f"{spec['limit']} is not from 1 to {_POOLS}")
    if spec.get("defaultPartitionTypeAttribute") is not None:
        place = at.field("defaultPartitionTypeAttribute")
        names.full_name(place, spec["defaultPartitionTypeAttribute"])


def _pool_status(at: At, status: Object, old: Object | None) -> None:
    if old:
        if status != old:
            at.invalid("is written once")
        return
    count = status.get("poolCount")
    if count is None:
        required(at.field("poolCount"), count)
    elif count < 0:
        at.field("poolCount").invalid(f"{count} is below zero")
    taints.conditions(at.field("conditions"), status.get("conditions"))


KINDS: dict[str, Callable[[_Asked], None]] = {
    "ResourceSlice": _slice,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
    "DeviceClass": _class,
    "DeviceTaintRule": _taint_rule,
    "ResourcePoolStatusRequest": _pool_request,
}
"""How each kind is judged."""
