"""One request and its answer, which is read as it comes; ended from outside at any moment."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import urljoin, urlsplit

import attrs

from refimpl.wire.status import Code, Refused

__all__ = ["Answer", "Http", "Waiter", "is_loopback"]

_SILENCE_S = 300.0
"""How long a registry may say nothing (containerd and kubelet give up then)."""
_CONNECT_S = 30.0
_PIECE = 1 << 16
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Waiter(Protocol):
    """Who waits for an image."""

    def cancelled(self) -> bool:
        """Whether nobody waits any more."""

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Calls the callback once `cancelled` turns true."""


@attrs.frozen
class Answer:
    """What came back; names of headers are in lower case, `pieces` can be read once."""

    url: str
    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes] = attrs.field(repr=False)

    def read(self, largest: int) -> bytes:
        """All of it; raises Refused for more than `largest` bytes."""
        content = bytearray()
        for piece in self.pieces:
            content += piece
            if len(content) > largest:
                raise Refused(
                    Code.UNKNOWN, f"{self.url} answers more than {largest} bytes, too many for it"
                )
        return bytes(content)


def is_loopback(domain: str) -> bool:
    """Whether a registry is on this machine, by its name: such need no TLS."""
    host = urlsplit(f"//{domain}").hostname or ""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


class Http:
    """The requests of one pull. Once nobody waits for it any more, what is under way breaks off."""

    def __init__(self, waiter: Waiter) -> None:
        self._waiter = waiter
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()
        self.stopped = threading.Event()
        waiter.on_cancel(self._stop)

    @contextlib.contextmanager
    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Iterator[Answer]:
        """The answer, redirections followed: to another host without `Authorization`. Raises
        OSError and http.client.HTTPException; Refused (CANCELLED) once nobody waits."""
        sent = dict(headers)
        for _ in range(_MOST_REDIRECTS):
            with self._once(method, url, sent, body) as answer:
                if answer.status not in _REDIRECTS or "location" not in answer.headers:
                    yield answer
                    return
                target = urljoin(url, answer.headers["location"])
            if urlsplit(target).netloc != urlsplit(url).netloc:
                sent.pop("Authorization", None)
            url = target
        raise Refused(Code.UNKNOWN, f"{url}: more than {_MOST_REDIRECTS} redirections")

    @contextlib.contextmanager
    def _once(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> Iterator[Answer]:
        parts = urlsplit(url)
        connection = _connection(parts.scheme, parts.netloc)
        with self._lock:
            self._open.add(connection)
        try:
            connection.connect()
            connection.sock.settimeout(_SILENCE_S)
            self._check()  # there is a socket from now on, which `_stop` finds
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request(method, target or "/", body, dict(headers))
            reply = connection.getresponse()
            known = {name.lower(): value for name, value in reply.getheaders()}
            yield Answer(url, reply.status, known, self._pieces(reply))
        except (OSError, http.client.HTTPException):
            self._check()  # what broke off because of us is no failure of the registry
            raise
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _pieces(self, reply: http.client.HTTPResponse) -> Iterator[bytes]:
        expected = reply.length
        received = 0
        while piece := reply.read(_PIECE):
            self._check()
            received += len(piece)
            yield piece
        self._check()
        if expected is not None and received < expected:
            raise http.client.IncompleteRead(b"", expected - received)

    def _check(self) -> None:
        if self.stopped.is_set() or self._waiter.cancelled():
            raise Refused(Code.CANCELLED, "nobody waits for this image any more")

    def _stop(self) -> None:
        self.stopped.set()
        with self._lock:
            connections = [*self._open]
        for connection in connections:
            with contextlib.suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(2)


def _connection(scheme: str, netloc: str) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(netloc, timeout=_CONNECT_S)
    context = ssl.create_default_context()
    if is_loopback(netloc):  # as containerd has it: a certificate of this machine says nothing
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(netloc, timeout=_CONNECT_S, context=context)
