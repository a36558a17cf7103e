"""A target that cannot be called is described by what is wrong with it, in one sentence."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from refimpl.wire.endpoint import Endpoint
from refimpl.wire.reach import Obstacle, obstacle
from refimpl.wire.server import Server

WAIT_S = 10.0
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


@contextmanager
def answering(path: Path, answer: bytes | None) -> Iterator[Endpoint]:
    """A server that sends this to whoever connects and hangs up, or with None says nothing."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            peer, _ = server.accept()
            if answer is None:
                stack.enter_context(peer)
                return
            with peer:
                peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Endpoint.parse(path)
        thread.join(WAIT_S)


def reason(endpoint: Endpoint, timeout_s: float = WAIT_S) -> tuple[str, bool]:
    hindrance = obstacle(endpoint, timeout_s)
    assert isinstance(hindrance, Obstacle)
    return hindrance.reason, hindrance.passing


def test_a_grpc_server_is_no_obstacle(tmp_path: Path) -> None:
    """Nor does looking harm it."""
    with Server({}) as server:
        endpoint = server.start(Endpoint.parse(tmp_path / "s"))
        assert obstacle(endpoint, WAIT_S) is None
        assert obstacle(endpoint, WAIT_S) is None


def test_a_missing_file_may_still_come(tmp_path: Path) -> None:
    """A driver that starts up takes a moment."""
    text, passing = reason(Endpoint.parse(tmp_path / "s"))
    assert text == "there is no such file: start the server, or correct the path"
    assert passing


def test_a_file_that_is_no_socket_will_never_be_one(tmp_path: Path) -> None:
    """Mostly a directory, or the driver's log."""
    text, passing = reason(Endpoint.parse(tmp_path))
    assert "is no socket" in text
    assert not passing


def test_a_socket_left_over_is_told_from_one_that_listens(tmp_path: Path) -> None:
    """The server was killed, and its user thinks it runs."""
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(tmp_path / "s"))
    text, passing = reason(Endpoint.parse(tmp_path / "s"))
    assert text.startswith("nobody listens there (the socket is left over from one that has ended)")
    assert passing


def test_a_port_on_which_nobody_listens() -> None:
    """There is no file to speak of."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert reason(Endpoint("tcp", host="127.0.0.1", port=port)) == (
        "nobody listens there: start the server",
        True,
    )


def test_a_name_that_leads_nowhere() -> None:
    """A resolver's answer, not a server's."""
    text, _ = reason(Endpoint.parse("dns:///nowhere.invalid:1"))
    assert text.startswith("the host's name leads nowhere")


@pytest.mark.parametrize(
    ("answer", "message", "passing"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP/1, not gRPC", False),
        (b"\x15\x03\x01\x00\x02\x02\x46", "speaks TLS", False),
        (b"220 mail ready\r\n", "answers HTTP/2's greeting with b'220 mail '", False),
        (b"hi", "answers HTTP/2's greeting with b'hi'", False),
        (SETTINGS[:8] + b"\x01", "does not speak gRPC", False),
        (b"", "closes the connection at once", True),
    ],
)
def test_what_answers_but_is_no_grpc_is_named(
    tmp_path: Path, answer: bytes, message: str, passing: bool
) -> None:
    """It spares the reader a packet trace."""
    with answering(tmp_path / "s", answer) as endpoint:
        text, may_pass = reason(endpoint)
    assert message in text
    assert may_pass == passing


def test_a_settings_frame_is_enough(tmp_path: Path) -> None:
    """RFC 9113, 3.4: the server's first frame."""
    with answering(tmp_path / "s", SETTINGS) as endpoint:
        assert obstacle(endpoint, WAIT_S) is None


def test_a_server_that_accepts_and_says_nothing_is_given_up(tmp_path: Path) -> None:
    """A stopped process still has a listening socket."""
    with answering(tmp_path / "s", None) as endpoint:
        text, passing = reason(endpoint, 0.1)
    assert text.startswith("it accepts connections but sent nothing within 0.1 s")
    assert passing


def test_a_socket_whose_backlog_is_full_does_not_hang_the_caller(tmp_path: Path) -> None:
    """The kernel would keep a connect waiting without end."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(tmp_path / "s"))
        server.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            waiting.connect_ex(str(tmp_path / "s"))
        text, _ = reason(Endpoint.parse(tmp_path / "s"), 0.1)
    assert "0.1 s" in text or "cannot be connected to" in text
