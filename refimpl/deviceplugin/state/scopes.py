"""For whom one placement is sought: each container, or the pod as a whole (2.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from refimpl.deviceplugin.state.hints import Hint
from refimpl.deviceplugin.state.merge import Merged, Provider, TopologyPolicy
from refimpl.deviceplugin.state.models import Container, Pod

ScopeName = Literal["container", "pod"]
Wishes = Callable[[Pod, Container | None], Sequence[Provider]]
"""Hints of other providers (CPU, memory) for a container, or for a whole pod (None)."""


def no_wishes(pod: Pod, container: Container | None) -> Sequence[Provider]:  # noqa: ARG001
    """Nobody else cares about placement: managers under their policy none."""
    return ()


def container_request(container: Container, names: Collection[str]) -> dict[str, int]:
    """Counts of a container's limits, for resources among `names`."""
    return {name: number for name, number in container.limits.items() if name in names}


def pod_request(pod: Pod, names: Collection[str]) -> dict[str, int]:
    """What a pod needs at its peak: either all that keeps running, or an init container together
    with those restartable ones that were started before it."""
    running: Counter[str] = Counter()
    peak: dict[str, int] = {}
    for container in pod.init:
        request = Counter(container_request(container, names))
        if container.restartable:
            running.update(request)
            _raise(peak, running)
        else:
            _raise(peak, running + request)
    for container in pod.app:
        running.update(container_request(container, names))
    _raise(peak, running)
    return peak


def _raise(peak: dict[str, int], level: Mapping[str, int]) -> None:
    for name, number in level.items():
        peak[name] = max(peak.get(name, 0), number)


class Scope:
    """The topology manager: a policy, and the placement decided for each container."""

    def __init__(
        self, policy: TopologyPolicy, name: ScopeName = "container", wishes: Wishes = no_wishes
    ) -> None:
        self.policy = policy
        self.name = name
        self._wishes = wishes
        self._placed: dict[tuple[str, str], Hint] = {}

    @property
    def off(self) -> bool:
        """Policy none: no hints are asked for, in either scope."""
        return self.policy.name == "none"

    def decide(self, devices: Provider, pod: Pod, container: Container | None) -> Merged:
        """Merge the devices' hints with everybody else's, and keep the outcome if it is admitted;
        container None: for all containers of the pod."""
        merged = self.policy.merge([devices, *self._wishes(pod, container)])
        if merged.admitted:
            for placed in pod.containers if container is None else (container,):
                self._placed[pod.uid, placed.name] = merged.hint
        return merged

    def affinity(self, uid: str, container: str) -> int | None:
        """The mask decided for a container; None if any node will do."""
        hint = self._placed.get((uid, container))
        return hint.mask if hint else None

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._placed = {key: hint for key, hint in self._placed.items() if key[0] != uid}
