"""Web servers in virtual containers: behind a port that is forwarded, and at addresses of loopback,
where everybody on this machine reaches them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Collection, Iterable
from contextlib import suppress

from refimpl.cri.state.models import Sandbox
from refimpl.cri.state.ports import StartFailed

__all__ = ["Doors", "places", "web_server"]

_HERE = "127.0.0.1"
_PAGE = b"<h1>refimpl</h1>\n"
_LONGEST_REQUEST = 1 << 16


def web_server() -> socket.socket:
    """A connection to a server that answers one request in HTTP with a page."""
    near, far = socket.socketpair()
    _answer_soon(far)
    return near


def places(sandbox: Sandbox, ports: Collection[int]) -> list[tuple[str, int]]:
    """Address and port of all that reaches these ports of a sandbox: at its own addresses, or those
    of this machine, and by host ports that are mapped to them, on loopback unless another is said.
    """
    if sandbox.host_network:
        return [(_HERE, port) for port in ports]
    mapped = [
        (each.host_ip or _HERE, each.host_port)
        for each in sandbox.config.port_mappings
        if each.host_port and each.container_port in ports
    ]
    return [(address, port) for address in sandbox.addresses for port in ports] + mapped


class Doors:
    """What the program of one container listens at. Raises StartFailed where that cannot be had."""

    def __init__(self, where: Iterable[tuple[str, int]]) -> None:
        self._listeners: list[socket.socket] = []
        for address, port in where:
            try:
                self._listeners.append(socket.create_server((address, port)))
            except OSError as error:
                self.close()
                raise StartFailed(f"listen at {address}:{port}: {error.strerror}", 1) from None
        for listener in self._listeners:
            threading.Thread(
                target=_serve, args=(listener,), name="refimpl-listen", daemon=True
            ).start()

    def close(self) -> None:
        """Nobody is answered any more."""
        for listener in self._listeners:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # else who waits for clients waits on
            listener.close()


def _serve(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            _answer_soon(listener.accept()[0])


def _answer_soon(connection: socket.socket) -> None:
    threading.Thread(target=_answer, args=(connection,), name="refimpl-web", daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        asked = b""
        while b"\r\n\r\n" not in asked and len(asked) < _LONGEST_REQUEST:
            if not (piece := connection.recv(_LONGEST_REQUEST)):
                break
            asked += piece
        if asked:
            head = f"HTTP/1.0 200 OK\r\nContent-Length: {len(_PAGE)}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode() + _PAGE)
