"""No logs: what containers write is forgotten."""

from __future__ import annotations

from refimpl.cri.state.models import Container
from refimpl.cri.state.ports import Output

__all__ = ["NoLogs"]


class NoLogs:
    """No file is made."""

    def open(self, container: Container) -> Output:
        """Nobody listens."""
        return lambda _stream, _written: None

    def reopen(self, container: Container) -> None:
        """There is none."""

    def close(self, container: Container) -> None:
        """There is none."""
