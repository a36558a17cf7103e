"""Why claims are satisfied on a node, or not: for people and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from refimpl.dra.allocation.model import AllocationError, Features, Node, Outcome, taken_by
from refimpl.dra.allocation.pools import Slices
from refimpl.dra.allocation.search import allocate

__all__ = ["Verdict", "explained", "told"]

_SHOWN = 8
"""Devices that are told one by one where the same rule refuses more of them."""


@attrs.frozen
class Verdict:
    """What a scheduler finds on a node. error: what stops it on every node, "" for nothing."""

    node: str
    outcome: Outcome | None
    error: str = ""

    @property
    def fits(self) -> bool:
        """Whether the claims can be had there."""
        return self.outcome is not None and self.outcome.allocations is not None

    def data(self) -> dict[str, Any]:
        """For JSON."""
        if self.outcome is None:
            return {"node": self.node, "fits": False, "error": self.error}
        return {
            "node": self.node,
            "fits": self.fits,
            "allocations": self.outcome.allocations,
            "pools": {"/".join(id): why for id, why in self.outcome.pools.items()},
            "short": {
                request: {"found": found, "wanted": wanted}
                for request, (found, wanted) in self.outcome.short.items()
            },
            "refused": [
                {
                    "request": each.request,
                    "device": "/".join(each.device),
                    "rule": each.rule,
                    "why": each.why,
                }
                for each in self.outcome.refusals
            ],
        }


def explained(
    objects: Sequence[Mapping[str, Any]], nodes: Sequence[Node], *, features: Features | None = None
) -> list[Verdict]:
    """A verdict for each node on all claims of the objects that have no allocation; those that have
    one take their devices. objects: of resource.k8s.io/v1, as JSON has them."""

    def of(kind: str) -> list[Mapping[str, Any]]:
        return [each for each in objects if each.get("kind") == kind]

    slices = Slices(of("ResourceSlice"), of("DeviceTaintRule"))
    classes = {each["metadata"]["name"]: each for each in of("DeviceClass")}
    done = [(each.get("status") or {}).get("allocation") for each in of("ResourceClaim")]
    open_claims = [
        each for each, allocation in zip(of("ResourceClaim"), done, strict=True) if not allocation
    ]
    taken = taken_by([each for each in done if each])
    verdicts = []
    for node in nodes:
        try:
            outcome = allocate(open_claims, node, slices, classes, taken=taken, features=features)
            verdicts.append(Verdict(node.name, outcome))
        except AllocationError as error:
            verdicts.append(Verdict(node.name, None, str(error)))
    return verdicts


def told(verdict: Verdict) -> Iterator[str]:
    """Lines of a tree."""
    if verdict.outcome is None:
        yield f"{verdict.node}: error on every node"
        yield f"  {verdict.error}"
        return
    yield f"{verdict.node}: {'fits' if verdict.fits else 'does not fit'}"
    for allocation in verdict.outcome.allocations or ():
        for result in (allocation.get("devices") or {}).get("results", ()):
            device = "/".join((result["driver"], result["pool"], result["device"]))
            yield f"  {result['request']}: {device}"
    for id, why in verdict.outcome.pools.items():
        yield f"  pool {'/'.join(id)}: left out, {why}"
    if verdict.fits:
        return
    for request, (found, wanted) in verdict.outcome.short.items():
        yield f"  {request}: {found} of {wanted} devices at most"
        refusals = [each for each in verdict.outcome.refusals if each.request == request]
        for rule in dict.fromkeys(each.rule for each in refusals):
            same = [each for each in refusals if each.rule == rule]
            for each in same[:_SHOWN]:
                yield f"    {'/'.join(each.device)}  {rule}: {each.why}"
            if len(same) > _SHOWN:
                yield f"    and {len(same) - _SHOWN} more  {rule}"
