"""One placement out of the hints of all resources (2.11): policies and how they choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import attrs

from refimpl.deviceplugin.state import bitmask
from refimpl.deviceplugin.state.hints import Hint, Hints

PolicyName = Literal["none", "best-effort", "restricted", "single-numa-node"]
JUDGED: tuple[PolicyName, ...] = ("best-effort", "restricted", "single-numa-node")
POLICIES: tuple[PolicyName, ...] = ("none", *JUDGED)
Provider = Mapping[str, Hints] | None
"""Resource -> hints of one provider; nothing at all: it has no wish."""
MAX_NODES = 8
"""How many NUMA nodes a policy other than none puts up with by default."""

_INDIFFERENT: Sequence[Hint] = (Hint(None, True),)
_IMPOSSIBLE: Sequence[Hint] = (Hint(None, False),)


@attrs.frozen
class Merged:
    """The placement chosen, and whether the pod may be admitted with it."""

    hint: Hint
    admitted: bool


@attrs.frozen
class TopologyPolicy:
    """A topology policy on a machine. `distances`: node -> distance to node 0, 1, ... as the kernel
    tells them; only with `closest`. `policy_of` checks what a kubelet does at its start."""

    name: PolicyName = "none"
    nodes: tuple[int, ...] = (0,)
    distances: Mapping[int, Sequence[int]] = attrs.field(factory=dict)
    closest: bool = False

    def merge(self, providers: Iterable[Provider]) -> Merged:
        """The best placement that the hints allow. `none` has no placement and admits all."""
        if self.name == "none":
            return Merged(Hint(None, False), True)
        lists = flatten(providers)
        single = self.name == "single-numa-node"
        if single:
            lists = [[hint for hint in hints if _on_one_node(hint)] for hints in lists]
        hint = self._best(lists)
        if single and hint.mask == self._all:
            hint = Hint(None, hint.preferred)
        return Merged(hint, hint.preferred or self.name == "best-effort")

    @property
    def _all(self) -> int:
        return bitmask.mask_of(self.nodes)

    def _best(self, lists: Sequence[Sequence[Hint]]) -> Hint:
        target = max((_narrowest(hints) for hints in lists), default=0)
        placements = [hint for hint in combinations(self._all, lists) if hint.mask]
        fallback = Hint(self._all, False)
        return min(placements, key=lambda hint: self._rank(hint, target), default=fallback)

    def _rank(self, hint: Hint, target: int) -> tuple[int, ...]:
        """Smaller is better. Among what nobody prefers, wanted is the width `target` of the most
        demanding resource, then the next narrower ones, then the next wider ones."""
        mask = hint.mask or 0
        size = bitmask.width(mask)
        if hint.preferred:
            width: tuple[int, ...] = (0, size)
        elif size <= target:
            width = (1, target - size)
        else:
            width = (2, size)
        return (*width, self._spread(mask), mask)

    def _spread(self, mask: int) -> int:
        """Sum of the distances of all pairs, a node and itself included; compared at equal width
        only, where it orders as the mean does. 0 where distance does not matter."""
        if not self.closest or self.name == "single-numa-node":
            return 0
        nodes = bitmask.nodes_of(mask)
        return sum(self.distances[one][other] for one in nodes for other in nodes)


def flatten(providers: Iterable[Provider]) -> list[Sequence[Hint]]:
    """One list a resource. No wish: one preferred hint of any node; impossible: one that is not."""
    lists: list[Sequence[Hint]] = []
    for provider in providers:
        if not provider:
            lists.append(_INDIFFERENT)
            continue
        for hints in provider.values():
            lists.append(_INDIFFERENT if hints is None else hints or _IMPOSSIBLE)
    return lists


def combinations(everything: int, lists: Iterable[Sequence[Hint]]) -> set[Hint]:
    """What one hint of each list come to together, over all choices.

    The masks' intersection; preferred if all are, and all masks that are set are the same. Equal
    outcomes are folded list by list, so the product of the lists is never walked.
    """
    # (intersection, the one mask all agreed on so far or None, still preferred)
    partial: set[tuple[int, int | None, bool]] = {(everything, None, True)}
    for hints in lists:
        partial = {_joined(state, hint) for state in partial for hint in hints}
    return {Hint(mask, preferred) for mask, _, preferred in partial}


def _joined(state: tuple[int, int | None, bool], hint: Hint) -> tuple[int, int | None, bool]:
    mask, agreed, preferred = state
    if hint.mask is None:
        preferred = preferred and hint.preferred
        return (mask, agreed if preferred else None, preferred)
    preferred = preferred and hint.preferred and agreed in (None, hint.mask)
    return (mask & hint.mask, hint.mask if preferred else None, preferred)


def _on_one_node(hint: Hint) -> bool:
    return hint.preferred and (hint.mask is None or bitmask.width(hint.mask) == 1)


def _narrowest(hints: Sequence[Hint]) -> int:
    return min((bitmask.width(hint.mask) for hint in hints if hint.mask is not None), default=0)


def policy_of(
    name: str,
    nodes: Sequence[int] = (0,),
    *,
    distances: Mapping[int, Sequence[int]] | None = None,
    options: Mapping[str, str] | None = None,
    known: Iterable[str] = ("prefer-closest-numa-nodes", "max-allowable-numa-nodes"),
) -> TopologyPolicy:
    """The policy of a kubelet's configuration; ValueError where kubelet would refuse to start.

    `options` as in topologyManagerPolicyOptions, `known` those of the release.
    """
    if name not in POLICIES:
        raise ValueError(f"there is no topology policy {name!r}; known are {', '.join(POLICIES)}")
    policy: PolicyName = POLICIES[POLICIES.index(name)]
    given = dict(options or {})
    if unknown := given.keys() - {*known}:
        raise ValueError(f"this release knows no policy option {', '.join(sorted(unknown))}")
    closest = _boolean(given.get("prefer-closest-numa-nodes", "false"))
    _check_nodes(policy, nodes, given.get("max-allowable-numa-nodes", str(MAX_NODES)))
    if closest and any(node not in (distances or {}) for node in nodes):
        raise ValueError("prefer-closest-numa-nodes needs the distances of all NUMA nodes")
    return TopologyPolicy(policy, tuple(sorted(nodes)), dict(distances or {}), closest)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"prefer-closest-numa-nodes: {text!r} is neither true nor false")
    return text.lower() == "true"


def _check_nodes(policy: PolicyName, nodes: Sequence[int], limit: str) -> None:
    if not limit.isdecimal() or int(limit) < MAX_NODES:
        raise ValueError(f"max-allowable-numa-nodes: {limit!r} is no number from {MAX_NODES} up")
    if any(not 0 <= node < bitmask.NODES for node in nodes):
        raise ValueError(f"NUMA nodes {[*nodes]}: ids lie from 0 to {bitmask.NODES - 1}")
    if policy != "none" and len(nodes) > int(limit):
        raise ValueError(
            f"{len(nodes)} NUMA nodes are more than {limit}, which policy {policy} puts up with;"
            " set max-allowable-numa-nodes"
        )
