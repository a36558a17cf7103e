"""The search: first fit, depth first, in the order of kube-scheduler 1.37.

Within a request only combinations are tried: the next device stands after the last one. Across
requests, and over the subrequests of a prioritized list, everything is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refimpl.dra.allocation.constraints import constraints_of
from refimpl.dra.allocation.model import (
    AllocationError,
    DeviceId,
    Features,
    Node,
    Outcome,
    Refusal,
    Taken,
)
from refimpl.dra.allocation.picks import Picks
from refimpl.dra.allocation.pools import Candidate, Slices
from refimpl.dra.allocation.requests import MOST_RESULTS, Alternative, Request, prepared
from refimpl.dra.allocation.results import allocation_result

__all__ = ["allocate"]


def _share_id() -> str:
    return str(uuid.uuid4())


def allocate(
    claims: Sequence[Mapping[str, Any]],
    node: Node,
    slices: Slices,
    classes: Mapping[str, Mapping[str, Any]],
    *,
    taken: Taken | None = None,
    features: Features | None = None,
    share_id: Callable[[], str] = _share_id,
) -> Outcome:
    """Devices of a node for the claims of one pod that have none yet, or why there are not enough.

    claims, classes (by name): objects of v1 as JSON has them; they are not changed. Raises
    AllocationError for what stops a scheduler on every node.
    """
    chosen = features or Features()
    pools = slices.pools(node, chosen)
    usable = [pool for pool in pools if not pool.problem]
    requests = prepared(list(claims), classes, pools, chosen)
    picks = Picks(
        usable, node, taken or Taken(), chosen, [constraints_of(claim) for claim in claims]
    )
    search = _Search(requests, [each for pool in usable for each in pool.candidates], picks)
    try:
        found = search.request(0)
    except _Full:
        raise AllocationError(
            f"a claim would get more than {MOST_RESULTS} devices, whatever is chosen"
        ) from None
    allocations = None
    if found:
        allocations = [
            allocation_result(
                claim,
                [pick for pick in picks.all if pick.claim == index],
                classes,
                node,
                chosen,
                share_id,
            )
            for index, claim in enumerate(claims)
        ]
    problems = {pool.id: pool.problem for pool in pools if pool.problem}
    short = (
        {} if found else {label: each for label, each in search.best.items() if each[0] < each[1]}
    )
    return Outcome(allocations, list(search.refusals.values()), problems, short)


class _Full(Exception):
    """A claim has as many devices as there may be: other devices are no help, only a subrequest
    before that asks for less."""


class _Search:
    def __init__(self, requests: list[Request], candidates: list[Candidate], picks: Picks) -> None:
        self._requests, self._candidates, self._picks = requests, candidates, picks
        self.refusals: dict[tuple[str, DeviceId], Refusal] = {}
        self.best: dict[str, tuple[int, int]] = {}

    def request(self, index: int) -> bool:
        """Whether this request and all after it are satisfied; the picks are then made."""
        if index == len(self._requests):
            return True
        request, full = self._requests[index], False
        made = len(self._picks.all)
        for alternative in request.alternatives:
            if alternative.count > MOST_RESULTS - self._picks.count(request.claim):
                full = True
                continue
            if alternative.devices is not None and not alternative.devices:
                self.best[alternative.label] = (0, 1)
                continue
            try:
                if self._devices(index, request.claim, alternative, 0, 0):
                    return True
            except _Full:
                full = True
                while len(self._picks.all) > made:
                    self._picks.undo()
        if full:
            raise _Full
        return False

    def _devices(
        self, index: int, claim: int, alternative: Alternative, done: int, start: int
    ) -> bool:
        """The rest of the devices of one request, and all requests after it."""
        if done >= self.best.get(alternative.label, (0, 0))[0]:
            self.best[alternative.label] = (done, alternative.count)
        if done == alternative.count:
            return self.request(index + 1)
        candidates, places = self._candidates, range(start, len(self._candidates))
        if alternative.devices is not None:  # each of them has to be had
            candidates, places = alternative.devices, range(done, done + 1)
        for place in places:
            candidate = candidates[place]
            rule, why = self._picks.refused(claim, alternative, candidate)
            if rule:
                key = (alternative.label, candidate.id)
                if key not in self.refusals:
                    self.refusals[key] = Refusal(alternative.label, candidate.id, rule, why)
                continue
            if self._devices(index, claim, alternative, done + 1, place + 1):
                return True
            self._picks.undo()
        return False
