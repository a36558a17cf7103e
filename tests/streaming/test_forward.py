"""Ports, over SPDY and both ways of WebSocket."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

from refimpl.streaming.client import upgrade
from refimpl.streaming.protocols import SPDY_TUNNEL
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.server import StreamingServer
from refimpl.streaming.spdy.link import ByteStream, Link, SocketBytes
from refimpl.streaming.spdy.session import Closed, Data, Event, Reset
from refimpl.streaming.websocket_client import WebSocketClient

SPDY = [
    ("Connection", "Upgrade"),
    ("Upgrade", "SPDY/3.1"),
    ("X-Stream-Protocol-Version", "portforward.k8s.io"),
]


class Upper(socketserver.BaseRequestHandler):
    """Answers in capitals when the client has said all."""

    def handle(self) -> None:
        data = b""
        while piece := self.request.recv(1 << 16):
            data += piece
        self.request.sendall(data.upper())


@pytest.fixture
def port() -> Iterator[int]:
    """Where somebody listens."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Upper) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def closed_port() -> int:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Forwards:
    """A client's side of the SPDY connection."""

    def __init__(self, stream: ByteStream) -> None:
        self.link = Link(stream, client=True)
        self.heard: list[Event] = []
        self.changed = threading.Condition()
        threading.Thread(target=self.link.run, args=(self._hear,), daemon=True).start()

    def _hear(self, event: Event) -> None:
        with self.changed:
            self.heard.append(event)
            self.changed.notify_all()

    def pair(self, port: object, id: str = "") -> tuple[int, int]:
        """The error and the data stream of a connection."""
        more = {"requestid": (id,)} if id else {}
        error = self.link.open({"streamtype": ("error",), "port": (str(port),)} | more)
        data = self.link.open({"streamtype": ("data",), "port": (str(port),)} | more)
        return error, data

    def said(self, stream: int) -> bytes:
        """What came on a stream until it ended."""

        def ended() -> bool:
            return any(isinstance(e, Closed | Reset) and e.stream == stream for e in self.heard)

        with self.changed:
            assert self.changed.wait_for(ended, 10)
            return b"".join(
                e.payload for e in self.heard if isinstance(e, Data) and e.stream == stream
            )


@contextlib.contextmanager
def forwards(server: StreamingServer) -> Iterator[Forwards]:
    answer = upgrade(server.url(StreamRequest(kind="portforward", id="s1")), SPDY)
    assert answer.status == 101
    with answer.connection as connection:
        connection.settimeout(None)
        yield Forwards(SocketBytes(connection, answer.behind))
        connection.shutdown(socket.SHUT_RDWR)


def test_pairs_run_side_by_side_on_one_connection(server: StreamingServer, port: int) -> None:
    with forwards(server) as client:
        pairs = [client.pair(port, str(number)) for number in range(10)]
        for number, (_, data) in enumerate(pairs):
            client.link.send(data, f"hello {number}".encode(), fin=True)
        for number, (error, data) in enumerate(pairs):
            assert client.said(data) == f"HELLO {number}".encode()
            assert client.said(error) == b""


def test_a_pair_without_an_id_is_paired_by_its_place(server: StreamingServer, port: int) -> None:
    with forwards(server) as client:
        _, data = client.pair(port)
        client.link.send(data, b"old", fin=True)
        assert client.said(data) == b"OLD"


def test_a_port_where_nobody_listens_is_told_and_the_next_one_works(
    server: StreamingServer, port: int, closed_port: int
) -> None:
    with forwards(server) as client:
        error, _ = client.pair(closed_port, "0")
        assert f"error forwarding port {closed_port}".encode() in client.said(error)
        _, data = client.pair(port, "1")
        client.link.send(data, b"x", fin=True)
        assert client.said(data) == b"X"


@pytest.mark.parametrize("port", [0, 65536, "x", ""])
def test_what_is_no_port_is_reset(server: StreamingServer, port: object) -> None:
    with forwards(server) as client:
        error, data = client.pair(port, "0")
        assert client.said(error) == client.said(data) == b""
        assert all(isinstance(event, Reset) for event in client.heard)


def test_spdy_runs_through_a_websocket(server: StreamingServer, port: int) -> None:
    url = server.url(StreamRequest(kind="portforward", id="s1"))
    with WebSocketClient(url, SPDY_TUNNEL) as messages:
        assert messages.chosen == SPDY_TUNNEL
        client = Forwards(messages)
        _, data = client.pair(port, "0")
        client.link.send(data, b"through", fin=True)
        assert client.said(data) == b"THROUGH"


def test_the_old_websocket_way_greets_with_the_port(
    server: StreamingServer, closed_port: int
) -> None:
    url = server.url(StreamRequest(kind="portforward", id="s1", ports=(closed_port,)))
    with WebSocketClient(url, "v4.channel.k8s.io") as client:
        little_endian = closed_port.to_bytes(2, "little")
        assert client.receive() == b"\0" + little_endian
        assert client.receive() == b"\1" + little_endian
        assert client.receive().startswith(b"\1error forwarding port")
