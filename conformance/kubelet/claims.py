"""Claims as a scheduler leaves them, allocated and reserved for a pod: those that its containers
name, and those behind extended resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refimpl.node.pods import Claim, PodSpec

__all__ = ["claim_of", "claim_status", "claims_of", "named_claims"]

_REQUEST = "device"


def named_claims(pod: PodSpec) -> list[Claim]:
    """The claims that containers of the pod name, each once."""
    named = (claim for each in (*pod.init, *pod.app) for claim in each.claims)
    return list({claim.name: claim for claim in named}.values())


def claims_of(pod: PodSpec) -> list[dict[str, Any]]:
    """The objects of all its claims."""
    objects = [_named(pod, claim) for claim in named_claims(pod)]
    behind = claim_of(pod)
    return [*objects, behind] if behind else objects


def claim_of(pod: PodSpec) -> dict[str, Any] | None:
    """The claim of a pod some of whose resources are claimed, None if none is.

    It has been allocated no device, so that no driver is needed to prepare it.
    """
    if not any(each.claimed for each in (*pod.init, *pod.app)):
        return None
    return _claim(pod, _name(pod), (), ())


def claim_status(pod: PodSpec) -> dict[str, Any]:
    """What the scheduler writes into the status of the pod: which request backs which resource."""
    mappings = [
        {"containerName": each.name, "resourceName": resource, "requestName": f"request-{number}"}
        for each in (*pod.init, *pod.app)
        for number, resource in enumerate(sorted(each.claimed))
    ]
    if not mappings:
        return {}
    named = {"resourceClaimName": _name(pod), "requestMappings": mappings}
    return {"extendedResourceClaimStatus": named}


def _named(pod: PodSpec, claim: Claim) -> dict[str, Any]:
    device = {
        "request": _REQUEST,
        "driver": claim.driver,
        "pool": claim.pool,
        "device": claim.device,
        **({"shareID": claim.share} if claim.share else {}),
    }
    request = {"name": _REQUEST, "exactly": {"deviceClassName": claim.driver}}
    return _claim(pod, claim.name, (request,), (device,))


def _claim(
    pod: PodSpec, name: str, requests: Sequence[Any], results: Sequence[Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": pod.namespace},
        "spec": {"devices": {"requests": list(requests)} if requests else {}},
        "status": {
            "allocation": {"devices": {"results": list(results)}},
            "reservedFor": [{"resource": "pods", "name": pod.name, "uid": pod.uid}],
        },
    }


def _name(pod: PodSpec) -> str:
    return f"{pod.name}-{pod.uid}"
