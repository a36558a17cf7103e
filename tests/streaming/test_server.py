"""Streams from end to end, with commands of this machine behind them."""

from __future__ import annotations

import hashlib
import socket

import pytest

from refimpl.streaming.client import SpdyCommandClient, Unexpected, upgrade
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.protocols import SPDY_COMMAND
from refimpl.streaming.requests import StreamRequest, Tokens
from refimpl.streaming.server import StreamingServer
from tests.streaming.conftest import Host

SPDY = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]


def ask(*command: str, **flags: bool) -> StreamRequest:
    return StreamRequest(
        kind="exec", id="c1", command=command, **{"stdout": True, "stderr": True} | flags
    )


def test_a_command_speaks_on_both_outputs_and_tells_its_exit_code(server: StreamingServer) -> None:
    url = server.url(ask("sh", "-c", "echo out; echo err >&2; exit 7"))
    with SpdyCommandClient(url) as client:
        assert client.wait() == Outcome(7)
        assert client.output() == b"out\n"
        assert client.output("stderr") == b"err\n"
        assert client.version == "v4.channel.k8s.io"


@pytest.mark.parametrize("version", SPDY_COMMAND)
def test_each_version_tells_success_and_failure_in_its_way(
    server: StreamingServer, version: str
) -> None:
    for command, exit_code in (("true", 0), ("false", 1)):
        with SpdyCommandClient(server.url(ask(command)), versions=[version]) as client:
            outcome = client.wait()
            assert client.version == version
            if SPDY_COMMAND[version].tells_status:
                assert outcome == Outcome(exit_code)
                assert client.output("error").startswith(b"{")
            else:
                assert outcome is not None
                assert bool(outcome.error) == bool(exit_code)


def test_a_client_that_offers_a_newer_version_gets_the_newest_there_is(
    server: StreamingServer,
) -> None:
    versions = ["v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"]
    with SpdyCommandClient(server.url(ask("true")), versions=versions) as client:
        assert client.version == "v4.channel.k8s.io"


def test_input_of_32_mib_comes_back_as_it_was(server: StreamingServer) -> None:
    piece = hashlib.sha256(b"seed").digest() * 32768
    with SpdyCommandClient(server.url(ask("cat", stdin=True)), stdin=True) as client:
        for _ in range(32):
            client.send(piece)
        client.end_input()
        assert client.wait() == Outcome()
        assert client.output() == piece * 32


def test_the_size_of_a_terminal_is_told(server: StreamingServer) -> None:
    with SpdyCommandClient(server.url(ask("stty", tty=True)), tty=True) as client:
        client.resize(80, 24)
        assert client.wait() == Outcome(7)
        assert client.output() == b"Size(width=80, height=24)"


def test_a_client_that_leaves_ends_the_input_of_the_command(server: StreamingServer) -> None:
    host: Host = server._executor  # type: ignore[assignment]
    with SpdyCommandClient(server.url(ask("cat", stdin=True)), stdin=True) as client:
        client.send(b"x")
        with client._changed:
            assert client._changed.wait_for(lambda: client._output.get("stdout"), 10)
    assert host.process.wait(10) == 0


def test_a_url_is_good_once_and_for_its_own_path(server: StreamingServer) -> None:
    url = server.url(ask("true"))
    other = url.replace("/exec/", "/attach/")
    with pytest.raises(Unexpected, match="404"):
        SpdyCommandClient(other)
    with SpdyCommandClient(url) as client:
        assert client.wait() == Outcome()
    with pytest.raises(Unexpected, match="404"):
        SpdyCommandClient(url)


def test_a_url_is_good_for_a_minute() -> None:
    now = [0.0]
    tokens = Tokens(clock=lambda: now[0])
    token = tokens.keep(ask("true"))
    now[0] = 59.9
    assert tokens.take("exec", token) is not None
    token = tokens.keep(ask("true"))
    now[0] = 120.0
    assert tokens.take("exec", token) is None


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ([], 400, "Upgrade"),
        (SPDY, 400, "X-Stream-Protocol-Version is missing"),
        ([*SPDY, ("X-Stream-Protocol-Version", "v9.channel.k8s.io")], 403, "v9.channel.k8s.io"),
        ([("Connection", "Upgrade"), ("Upgrade", "websocket")], 400, "no WebSocket handshake"),
    ],
)
def test_what_cannot_become_a_stream_is_refused(
    server: StreamingServer, headers: list[tuple[str, str]], status: int, words: str
) -> None:
    answer = upgrade(server.url(ask("true")), headers, method="GET")
    with answer.connection:
        assert answer.status == status
        assert words in answer.body.decode()
    if status == 403:
        assert answer.headers["x-accepted-stream-protocol-versions"] == tuple(SPDY_COMMAND)


def test_garbage_is_answered_and_the_server_goes_on(server: StreamingServer) -> None:
    with socket.create_connection((server.host, server.port), 5) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    with SpdyCommandClient(server.url(ask("true"))) as client:
        assert client.wait() == Outcome()


def test_streams_that_are_never_opened_end_the_connection() -> None:
    server = StreamingServer(Host(), creation_s=0.05)
    server.start()
    try:
        asked = [*SPDY, ("X-Stream-Protocol-Version", "v4.channel.k8s.io")]
        answer = upgrade(server.url(ask("true")), asked)
        with answer.connection as connection:
            assert answer.status == 101
            assert connection.recv(100) == b""
    finally:
        server.close()
