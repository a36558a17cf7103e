"""The caller's side: what kubelet, crictl and kubectl do with a URL that a runtime handed out."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit

import attrs
import h11

from refimpl.streaming import protocols
from refimpl.streaming.outcome import Outcome
from refimpl.streaming.spdy.link import Link, SocketBytes
from refimpl.streaming.spdy.session import Closed, Data, Event, Pong, Replied, Reset

__all__ = ["Answer", "SpdyCommandClient", "Unexpected", "upgrade"]

_PIECE = 1 << 16
SPDY_VERSIONS = tuple(protocols.SPDY_COMMAND)


class Unexpected(Exception):
    """The server did not switch to the protocol that was asked for. status: of its answer, 0 where
    there is none."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@attrs.frozen(kw_only=True)
class Answer:
    """What came back: status 101 where the connection may be used, with what was read behind it."""

    status: int
    headers: Mapping[str, tuple[str, ...]]
    body: bytes
    connection: socket.socket
    behind: bytes = b""


def upgrade(
    url: str,
    headers: Sequence[tuple[str, str]],
    *,
    method: str = "POST",
    timeout_s: float = 10.0,
) -> Answer:
    """Sends a request; the answer, whose connection is the caller's to close. Raises OSError, and
    Unexpected for what is no HTTP."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    connection = socket.create_connection((parts.hostname, parts.port or 80), timeout_s)
    protocol = h11.Connection(h11.CLIENT)
    whole = [("Host", parts.netloc), *headers]
    sent = protocol.send(h11.Request(method=method, target=target, headers=whole)) or b""
    sent += protocol.send(h11.EndOfMessage()) or b""
    try:
        connection.sendall(sent)
        return _answer(connection, protocol)
    except h11.RemoteProtocolError as error:
        connection.close()
        raise Unexpected(f"{url} does not answer in HTTP: {error}") from None
    except OSError:
        connection.close()
        raise


def _answer(connection: socket.socket, protocol: h11.Connection) -> Answer:
    head: h11.Response | h11.InformationalResponse | None = None
    body = b""
    while True:
        event = protocol.next_event()
        if event is h11.NEED_DATA:
            protocol.receive_data(connection.recv(_PIECE))
        elif isinstance(event, h11.InformationalResponse | h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        if head and (event is h11.PAUSED or isinstance(event, h11.EndOfMessage) or _switched(head)):
            behind, _ = protocol.trailing_data
            return Answer(
                status=head.status_code,
                headers=_collected(head),
                body=body,
                connection=connection,
                behind=bytes(behind),
            )


def _switched(head: h11.Response | h11.InformationalResponse) -> bool:
    return head.status_code == 101


def _collected(head: h11.Response | h11.InformationalResponse) -> dict[str, tuple[str, ...]]:
    headers: dict[str, tuple[str, ...]] = {}
    for name, value in head.headers:
        key = name.decode()
        headers[key] = (*headers.get(key, ()), value.decode("latin-1"))
    return headers


class SpdyCommandClient:
    """An exec or attach over SPDY/3.1, opened. The flags are those of the request to the runtime.

    version: the protocol that the server chose. Raises OSError, and Unexpected with the status
    where the server does not switch.
    """

    def __init__(
        self,
        url: str,
        *,
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool = True,
        tty: bool = False,
        versions: Sequence[str] = SPDY_VERSIONS,
        timeout_s: float = 10.0,
    ) -> None:
        asked = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
        asked += [("X-Stream-Protocol-Version", name) for name in versions]
        answer = upgrade(url, asked, timeout_s=timeout_s)
        if answer.status != 101:
            answer.connection.close()
            told = answer.body.decode(errors="replace").strip()
            raise Unexpected(f"{url} answers {answer.status}: {told}", status=answer.status)
        self.version = next(iter(answer.headers.get("x-stream-protocol-version", ())), "")
        self._connection = answer.connection
        self._connection.settimeout(None)
        self._link = Link(SocketBytes(self._connection, answer.behind), client=True)
        self._output: dict[str, bytearray] = {}
        self._ids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._changed = threading.Condition()
        self._replied, self._closed, self._over = set[int](), set[int](), False
        self._pongs = set[int]()
        self._timeout_s = timeout_s
        self._reader = threading.Thread(target=self._read, name="refimpl-stream", daemon=True)
        self._reader.start()
        resizes = tty and protocols.SPDY_COMMAND[self.version].resizes
        wanted = {
            "error": True,
            "stdin": stdin,
            "stdout": stdout,
            "stderr": stderr and not tty,
            "resize": resizes,
        }
        for name in (name for name, is_wanted in wanted.items() if is_wanted):
            self._open(name)

    def __enter__(self) -> SpdyCommandClient:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Sends input."""
        self._link.send(self._ids["stdin"], data)

    def end_input(self) -> None:
        """Closes the input; the output goes on."""
        self._link.send(self._ids["stdin"], b"", fin=True)

    def resize(self, width: int, height: int) -> None:
        """Tells the size of the terminal, in characters."""
        told = f'{{"Width":{width},"Height":{height}}}\n'
        self._link.send(self._ids["resize"], told.encode())

    def output(self, name: str = "stdout") -> bytes:
        """What has come so far on stdout, stderr or error."""
        with self._changed:
            return bytes(self._output.get(name, b""))

    def until(self, text: bytes, name: str = "stdout", timeout_s: float = 20.0) -> bool:
        """Whether this comes before the end and within that time."""

        def here() -> bool:
            return text in self._output.get(name, b"")

        with self._changed:
            self._changed.wait_for(lambda: here() or self._over, timeout_s)
            return here()

    def ping(self, timeout_s: float = 10.0) -> bool:
        """Whether the server answers a ping within that time."""
        number = self._link.ping()
        with self._changed:
            self._changed.wait_for(lambda: number in self._pongs or self._over, timeout_s)
            return number in self._pongs

    def wait(self, timeout_s: float = 30.0) -> Outcome | None:
        """How it ended, None where it has not in that time."""
        with self._changed:
            error = self._ids["error"]
            ended = self._changed.wait_for(lambda: error in self._closed or self._over, timeout_s)
            return Outcome.parse(bytes(self._output.get("error", b""))) if ended else None

    def close(self) -> None:
        """Leaves."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(self._timeout_s)
        self._connection.close()

    def _open(self, name: str) -> None:
        # Noted before its answer can come, which another thread reads.
        with self._changed:
            id = self._ids[name] = self._link.open({"streamtype": (name,)})
            self._names[id] = name
            self._changed.wait_for(lambda: id in self._replied or self._over, self._timeout_s)
            if id not in self._replied:
                raise Unexpected(f"the server does not answer to the stream {name}")

    def _read(self) -> None:
        self._link.run(self._hear)
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _hear(self, event: Event) -> None:
        with self._changed:
            match event:
                case Replied(stream):
                    self._replied.add(stream)
                case Data(stream, payload):
                    self._output.setdefault(self._names[stream], bytearray()).extend(payload)
                case Closed(stream) | Reset(stream):
                    self._closed.add(stream)
                    self._replied.add(stream)
                case Pong(number):
                    self._pongs.add(number)
            self._changed.notify_all()
