"""What an attempt has picked so far, and whether a device may be picked next.

The rules stand in the order in which kube-scheduler looks at them; the first that refuses is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from refimpl.dra.allocation.capacities import consumed, why_too_little
from refimpl.dra.allocation.constraints import Constraint, Values, values_of
from refimpl.dra.allocation.counters import Counters
from refimpl.dra.allocation.model import AllocationError, DeviceId, Features, Node, Taken
from refimpl.dra.allocation.pools import Candidate, Pool, PoolId
from refimpl.dra.allocation.requests import Alternative
from refimpl.dra.quantity import Quantity

__all__ = ["Pick", "Picks"]

Set = tuple[str, str, str]
"""Driver, pool, counter set."""


@attrs.frozen(eq=False)
class Pick:
    """A device for an alternative. amounts: what it takes of a shared one. before: what the
    constraints of the claim held."""

    claim: int
    alternative: Alternative
    candidate: Candidate
    amounts: Mapping[str, Quantity] | None
    before: tuple[tuple[Values, ...], ...]


class Picks:
    """Picks are undone in the opposite order."""

    def __init__(
        self, pools: list[Pool], node: Node, taken: Taken, features: Features,
        constraints: list[list[Constraint]],
    ) -> None:  # fmt: skip
        self.all: list[Pick] = []
        self._node, self._taken, self._features = node, taken, features
        self._constraints = constraints
        self._held: list[tuple[tuple[Values, ...], ...]] = [
            ((),) * len(each) for each in constraints
        ]
        self._pools = {pool.id: pool for pool in pools}
        self._counters: dict[PoolId, Counters] = {}

    # -- the rules ----------------------------------------------------------------------------

    def refused(
        self, claim: int, alternative: Alternative, candidate: Candidate
    ) -> tuple[str, str]:
        """The rule that refuses a device and why, ("", "") after it was picked. Raises
        AllocationError."""
        for name, rule in _RULES:
            why = rule(self, claim, alternative, candidate)
            if why:
                return name, why
        held, why = self._with(claim, alternative, candidate)
        if why:
            if alternative.devices is not None:
                raise AllocationError(
                    f"claim {alternative.claim}, request {alternative.name} asks for all devices,"
                    f" and {'/'.join(candidate.id)} cannot be one of them: {why}"
                )
            return "constraint", why
        self._pick(claim, alternative, candidate, held)
        return "", ""

    def _in_use(self, claim: int, alternative: Alternative, candidate: Candidate) -> str:
        mine = self.all and [pick for pick in self.all if pick.candidate.id == candidate.id]
        if alternative.admin:
            same = not candidate.shared and any(pick.claim == claim for pick in mine)
            return "this claim has it already" if same else ""
        if candidate.id in self._taken.whole:
            return "another claim has it"
        if not candidate.shared and candidate.id in self._taken.shared:
            return "other claims share it"
        return "it was picked already" if mine and not candidate.shared else ""

    def _selectors(self, _: int, alternative: Alternative, candidate: Candidate) -> str:
        return alternative.refuses(candidate)

    def _capacity(self, _: int, alternative: Alternative, candidate: Candidate) -> str:
        used = self._used(candidate.id) if candidate.shared else {}
        return why_too_little(alternative.amounts, candidate, used, self._features)

    def _operations(self, _: int, __: Alternative, candidate: Candidate) -> str:
        skipped = candidate.spec.get("skipNodeOperations")
        if not self._features.experimental or not skipped or self._node.declares:
            return ""
        return f"the node does not declare that it skips {', '.join(skipped)}"

    def _groups(self, _: int, __: Alternative, candidate: Candidate) -> str:
        if not self._features.experimental or self._in_share(candidate.id):
            return ""
        return self._counted(candidate).why_incompatible(candidate.device)

    def _counter(self, _: int, __: Alternative, candidate: Candidate) -> str:
        if candidate.shared and self._in_share(candidate.id):
            return ""  # what it consumes counts once
        return self._counted(candidate).why_short(candidate.device)

    def _taints(self, _: int, alternative: Alternative, candidate: Candidate) -> str:
        tolerations = alternative.spec.get("tolerations") or ()
        for taint in candidate.device.get("taints") or ():
            blocks = taint.get("effect") in ("NoSchedule", "NoExecute")
            if blocks and not any(_tolerates(each, taint) for each in tolerations):
                value = f"={taint['value']}" if taint.get("value") else ""
                return f"its taint {taint['key']}{value}:{taint['effect']} is not tolerated"
        return ""

    # -- picking ------------------------------------------------------------------------------

    def _with(
        self, claim: int, alternative: Alternative, candidate: Candidate
    ) -> tuple[tuple[tuple[Values, ...], ...], str]:
        held = list(self._held[claim])
        for index, constraint in enumerate(self._constraints[claim]):
            if constraint.covers(alternative):
                values = values_of(constraint.attribute, candidate, alternative, self._features)
                held[index], why = constraint.added(held[index], values)
                if why:
                    return self._held[claim], why
        return tuple(held), ""

    def _pick(
        self, claim: int, alternative: Alternative, candidate: Candidate,
        held: tuple[tuple[Values, ...], ...],
    ) -> None:  # fmt: skip
        amounts = None
        if candidate.shared:
            taken = consumed(alternative.amounts, candidate, self._features)
            assert not isinstance(taken, str)
            amounts = taken
        if candidate.device.get("consumesCounters") and not self._in_share(candidate.id):
            self._counted(candidate).add(candidate.device, 1)
        self.all.append(Pick(claim, alternative, candidate, amounts, self._held[claim]))
        self._held[claim] = held

    def undo(self) -> None:
        """Takes the last pick back."""
        pick = self.all.pop()
        self._held[pick.claim] = pick.before
        candidate = pick.candidate
        if candidate.device.get("consumesCounters") and not self._in_share(candidate.id):
            self._counted(candidate).add(candidate.device, -1)

    def count(self, claim: int) -> int:
        """How many devices a claim has."""
        return sum(pick.claim == claim for pick in self.all)

    def _used(self, id: DeviceId) -> dict[str, Quantity]:
        """What is taken of a shared device, by other claims and in this attempt."""
        used = dict(self._taken.shared.get(id, {}))
        for pick in self.all:
            if pick.candidate.id == id and pick.amounts:
                for name, amount in pick.amounts.items():
                    used[name] = Quantity(used.get(name, Quantity(0)).nano + amount.nano)
        return used

    def _in_share(self, id: DeviceId) -> bool:
        """Whether somebody has it already, so that what it consumes is counted."""
        return id in self._taken.shared or any(
            pick.candidate.id == id and pick.candidate.shared for pick in self.all
        )

    def _counted(self, candidate: Candidate) -> Counters:
        id = candidate.id[:2]
        if id not in self._counters:
            self._counters[id] = Counters(self._pools[id], self._taken)
        return self._counters[id]


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "")


Rule = Callable[[Picks, int, Alternative, Candidate], str]

_RULES: tuple[tuple[str, Rule], ...] = (
    ("in use", Picks._in_use),
    ("selector", Picks._selectors),
    ("capacity", Picks._capacity),
    ("node operations", Picks._operations),
    ("compatibility", Picks._groups),
    ("counters", Picks._counter),
    ("taint", Picks._taints),
)
