"""What a caller can do to our HTTP servers: say nothing, come in crowds, send nonsense."""

from __future__ import annotations

import contextlib
import io
import socket
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from email.message import Message
from http import HTTPStatus
from pathlib import Path

import pytest

from refimpl.wire.http_server import (
    MOST_WAITING,
    CappedServer,
    HttpError,
    WaitingConnections,
    drain,
    read_body,
)


class UnixServer(CappedServer):
    """At a unix socket."""

    address_family = socket.AF_UNIX


class Echo(socketserver.StreamRequestHandler):
    """Says each line back."""

    server: UnixServer

    def handle(self) -> None:
        while line := self.rfile.readline():
            self.server.waiting.remove(self.connection)
            self.wfile.write(line)
            self.server.waiting.add(self.connection)


@pytest.fixture
def path() -> Iterator[str]:
    """Of a socket that is not there yet."""
    with tempfile.TemporaryDirectory(prefix="http-") as folder:
        yield str(Path(folder) / "s")


@pytest.fixture
def server(path: str) -> Iterator[UnixServer]:
    """One that serves."""
    with UnixServer(path, Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def connected(path: str) -> socket.socket:
    """A caller that has said nothing."""
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(20)
    caller.connect(path)
    return caller


def headers(*lengths: str, **more: str) -> Message:
    """Of a request."""
    message = Message()
    for length in lengths:
        message["Content-Length"] = length
    for name, value in more.items():
        message[name.replace("_", "-")] = value
    return message


def test_a_crowd_of_silent_callers_shuts_nobody_out(server: UnixServer, path: str) -> None:
    """Those that have waited longest are cut off, and who has something to say is heard."""
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(connected(path)) for _ in range(MOST_WAITING + 20)]
        for caller in crowd[:20]:
            assert caller.recv(1) == b""
        crowd[-1].sendall(b"hello\n")
        assert crowd[-1].recv(6) == b"hello\n"
        assert len(server.waiting) <= MOST_WAITING


def test_whoever_is_being_answered_does_not_count() -> None:
    """The one that waits is cut off, though the other has come before it."""
    waiting = WaitingConnections(most=1)
    with contextlib.ExitStack() as stack:
        pairs = [[stack.enter_context(end) for end in socket.socketpair()] for _ in range(3)]
        for ours, _ in pairs[:1]:
            waiting.add(ours)
            waiting.remove(ours)
            waiting.remove(ours)
        waiting.add(pairs[1][0])
        waiting.add(pairs[2][0])
        assert pairs[1][1].recv(1) == b""
        pairs[0][0].sendall(b"x")
        assert pairs[0][1].recv(1) == b"x"
    assert len(waiting) == 1


def test_many_callers_can_come_while_the_server_is_busy(path: str) -> None:
    """The kernel keeps them."""
    with UnixServer(path, Echo), contextlib.ExitStack() as stack:
        callers = [socket.socket(socket.AF_UNIX) for _ in range(100)]
        for caller in callers:
            stack.enter_context(caller)
            caller.setblocking(False)
            assert caller.connect_ex(path) == 0


@pytest.mark.parametrize(
    ("sent", "status", "sentence"),
    [
        (headers("x"), HTTPStatus.BAD_REQUEST, "'x' is no number"),
        (headers("-1"), HTTPStatus.BAD_REQUEST, "'-1' is no number"),
        (headers(""), HTTPStatus.BAD_REQUEST, "'' is no number"),
        (headers("٣"), HTTPStatus.BAD_REQUEST, "is no number"),
        (headers("1", "2"), HTTPStatus.BAD_REQUEST, "'1, 2' is no number"),
        (headers("11"), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "has 11 bytes, at most 10"),
        (headers("9" * 5000), HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "5000 digits is no length"),
        (headers("9"), HTTPStatus.BAD_REQUEST, "ended after 3 of 9 bytes"),
        (headers(Transfer_Encoding="chunked"), HTTPStatus.LENGTH_REQUIRED, "Content-Length"),
    ],
)
def test_a_length_that_cannot_be_read_is_refused(
    sent: Message, status: HTTPStatus, sentence: str
) -> None:
    """With what is wrong about it, before any of the body is kept."""
    with pytest.raises(HttpError, match=sentence) as error:
        read_body(sent, io.BufferedReader(io.BytesIO(b"abc")), 10)  # type: ignore[arg-type]
    assert error.value.status == status


def test_a_body_has_its_length() -> None:
    """None is none; one that is told twice alike is told."""
    assert read_body(headers(), io.BytesIO(b"abc"), 10) == b""
    assert read_body(headers("2", "2"), io.BytesIO(b"abc"), 10) == b"ab"
    assert read_body(headers("0" * 30 + "3"), io.BytesIO(b"abc"), 10) == b"abc"


def test_a_body_that_does_not_come_is_not_waited_for_without_end() -> None:
    """As long as the server lets a caller be silent."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as stream:
        ours.settimeout(0.01)
        with pytest.raises(HttpError, match="does not come") as error:
            read_body(headers("9"), stream, 10)
    assert error.value.status == HTTPStatus.REQUEST_TIMEOUT


def test_whoever_still_sends_sees_the_answer() -> None:
    """It is not lost in a reset."""
    ours, theirs = socket.socketpair()
    with theirs:
        sending = threading.Thread(target=theirs.sendall, args=(b"x" * 3_000_000,))
        sending.start()
        with ours:
            ours.sendall(b"answer")
            closing = threading.Thread(target=drain, args=(ours,))
            closing.start()
            sending.join()
            theirs.shutdown(socket.SHUT_WR)
            closing.join()
        assert b"".join(iter(lambda: theirs.recv(100), b"")) == b"answer"
