"""Where the URLs lead that a runtime hands out: a listening socket on loopback."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Self

import attrs

from refimpl.streaming import handshake, protocols
from refimpl.streaming.handshake import Handshake, Refusal
from refimpl.streaming.protocols import Protocol
from refimpl.streaming.requests import StreamRequest, Tokens
from refimpl.streaming.spdy.command import serve_command as serve_spdy_command
from refimpl.streaming.spdy.forward import serve_forward as serve_spdy_forward
from refimpl.streaming.spdy.link import ByteStream, Link, SocketBytes
from refimpl.streaming.streams import Executor
from refimpl.streaming.websocket.command import serve_command as serve_websocket_command
from refimpl.streaming.websocket.forward import serve_forward as serve_websocket_forward
from refimpl.streaming.websocket.messages import Messages, NotWebSocket, Tunnel
from refimpl.wire.http_server import CappedServer, HttpError, drain

__all__ = ["Spoken", "StreamingServer"]

_REQUEST_S = 10.0
_VERSIONS = "x-stream-protocol-version"
_ACCEPTED = "X-Accepted-Stream-Protocol-Versions"


@attrs.frozen
class Spoken:
    """What a server speaks: by default all there is."""

    spdy_command: Mapping[str, Protocol] = protocols.SPDY_COMMAND
    spdy_forward: Mapping[str, Protocol] = protocols.SPDY_FORWARD
    websocket_command: Mapping[str, Protocol] = protocols.WEBSOCKET_COMMAND
    websocket_forward: Mapping[str, Protocol] = protocols.WEBSOCKET_FORWARD

    @classmethod
    def stock(cls) -> Self:
        """What k8s.io/cri-streaming speaks, of which runtimes are made: no v5, and no tunnel."""
        return cls(
            websocket_command=_without(protocols.WEBSOCKET_COMMAND, lambda each: each.version > 4),
            websocket_forward=_without(protocols.WEBSOCKET_FORWARD, lambda each: each.tunnel),
        )

    def of(self, transport: str, request: StreamRequest) -> Mapping[str, Protocol]:
        """The names for a request over `spdy` or `websocket`."""
        what = "forward" if request.kind == "portforward" else "command"
        table: Mapping[str, Protocol] = getattr(self, f"{transport}_{what}")
        return table


def _without(
    table: Mapping[str, Protocol], unknown: Callable[[Protocol], bool]
) -> Mapping[str, Protocol]:
    return {name: each for name, each in table.items() if not unknown(each)}


class StreamingServer:
    """Hands out URLs and serves each once.

    creation_s: how long a client has to open the streams of a command.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tokens: Tokens | None = None,
        spoken: Spoken | None = None,
        creation_s: float = 30.0,
    ) -> None:
        self.tokens, self._spoken = tokens or Tokens(), spoken or Spoken()
        self._executor, self._creation_s = executor, creation_s
        self._server = _Listener((host, port), self._serve)
        self.host, self.port = host, self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="refimpl-streaming", daemon=True
        )

    def start(self) -> None:
        """Begins to serve."""
        self._thread.start()

    def close(self) -> None:
        """Ends the listening socket and every stream."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._server.cut()

    def url(self, request: StreamRequest) -> str:
        """Where the request is served, for some time and once. Raises TooMany."""
        return f"http://{self.host}:{self.port}/{request.kind}/{self.tokens.keep(request)}"

    def _serve(self, connection: socket.socket, asked: Handshake) -> None:
        """One connection; raises HttpError, OSError."""
        request = self._request(asked)
        if asked.upgrades_to("SPDY/3.1"):
            self._spdy(connection, asked, request)
        elif asked.upgrades_to("websocket"):
            self._websocket(connection, asked, request)
        else:
            sentence = "ask for Upgrade: SPDY/3.1 or Upgrade: websocket, with Connection: Upgrade"
            raise HttpError(HTTPStatus.BAD_REQUEST, sentence)

    def _request(self, asked: Handshake) -> StreamRequest:
        if asked.method not in ("GET", "POST"):
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "use GET or POST")
        kind, _, token = asked.path.partition("?")[0].strip("/").partition("/")
        request = self.tokens.take(kind, token)
        if request is None:
            raise HttpError(HTTPStatus.NOT_FOUND, "the URL was used, is too old, or never was one")
        return request

    def _spdy(self, connection: socket.socket, asked: Handshake, request: StreamRequest) -> None:
        known, offered = self._spoken.of("spdy", request), asked.listed(_VERSIONS)
        if not offered:
            raise HttpError(HTTPStatus.BAD_REQUEST, "X-Stream-Protocol-Version is missing")
        protocol = protocols.choose(known, offered)
        if protocol is None:
            names = tuple((_ACCEPTED, name) for name in known)
            sentence = f"none of {', '.join(offered)} is spoken here"
            raise Refusal(HTTPStatus.FORBIDDEN, sentence, names)
        head = ("Upgrade: SPDY/3.1", "Connection: Upgrade", f"{_VERSIONS.title()}: {protocol.name}")
        connection.sendall(
            "\r\n".join(("HTTP/1.1 101 Switching Protocols", *head, "", "")).encode()
        )
        self._on_spdy(SocketBytes(connection, asked.behind), request, protocol)

    def _on_spdy(self, stream: ByteStream, request: StreamRequest, protocol: Protocol) -> None:
        link = Link(stream, client=False)
        if request.kind == "portforward":
            serve_spdy_forward(link, self._dial(request))
        else:
            serve_spdy_command(link, request, protocol, self._executor.run, self._creation_s)

    def _websocket(
        self, connection: socket.socket, asked: Handshake, request: StreamRequest
    ) -> None:
        try:
            messages = Messages(connection, asked.raw)
        except NotWebSocket as error:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"no WebSocket handshake: {error}") from None
        protocol = protocols.choose(
            self._spoken.of("websocket", request), messages.offered or ("",)
        )
        if protocol is None:
            sentence = f"none of {', '.join(messages.offered)} is spoken here"
            raise HttpError(HTTPStatus.FORBIDDEN, sentence)
        messages.accept(protocol.name)
        if protocol.tunnel:
            self._on_spdy(Tunnel(messages), request, protocol)
        elif request.kind == "portforward":
            serve_websocket_forward(messages, request.ports, protocol, self._dial(request))
        else:
            serve_websocket_command(messages, request, protocol, self._executor.run)

    def _dial(self, request: StreamRequest) -> Callable[[int], socket.socket]:
        return lambda port: self._executor.dial(request.id, port)


class _Listener(CappedServer):
    """A thread for each connection."""

    def __init__(
        self, address: tuple[str, int], serve: Callable[[socket.socket, Handshake], None]
    ) -> None:
        self.serve, self._open = serve, set[socket.socket]()
        super().__init__(address, _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Gives a connection its thread."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        """Ends all that are open."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Connection(socketserver.BaseRequestHandler):
    server: _Listener
    request: socket.socket

    def handle(self) -> None:
        """A request, and the stream that it becomes."""
        self.request.settimeout(_REQUEST_S)
        try:
            asked = handshake.read(self.request)
            self.server.waiting.remove(self.request)
            self.request.settimeout(None)
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.server.serve(self.request, asked)
        except HttpError as error:
            self._refuse(error)

    def _refuse(self, error: HttpError) -> None:
        body = f"{error}\n".encode()
        lines = [
            f"HTTP/1.1 {error.status.value} {error.status.phrase}",
            *(f"{name}: {value}" for name, value in getattr(error, "headers", ())),
            "Content-Type: text/plain; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Connection: close",
        ]
        self.request.sendall("\r\n".join((*lines, "", "")).encode() + body)
        drain(self.request)
