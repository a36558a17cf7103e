"""The terminal of a process in a container: an OCI runtime makes it there, and sends the end that
is ours over a socket (runc, docs/terminals.md)."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Console"]

_LIMIT_S = 10.0


class Console:
    """A socket in a folder, until the terminal has come."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / secrets.token_hex(4))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(_LIMIT_S)
        self._listener.bind(self.path)
        self._listener.listen(1)

    def receive(self) -> int:
        """The descriptor of the terminal's near end; raises OSError."""
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(_LIMIT_S)
            _, descriptors, _, _ = socket.recv_fds(connection, 4096, 1)
        if not descriptors:
            raise OSError("the OCI runtime sent no terminal")
        os.set_inheritable(descriptors[0], False)
        return descriptors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()
        os.unlink(self.path)
