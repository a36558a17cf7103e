"""A SPDY session on a real connection: whoever likes sends, one thread reads."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

from refimpl.streaming.spdy.errors import Broken
from refimpl.streaming.spdy.frames import Status
from refimpl.streaming.spdy.headers import Headers
from refimpl.streaming.spdy.session import Event, Session

__all__ = ["ByteStream", "Link", "SocketBytes"]

T = TypeVar("T")

_PIECE = 1 << 16


class ByteStream(Protocol):
    """A connection as SPDY needs it. What fails is an OSError."""

    def receive(self) -> bytes:
        """The next bytes; b"" at the end."""

    def send(self, data: bytes) -> None:
        """Sends all of it."""

    def close(self) -> None:
        """Ends the connection, after what was sent has arrived."""


class SocketBytes:
    """A socket, and what was read of it already."""

    def __init__(self, connection: socket.socket, read_ahead: bytes = b"") -> None:
        self._connection, self._read_ahead = connection, read_ahead

    def receive(self) -> bytes:
        """The next bytes; b"" at the end."""
        ahead, self._read_ahead = self._read_ahead, b""
        return ahead or self._connection.recv(_PIECE)

    def send(self, data: bytes) -> None:
        """Sends all of it."""
        self._connection.sendall(data)

    def close(self) -> None:
        """Ends the connection. Who closes on unread bytes resets it, and the peer may lose what it
        has not read yet."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)


class Link:
    """One connection. Threads may send at the same time; `run` hands on what arrives.

    Who sends waits for the network; who reads never does, or two sides that send much would wait
    for each other: what it has to answer is sent by whoever is sending.
    """

    def __init__(self, stream: ByteStream, *, client: bool) -> None:
        self._stream, self._session = stream, Session(client=client)
        self._state, self._sending = threading.Lock(), threading.Lock()
        self._senders = 0  # threads that have something to send, or are sending

    def run(self, heard: Callable[[Event], None]) -> None:
        """Reads until the peer ends the connection, or breaks the protocol."""
        with suppress(OSError, Broken):
            while data := self._stream.receive():
                for event in self._fed(data):
                    heard(event)

    def _fed(self, data: bytes) -> list[Event]:
        """What came in. Answers that nobody is there to send are sent, and never what another
        thread has to send: that may be much, and wait for a peer who waits for this reader."""
        with self._state:
            events = self._session.feed(data)
            if self._senders or not self._session.pending:
                return events
            self._sending.acquire()  # at once: nobody sends
            answers = self._session.take()
        try:
            self._stream.send(answers)
        finally:
            self._sending.release()
        return events

    def open(self, headers: Headers, *, fin: bool = False) -> int:
        """Opens a stream; its id. Raises OSError."""
        return self._do(lambda session: session.open(headers, fin=fin))

    def accept(self, stream: int) -> None:
        """Answers a stream that the peer opened. Raises OSError."""
        self._do(lambda session: session.accept(stream))

    def send(self, stream: int, data: bytes, *, fin: bool = False) -> bool:
        """Sends on a stream; False where it is closed. Raises OSError."""
        return self._do(lambda session: session.send(stream, data, fin=fin))

    def reset(self, stream: int, status: Status = Status.CANCEL) -> None:
        """Gives up a stream."""
        with suppress(OSError):
            self._do(lambda session: session.reset(stream, status))

    def ping(self) -> int:
        """Asks whether the peer is there. Raises OSError."""
        return self._do(Session.ping)

    def close(self) -> None:
        """Ends the connection."""
        self._stream.close()

    def _do(self, act: Callable[[Session], T]) -> T:
        with self._state:
            result = act(self._session)
            self._senders += 1
        try:
            while self._send_pending():
                pass
        except BaseException:
            with self._state:
                self._senders -= 1
            raise
        return result

    def _send_pending(self) -> bool:
        """Whether there may be more; who is told that there is not is no sender any more."""
        self._sending.acquire()
        try:
            with self._state:
                outgoing = self._session.take()
            if outgoing:
                self._stream.send(outgoing)
        finally:
            self._sending.release()
        with self._state:
            if self._session.pending:
                return True
            self._senders -= 1
            return False
