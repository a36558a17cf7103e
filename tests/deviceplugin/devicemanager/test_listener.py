"""The listening socket before a server: what callers see of it, and what is left of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from refimpl.deviceplugin.devicemanager.listener import SocketListener
from refimpl.wire.endpoint import Endpoint, EndpointError, probe
from tests.deviceplugin.scripted_kubelet import until


class Echo:
    """Says back what it hears, until the caller ends."""

    def __init__(self, path: Path) -> None:
        self.endpoint = Endpoint.parse(path)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[peer], daemon=True).start()

    @staticmethod
    def _answer(peer: socket.socket) -> None:
        with peer:
            while data := peer.recv(1 << 16):
                peer.sendall(data)


@pytest.fixture
def echo(folder: Path) -> Iterator[Echo]:
    running = Echo(folder / "back")
    yield running
    running.close()


@pytest.fixture
def listener(folder: Path, echo: Echo) -> Iterator[SocketListener]:
    listener = SocketListener(Endpoint.parse(folder / "front"), echo.endpoint)
    yield listener
    listener.close()


def caller(listener: SocketListener) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(30)
    peer.connect(listener.front.path)
    return peer


def test_bytes_go_through_in_both_directions(listener: SocketListener) -> None:
    """And so does the end of one of them."""
    listener.open()
    with caller(listener) as peer:
        sent = bytes(range(256)) * 4000
        threading.Thread(target=lambda: (peer.sendall(sent), peer.shutdown(1))).start()
        got = b"".join(iter(lambda: peer.recv(1 << 16), b""))
    assert got == sent


def test_before_it_accepts_callers_connect_and_wait(listener: SocketListener) -> None:
    """What they said is not lost."""
    listener.open(accepting=False)
    with caller(listener) as peer:
        peer.sendall(b"hello")
        peer.settimeout(0.05)
        with pytest.raises(TimeoutError):
            peer.recv(5)
        peer.settimeout(30)
        listener.resume()
        assert peer.recv(5) == b"hello"
        listener.pause()
        peer.sendall(b"again")
        peer.settimeout(0.05)
        with pytest.raises(TimeoutError):
            peer.recv(5)
        peer.settimeout(30)
        listener.resume()
        assert peer.recv(5) == b"again"


def test_closing_cuts_connections_and_leaves_the_file(listener: SocketListener) -> None:
    """As the kernel does for a process that dies."""
    listener.open()
    with caller(listener) as peer:
        peer.sendall(b"x")
        assert peer.recv(1) == b"x"
        listener.close()
        assert peer.recv(1) == b""
    listener.close()
    assert probe(listener.front) == "stale"


def test_connections_are_counted_while_they_are_open(listener: SocketListener) -> None:
    """From when they are let in until both ends are gone."""
    listener.open()
    with caller(listener) as peer:
        peer.sendall(b"x")
        assert peer.recv(1) == b"x"
        assert listener.connections == 1
    until(lambda: not listener.connections)


def test_closing_ends_a_listener_that_never_accepted(listener: SocketListener) -> None:
    """Nobody waits for it."""
    listener.open(accepting=False)
    with caller(listener):
        listener.close()
    assert probe(listener.front) == "stale"


def test_a_caller_is_cut_off_where_nobody_serves_behind(folder: Path) -> None:
    """Rather than left waiting."""
    listener = SocketListener(Endpoint.parse(folder / "front"), Endpoint.parse(folder / "nobody"))
    listener.open()
    try:
        with caller(listener) as peer:
            assert peer.recv(1) == b""
    finally:
        listener.close()


def test_a_live_socket_is_not_taken_over(listener: SocketListener, echo: Echo) -> None:
    """A stale one is."""
    listener.open()
    second = SocketListener(listener.front, echo.endpoint)
    with pytest.raises(EndpointError, match="live"):
        second.open()
    listener.close()
    second.open()
    assert probe(second.front) == "live"
    second.close()


def test_a_place_that_cannot_be_bound_is_named(folder: Path, echo: Echo) -> None:
    """For instance below a file."""
    (folder / "file").touch()
    listener = SocketListener(Endpoint.parse(folder / "file" / "front"), echo.endpoint)
    with pytest.raises(EndpointError, match="front"):
        listener.open()


def test_a_deaf_listener_lets_nobody_in_and_keeps_who_is_in(listener: SocketListener) -> None:
    """Until it is opened again, over its own socket."""
    listener.open()
    with caller(listener) as peer:
        peer.sendall(b"x")
        assert peer.recv(1) == b"x"
        listener.deafen()
        assert probe(listener.front) == "stale"
        peer.sendall(b"y")
        assert peer.recv(1) == b"y"
    listener.open()
    with caller(listener) as peer:
        peer.sendall(b"z")
        assert peer.recv(1) == b"z"
