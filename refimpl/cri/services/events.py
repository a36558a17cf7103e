"""GetContainerEvents: not served yet."""

from __future__ import annotations

from refimpl.cri.state import RuntimeState

__all__ = ["EventRpcs"]


class EventRpcs:
    """What becomes of containers, as a stream; `state.core.listen` tells of it.

    What it has not is UNIMPLEMENTED, as in a runtime that is older.
    """

    def __init__(self, state: RuntimeState) -> None:
        self._state = state
