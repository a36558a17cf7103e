"""A plain port before one that speaks TLS, for clients that do not."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from contextlib import suppress
from typing import Self

__all__ = ["TlsRelay"]

_PIECE = 1 << 16


class TlsRelay:
    """A context manager; `port` is on loopback. Nobody's certificate is looked at."""

    def __init__(self, target: int) -> None:
        self._target, self._context = target, ssl._create_unverified_context()
        # Later versions send messages of their own, with nothing to read for who waits on a socket.
        self._context.maximum_version = ssl.TLSVersion.TLSv1_2
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        with (
            near,
            socket.create_connection(("127.0.0.1", self._target)) as plain,
            self._context.wrap_socket(plain) as far,
            suppress(OSError),
        ):
            others = {near: far, far: near}
            while True:
                ready = [far] if far.pending() else select.select([near, far], [], [])[0]
                for one in ready:
                    if not (piece := one.recv(_PIECE)):
                        return
                    others[one].sendall(piece)
