"""A listening socket of the fake kubelet: connections go on to the server behind it.

gRPC's own sockets accept at once and take their file with them. A kubelet that starts slowly, is
stopped, or dies does neither, and plugins are judged by how they bear it.
"""

from __future__ import annotations

import contextlib
import socket
import threading

from refimpl.wire.endpoint import Endpoint, EndpointError, bound

__all__ = ["SocketListener"]

_BACKLOG = 128
_CHUNK = 64 * 1024


class SocketListener:
    """Listens at `front` between `open` and `close`, and hands on to whatever serves at `back`."""

    def __init__(self, front: Endpoint, back: Endpoint) -> None:
        self.front, self.back = front, back
        self._flowing = threading.Event()
        self._lock = threading.Lock()
        self._peers: set[socket.socket] = set()
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def open(self, *, accepting: bool = True) -> None:
        """Binds in place, over a stale socket at most, and listens; without `accepting` callers
        connect and then hear nothing. Raises EndpointError."""
        listener = socket.socket(socket.AF_UNIX)
        try:
            with bound(self.front):
                listener.bind(self.front.path)
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            raise EndpointError(
                f"endpoint {self.front} cannot be bound: {error.strerror}: use a folder that this"
                " user may write to"
            ) from error
        except BaseException:
            listener.close()
            raise
        self._socket = listener
        if accepting:
            self._flowing.set()
        self._thread = threading.Thread(
            target=self._accept, args=(listener,), name="refimpl-listener", daemon=True
        )
        self._thread.start()

    @property
    def connections(self) -> int:
        """How many are open now."""
        with self._lock:
            return len(self._peers) // 2

    def resume(self) -> None:
        """Accepts, and lets through what has come meanwhile."""
        self._flowing.set()

    def pause(self) -> None:
        """As of a stopped process: connections stay, and nothing comes through."""
        self._flowing.clear()

    def deafen(self) -> None:
        """The listening socket breaks: nobody is let in any more, who is in stays. `open` mends
        it."""
        self._unlisten()

    def close(self) -> None:
        """Cuts all connections and listens no more. The file stays, as after the end of a process.

        May be called twice.
        """
        with self._lock:
            self._closed = True
            peers, self._peers = self._peers, set()
        self._flowing.set()
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        self._unlisten()

    def _unlisten(self) -> None:
        listener, self._socket = self._socket, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join()
        if listener is not None:
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while self._flowing.wait() and not self._closed:
            try:
                caller, _ = listener.accept()
            except OSError:  # closed
                return
            self._flowing.wait()
            self._connect(caller)

    def _connect(self, caller: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        with self._lock:
            closed = self._closed
            self._peers |= set() if closed else {caller, server}
        try:
            if closed:
                raise ConnectionAbortedError
            server.connect(self.back.path)
        except OSError:
            self._part(caller, server)
            return
        ends = _Ends(caller, server)
        for source, sink in ((caller, server), (server, caller)):
            threading.Thread(
                target=self._pump, args=(source, sink, ends), name="refimpl-listener", daemon=True
            ).start()

    def _pump(self, source: socket.socket, sink: socket.socket, ends: _Ends) -> None:
        try:
            while data := source.recv(_CHUNK):
                self._flowing.wait()
                sink.sendall(data)
        except OSError:
            pass  # either side is gone, which the other learns below
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
        if ends.last():
            self._part(source, sink)

    def _part(self, *peers: socket.socket) -> None:
        with self._lock:
            self._peers -= {*peers}
        for peer in peers:
            peer.close()


class _Ends:
    """Tells which of the two directions of a connection ends last."""

    def __init__(self, *_peers: socket.socket) -> None:
        self._lock, self._left = threading.Lock(), 2

    def last(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left == 0
