"""What a proxy must not make of a call, seen from behind it on the level of HTTP/2 frames."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from refimpl.wire.endpoint import Endpoint
from refimpl.wire.proxy import Proxy
from refimpl.wire.status import Code

DEADLINE_S = 30.0


class Frames:
    """A peer that speaks just enough HTTP/2 to see what grpc's own server does not tell apart:
    the end of the requests (END_STREAM) and a call that is reset (RST_STREAM). RFC 9113, 6."""

    DATA, RST_STREAM, SETTINGS, PING = 0, 3, 4, 6

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data, self.reset = threading.Semaphore(0), threading.Semaphore(0)
        self.half_closed = 0

    def __enter__(self) -> None:
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.path))
        self.listening.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def __exit__(self, *_exception: object) -> None:
        self.listening.close()

    def serve(self) -> None:
        peer, _ = self.listening.accept()
        with contextlib.suppress(OSError), peer, peer.makefile("rb") as stream:
            stream.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            peer.sendall(bytes([0, 0, 0, self.SETTINGS, 0, 0, 0, 0, 0]))
            while len(head := stream.read(9)) == 9:
                body = stream.read(int.from_bytes(head[:3], "big"))
                self.take(peer, head, body)

    def take(self, peer: socket.socket, head: bytes, body: bytes) -> None:
        kind, flagged = head[3], head[4] & 1
        if kind in (self.SETTINGS, self.PING) and not flagged:
            answer = body if kind == self.PING else b""
            peer.sendall(bytes([0, 0, len(answer), kind, 1, 0, 0, 0, 0]) + answer)
        elif kind == self.DATA:
            self.half_closed += flagged
            self.data.release()
        elif kind == self.RST_STREAM:
            self.reset.release()


def unfinished(more: threading.Event) -> Iterator[bytes]:
    """One request, and another that never comes."""
    yield b"a"
    more.wait()


def until(holds: Callable[[], object]) -> None:
    """Waits for a condition that another thread brings about."""
    never = threading.Event()
    while not holds():
        never.wait(0.002)


def test_a_caller_that_leaves_in_the_middle_has_not_sent_everything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """To the upstream a broken stream of requests must not look like a complete one."""
    frames = Frames(tmp_path / "behind.sock")
    with frames, Proxy(Endpoint.parse(frames.path)) as proxy:
        endpoint = proxy.start(Endpoint.parse(tmp_path / "front.sock"))
        with grpc.insecure_channel(endpoint.target) as channel:
            for _ in range(50):
                more = threading.Event()
                requests = unfinished(more)
                future = channel.stream_unary("/x.Y/Z").future(requests, timeout=DEADLINE_S)
                assert frames.data.acquire(timeout=DEADLINE_S)
                future.cancel()
                assert frames.reset.acquire(timeout=DEADLINE_S)
                more.set()
        until(lambda: len(proxy.journal.entries) == 50)
        assert {(entry.code, entry.requests) for entry in proxy.journal.entries} == {
            (Code.CANCELLED, (b"a",))
        }
    assert frames.half_closed == 0
    assert caplog.records == []
