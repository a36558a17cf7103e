"""The two services of CRI over a state: decode, call, encode."""

from __future__ import annotations

from refimpl.cri.services.containers import Containers
from refimpl.cri.services.images import ImageService
from refimpl.cri.services.node import NodeCalls
from refimpl.cri.services.sandboxes import Sandboxes
from refimpl.cri.services.stats import Stats
from refimpl.cri.state import RuntimeState

__all__ = ["ImageService", "RuntimeService"]


class RuntimeService(NodeCalls, Sandboxes, Containers, Stats):
    """What of RuntimeService is served; the rest is UNIMPLEMENTED, as by an older runtime."""

    def __init__(self, state: RuntimeState) -> None:
        self._state = state
