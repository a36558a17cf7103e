"""Checkpoints: not served yet."""

from __future__ import annotations

from refimpl.cri.state import RuntimeState

__all__ = ["CheckpointRpcs"]


class CheckpointRpcs:
    """CheckpointContainer, CheckpointPod and RestorePod.

    What it has not is UNIMPLEMENTED, as in a runtime that is older.
    """

    def __init__(self, state: RuntimeState) -> None:
        self._state = state
