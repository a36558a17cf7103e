"""Port-forward over WebSocket in the old way: for each port a data and an error channel."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from refimpl.streaming.protocols import Protocol
from refimpl.streaming.streams import ForwardFailed
from refimpl.streaming.websocket.channels import Channels
from refimpl.streaming.websocket.messages import Messages

__all__ = ["serve_forward"]

_PIECE = 1 << 16


class _Ports:
    """The connections to the ports; of the port at index i, 2i is data and 2i + 1 is error."""

    def __init__(
        self, channels: Channels, ports: Sequence[int], dial: Callable[[int], socket.socket]
    ) -> None:
        self._channels, self._ports, self._dial = channels, ports, dial
        self._peers: dict[int, socket.socket] = {}

    def open(self) -> None:
        """Greets on each channel with its port, little endian, and connects. Raises OSError."""
        for index, port in enumerate(self._ports):
            for channel in (2 * index, 2 * index + 1):
                self._channels.send(channel, port.to_bytes(2, "little"))
        for index, port in enumerate(self._ports):
            self._connect(2 * index, port)

    def _connect(self, channel: int, port: int) -> None:
        try:
            peer = self._peers[channel] = self._dial(port)
        except ForwardFailed as failure:
            self._channels.send(channel + 1, str(failure).encode())
            return
        threading.Thread(
            target=self._outward, args=(channel, peer), name="refimpl-forward", daemon=True
        ).start()

    def _outward(self, channel: int, peer: socket.socket) -> None:
        with suppress(OSError):
            while data := peer.recv(_PIECE):
                self._channels.send(channel, data)

    def read(self) -> None:
        """Hands on what the client sends until it leaves."""
        with suppress(EOFError):
            while True:
                channel, content = self._channels.receive()
                if peer := self._peers.get(channel):
                    with suppress(OSError):
                        peer.sendall(content)

    def close(self) -> None:
        """Ends the connections to the ports."""
        for peer in self._peers.values():
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
            peer.close()


def serve_forward(
    messages: Messages,
    ports: Sequence[int],
    protocol: Protocol,
    dial: Callable[[int], socket.socket],
) -> None:
    """One connection, until the client leaves."""
    forwarded = _Ports(Channels(messages, protocol), ports, dial)
    try:
        with suppress(OSError):
            forwarded.open()
            forwarded.read()
    finally:
        forwarded.close()
