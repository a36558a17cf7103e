"""A connection that one thread reads and others write to."""

from __future__ import annotations

import threading
from typing import Any

from refimpl.streaming.spdy.link import Link
from refimpl.streaming.spdy.session import Session


class Wire:
    """A connection whose other end is the test: what arrives, and which thread sent what."""

    def __init__(self, *arriving: bytes) -> None:
        self.arriving = list(arriving)
        self.sent: list[tuple[str, bytes]] = []

    def receive(self) -> bytes:
        return self.arriving.pop(0) if self.arriving else b""

    def send(self, data: bytes) -> None:
        self.sent.append((threading.current_thread().name, data))

    def close(self) -> None:
        pass


class Held:
    """A lock at which threads of one name wait until they may go on."""

    def __init__(self, name: str) -> None:
        self.name, self.lock = name, threading.Lock()
        self.reached, self.go = threading.Event(), threading.Event()

    def acquire(self, **how: Any) -> bool:
        if threading.current_thread().name == self.name:
            self.reached.set()
            assert self.go.wait(10)
        return self.lock.acquire(**how)

    def release(self) -> None:
        self.lock.release()


def _ping() -> bytes:
    peer = Session(client=False)
    peer.ping()
    return peer.take()


def test_who_reads_answers_where_nobody_sends() -> None:
    """Else a peer that asks whether we are there would wait."""
    wire = Wire(_ping())
    Link(wire, client=True).run(lambda _: None)
    assert [name for name, _ in wire.sent] == [threading.current_thread().name]


def test_who_reads_never_sends_for_another() -> None:
    """That may be much: the peer takes it when it is read itself, which is what this thread is for.
    Both sides would wait for each other. The answer goes with what the other sends."""
    wire = Wire(_ping())
    link = Link(wire, client=True)
    stream = link.open({"streamtype": ("stdin",)})
    wire.sent.clear()
    held = link._sending = Held("writer")  # type: ignore[assignment]
    writer = threading.Thread(target=link.send, args=(stream, b"x" * 1000), name="writer")
    writer.start()
    assert held.reached.wait(10)
    link.run(lambda _: None)
    assert wire.sent == []
    held.go.set()
    writer.join(10)
    ((name, data),) = wire.sent
    assert name == "writer"
    assert b"x" * 1000 in data
    assert data.endswith(_ping())
