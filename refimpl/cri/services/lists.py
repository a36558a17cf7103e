"""The lists as streams: not served yet."""

from __future__ import annotations

from refimpl.cri.state import RuntimeState

__all__ = ["ListRpcs"]


class ListRpcs:
    """The Stream RPCs of RuntimeService: each sends what the list beside it returns.

    What it has not is UNIMPLEMENTED, as in a runtime that is older.
    """

    def __init__(self, state: RuntimeState) -> None:
        self._state = state
