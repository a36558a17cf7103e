"""Commands over WebSocket, message by message."""

from __future__ import annotations

import base64
import json

import pytest

from refimpl.streaming.client import Unexpected
from refimpl.streaming.requests import StreamRequest
from refimpl.streaming.server import StreamingServer
from refimpl.streaming.websocket_client import WebSocketClient

SUCCESS = {"metadata": {}, "status": "Success"}


def ask(*command: str, **flags: bool) -> StreamRequest:
    return StreamRequest(kind="exec", id="c1", command=command, **{"stdout": True} | flags)


def rest(client: WebSocketClient) -> list[bytes]:
    messages = []
    while message := client.receive():
        messages.append(message)
    return messages


def test_output_and_status_have_channels_of_their_own(server: StreamingServer) -> None:
    with WebSocketClient(server.url(ask("echo", "hi")), "v4.channel.k8s.io") as client:
        assert client.chosen == "v4.channel.k8s.io"
        assert client.receive() == b"\1"
        output, status = rest(client)
        assert output == b"\1hi\n"
        assert status[:1] == b"\3"
        assert json.loads(status[1:]) == SUCCESS
        assert client.code == 1000


def test_base64_is_text(server: StreamingServer) -> None:
    url = server.url(ask("echo", "hi"))
    with WebSocketClient(url, "v4.base64.channel.k8s.io") as client:
        assert client.receive() == b"1"
        output, status = rest(client)
        assert output == b"1" + base64.b64encode(b"hi\n")
        assert json.loads(base64.b64decode(status[1:])) == SUCCESS


def test_from_v5_on_the_input_can_be_closed(server: StreamingServer) -> None:
    url = server.url(ask("cat", stdin=True))
    with WebSocketClient(url, "v5.channel.k8s.io", "v4.channel.k8s.io") as client:
        assert client.chosen == "v5.channel.k8s.io"
        client.send(b"\0hello")
        client.send(b"\xff\0")
        assert rest(client)[1] == b"\1hello"


def test_channels_that_are_not_open_or_not_known_are_ignored(server: StreamingServer) -> None:
    url = server.url(ask("cat", stdin=True))
    with WebSocketClient(url, "v5.channel.k8s.io") as client:
        for message in (b"\4{}", b"\2no", b"\x55?", b""):
            client.send(message)
        client.send(b"\0yes")
        client.send(b"\xff\0")
        assert rest(client)[1] == b"\1yes"


def test_before_v4_only_a_failure_is_told_and_as_text(server: StreamingServer) -> None:
    with WebSocketClient(server.url(ask("false")), "channel.k8s.io") as client:
        assert rest(client)[1:] == [b"\3command terminated with non-zero exit code: 1"]
    with WebSocketClient(server.url(ask("true"))) as client:
        assert client.chosen is None
        assert rest(client) == [b"\1"]


def test_a_name_that_nobody_knows_is_refused(server: StreamingServer) -> None:
    with pytest.raises(Unexpected, match="403"):
        WebSocketClient(server.url(ask("true")), "v9.channel.k8s.io")
