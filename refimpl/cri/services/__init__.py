"""The services of CRI over a state: decode, call, encode; a module and a class a topic."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from refimpl.cri.services.checkpoints import CheckpointRpcs
from refimpl.cri.services.containers import ContainerRpcs
from refimpl.cri.services.events import EventRpcs
from refimpl.cri.services.images import ImageRpcs
from refimpl.cri.services.lists import ImageListRpcs, ListRpcs
from refimpl.cri.services.metrics import MetricRpcs
from refimpl.cri.services.runtime import RuntimeRpcs
from refimpl.cri.services.sandboxes import SandboxRpcs
from refimpl.cri.services.stats import StatsRpcs
from refimpl.cri.services.streaming import StreamingRpcs
from refimpl.cri.state import RuntimeState
from refimpl.cri.streams import StreamHost

__all__ = ["Service", "image_service", "runtime_service"]

_RUNTIME = (
    *(RuntimeRpcs, SandboxRpcs, ContainerRpcs, StatsRpcs),
    *(EventRpcs, ListRpcs, MetricRpcs, CheckpointRpcs),
)


class Service:
    """One service made of parts, which have its RPCs between them; `without` are not served."""

    def __init__(self, *parts: object, without: Collection[str] = ()) -> None:
        self._parts, self._without = parts, without

    def __getattr__(self, rpc: str) -> Any:
        if rpc[:1].isupper() and rpc not in self._without:
            for part in self._parts:
                if hasattr(part, rpc):
                    return getattr(part, rpc)
        raise AttributeError(rpc)


def runtime_service(state: RuntimeState, streams: StreamHost) -> Service:
    """RuntimeService; what no part of it has is UNIMPLEMENTED."""
    parts = [StreamingRpcs(state, streams), *(kind(state) for kind in _RUNTIME)]
    return Service(*parts, without=state.settings.runtime.without)


def image_service(state: RuntimeState, filesystem: str) -> Service:
    """ImageService."""
    images = ImageRpcs(state, filesystem)
    return Service(images, ImageListRpcs(images), without=state.settings.runtime.without)
