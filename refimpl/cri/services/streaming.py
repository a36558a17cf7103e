"""ExecSync, Exec, Attach and PortForward: not served yet."""

from __future__ import annotations

from refimpl.cri.state import RuntimeState

__all__ = ["StreamingRpcs"]


class StreamingRpcs:
    """Commands in containers, and ports of sandboxes.

    What it has not is UNIMPLEMENTED, as in a runtime that is older.
    """

    def __init__(self, state: RuntimeState) -> None:
        self._state = state
