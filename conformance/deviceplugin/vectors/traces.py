"""The calls that a plugin gets for a pod, against those that it has to get. Ids are sets: a kubelet
has no order of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from conformance.deviceplugin.vectors.rows import Step
from refimpl.deviceplugin.scripted import ScriptedPlugin

__all__ = ["Allocated", "Asked", "TracedCall", "follows", "in_words", "trace_of"]


@attrs.frozen
class Asked:
    """GetPreferredAllocation."""

    available: frozenset[str]
    must: frozenset[str]
    size: int

    def __str__(self) -> str:
        names = f"available {_listed(self.available)}, must include {_listed(self.must)}"
        return f"GetPreferredAllocation({names}, size {self.size})"

    def follows(self, step: Step) -> bool:
        """Whether it is the call that was to come."""
        wanted = Asked(_ids(step.available), _ids(step.must), step.size)
        return not step.allocate and self == wanted


@attrs.frozen
class Allocated:
    """Allocate. Ids as they were sent."""

    ids: tuple[str, ...]

    def __str__(self) -> str:
        return f"Allocate({_listed(self.ids)})"

    def follows(self, step: Step) -> bool:
        """Whether it is the call that was to come, with no id twice."""
        sent = {*self.ids}
        return (
            len(sent) == len(self.ids) == step.allocate
            and _ids(step.includes) <= sent
            and not _ids(step.excludes) & sent
        )


TracedCall = Asked | Allocated


def trace_of(plugin: ScriptedPlugin) -> list[TracedCall]:
    """The calls that the plugin got so far, oldest first."""
    order = [rpc for rpc in tuple(plugin.order) if rpc in _READ]
    requests = {rpc: iter(plugin.calls(rpc)) for rpc in _READ}
    return [_READ[rpc](next(requests[rpc]).container_requests[0]) for rpc in order]


def follows(trace: Sequence[TracedCall], steps: Sequence[Step]) -> bool:
    """Whether these are the calls that were to come."""
    return len(trace) == len(steps) and all(
        call.follows(step) for call, step in zip(trace, steps, strict=True)
    )


def in_words(calls: Iterable[TracedCall | Step]) -> str:
    """For a finding."""
    words = [_step(call) if isinstance(call, Step) else str(call) for call in calls]
    return ", then ".join(words) or "no call"


_READ: Mapping[str, Callable[[Any], TracedCall]] = {
    "GetPreferredAllocation": lambda request: Asked(
        frozenset(request.available_deviceIDs),
        frozenset(request.must_include_deviceIDs),
        request.allocation_size,
    ),
    "Allocate": lambda request: Allocated(tuple(request.devices_ids)),
}


def _step(step: Step) -> str:
    if not step.allocate:
        return str(Asked(_ids(step.available), _ids(step.must), step.size))
    names = [f"with {step.includes}"] * bool(step.includes)
    names += [f"without {step.excludes}"] * bool(step.excludes)
    count = f"{step.allocate} device{'s' * (step.allocate > 1)}"
    return f"Allocate({' '.join((count, *names))})"


def _ids(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _listed(names: Iterable[str]) -> str:
    return " ".join(sorted(names)) or "none"
