"""The registry as an HTTP server: what runtimes need to pull (OCI distribution-spec 1.1)."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs

from refimpl.images.blobs import OCI, Blob, document
from refimpl.images.build import Built
from refimpl.images.registry.access import Access, Anybody, Bearer
from refimpl.images.registry.content import Content
from refimpl.images.registry.faults import Fault, Faults
from refimpl.wire.http_server import CappedServer, read_body

__all__ = ["Registry"]

_IDLE_S = 60.0
_TLS_HANDSHAKE = b"\x16"
_ROUTES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"/v2/", "version"),
        (r"/v2/_catalog", "catalog"),
        (r"/v2/(?P<repository>.+)/manifests/(?P<reference>[^/]+)", "manifest"),
        (r"/v2/(?P<repository>.+)/blobs/(?P<reference>[^/]+)", "blob"),
        (r"/v2/(?P<repository>.+)/tags/list", "tags"),
        (r"/v2/(?P<repository>.+)/referrers/(?P<reference>[^/]+)", "referrers"),
    )
)
_DIGEST = re.compile(r"[a-z0-9]+([+._-][a-z0-9]+)*:[A-Za-z0-9=_-]+")  # of any algorithm
_LARGEST_FORM = 1 << 16
_MOST_TAGS = 1000


@attrs.frozen
class Request:
    """One that was answered: what a test looks at afterwards."""

    method: str
    path: str
    status: int
    user: str = ""


class Registry:
    """Serves from `start` to `close`. `address` is what its images are called by, such as
    127.0.0.1:5000; localhost:5000 is another registry to a runtime, with the same content.
    tells_plain: whether it answers a client that begins with TLS in HTTP; Python's own server does
    not."""

    def __init__(
        self,
        images: Mapping[str, Built],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        access: Access | None = None,
        faults: Iterable[Fault] = (),
        tells_plain: bool = True,
    ) -> None:
        self.tells_plain = tells_plain
        self.content, self.faults = Content(images), Faults(faults)
        self.access: Access = access or Anybody()
        self.requests: list[Request] = []
        self._server = _Listener((host, port), self)
        self.port: int = self._server.server_address[1]
        self.address = f"{host}:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="refimpl-registry", daemon=True
        )

    def start(self) -> None:
        """Begins to serve."""
        self._thread.start()

    def close(self) -> None:
        """Ends it."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Registry:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class _Listener(CappedServer):
    def __init__(self, address: tuple[str, int], registry: Registry) -> None:
        self.registry = registry
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    """A connection and its requests."""

    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S
    server: _Listener
    connection: socket.socket

    def handle(self) -> None:
        """Clients try TLS first, and go on without where the answer is HTTP."""
        if self.connection.recv(1, socket.MSG_PEEK) == _TLS_HANDSHAKE:
            if self.server.registry.tells_plain:
                self.connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            self.connection.sendall(b"this is plain HTTP\n")
            return
        super().handle()

    def handle_one_request(self) -> None:
        """A request; while it is served the connection is not one that waits."""
        self.server.waiting.add(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        """The head of a request."""
        self.server.waiting.remove(self.connection)
        return super().parse_request()

    def do_GET(self) -> None:
        """Reads something."""
        self._serve()

    def do_HEAD(self) -> None:
        """As GET, without the content."""
        self._serve()

    def do_POST(self) -> None:
        """The token service, for who has an identity token."""
        registry = self.server.registry
        if urlsplit(self.path).path != "/token" or not isinstance(registry.access, Bearer):
            self._error(HTTPStatus.METHOD_NOT_ALLOWED, "UNSUPPORTED", "nothing can be written here")
            return
        form = parse_qs(read_body(self.headers, self.rfile, _LARGEST_FORM).decode())
        refresh = form.get("refresh_token", [""])[0]
        self._token(registry.access.exchange(refresh))

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: requests are kept, without what is secret."""

    # What there is

    def _serve(self) -> None:
        registry, parts = self.server.registry, urlsplit(self.path)
        fault = registry.faults.take(parts.path)
        if fault and fault.delay_s:
            time.sleep(fault.delay_s)
        if fault and fault.status:
            self._error(HTTPStatus(fault.status), "UNAVAILABLE", "a fault was asked for")
            return
        authorization = self.headers.get("Authorization", "")
        if parts.path == "/token":
            self._token(registry.access.token(authorization))
            return
        for pattern, name in _ROUTES:
            if (match := pattern.fullmatch(parts.path)) is not None:
                named = match.groupdict()
                if registry.access.allows(authorization):
                    _SERVED[name](self, fault, **named)
                else:
                    self._challenge(named.get("repository", ""))
                return
        self._error(HTTPStatus.NOT_FOUND, "UNSUPPORTED", f"there is no {parts.path}")

    def _challenge(self, repository: str) -> None:
        registry = self.server.registry
        base = f"http://{self.headers.get('Host', registry.address)}"
        header = ("WWW-Authenticate", registry.access.challenge(base, repository))
        self._error(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "who are you?", header)

    def _token(self, token: str | None) -> None:
        if token is None:
            self._error(HTTPStatus.UNAUTHORIZED, "UNAUTHORIZED", "wrong name or password")
        else:
            self._json({"token": token, "access_token": token, "expires_in": 300})

    def _version(self, _fault: Fault | None) -> None:
        self._json({})

    def _catalog(self, _fault: Fault | None) -> None:
        self._json({"repositories": self.server.registry.content.repositories()})

    def _tags(self, _fault: Fault | None, repository: str) -> None:
        tags = self.server.registry.content.tags(repository)
        if not tags:
            self._error(HTTPStatus.NOT_FOUND, "NAME_UNKNOWN", f"there is no {repository}")
            return
        query = parse_qs(urlsplit(self.path).query)
        last, number = query.get("last", [""])[0], query.get("n", [str(_MOST_TAGS)])[0]
        most = int(number) if number.isascii() and number.isdecimal() else _MOST_TAGS
        rest = [tag for tag in tags if tag > last]
        page, more = rest[:most], len(rest) > most
        where = f"/v2/{repository}/tags/list?n={most}&last={page[-1]}" if more and page else ""
        links = [("Link", f'<{where}>; rel="next"')] if where else []
        self._json({"name": repository, "tags": page}, *links)

    def _referrers(self, _fault: Fault | None, repository: str, reference: str) -> None:
        if not _DIGEST.fullmatch(reference):
            self._error(HTTPStatus.BAD_REQUEST, "DIGEST_INVALID", f"{reference} is no digest")
            return
        listed = self.server.registry.content.referrers(repository, reference)
        wanted = parse_qs(urlsplit(self.path).query).get("artifactType", [""])[0]
        if wanted:
            listed = [each for each in listed if each.get("artifactType") == wanted]
        members = {"schemaVersion": 2, "mediaType": OCI.index, "manifests": listed}
        applied = [("OCI-Filters-Applied", "artifactType")] if wanted else []
        self._answer(HTTPStatus.OK, OCI.index, document(members), *applied)

    def _manifest(self, fault: Fault | None, repository: str, reference: str) -> None:
        blob = self.server.registry.content.manifest(repository, reference)
        if blob is None:
            unknown = f"{repository} has no {reference}"
            self._error(HTTPStatus.NOT_FOUND, "MANIFEST_UNKNOWN", unknown)
            return
        self._content(blob, fault)

    def _blob(self, fault: Fault | None, repository: str, reference: str) -> None:
        blob = self.server.registry.content.blob(repository, reference)
        if blob is None:
            self._error(HTTPStatus.NOT_FOUND, "BLOB_UNKNOWN", f"{repository} has no {reference}")
            return
        self._content(Blob("application/octet-stream", blob.content), fault)

    # How it is answered

    def _content(self, blob: Blob, fault: Fault | None) -> None:
        content, status = blob.content, HTTPStatus.OK
        headers = [("Docker-Content-Digest", blob.digest), ("Accept-Ranges", "bytes")]
        if fault and fault.wrong:
            content = bytes(byte ^ 0xFF for byte in content)
        if (part := _range(self.headers.get("Range", ""), len(content))) is not None:
            first, last = part
            headers.append(("Content-Range", f"bytes {first}-{last}/{len(content)}"))
            content, status = content[first : last + 1], HTTPStatus.PARTIAL_CONTENT
        self._answer(status, blob.media_type, content, *headers, cut=fault.cut if fault else None)

    def _json(self, members: Mapping[str, Any], *headers: tuple[str, str]) -> None:
        content = json.dumps(members).encode()
        self._answer(HTTPStatus.OK, "application/json", content, *headers)

    def _error(
        self, status: HTTPStatus, code: str, message: str, *headers: tuple[str, str]
    ) -> None:
        content = document({"errors": [{"code": code, "message": message}]})
        self._answer(status, "application/json", content, *headers)

    def _answer(
        self,
        status: HTTPStatus,
        media_type: str,
        content: bytes,
        *headers: tuple[str, str],
        cut: int | None = None,
    ) -> None:
        self.server.registry.requests.append(Request(self.command, self.path, status.value))
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Docker-Distribution-API-Version", "registry/2.0")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content if cut is None else content[:cut])
        if cut is not None:
            self.close_connection = True


def _range(header: str, size: int) -> tuple[int, int] | None:
    """First and last byte; None for no range, or one that says nothing of use (RFC 9110, 14.2)."""
    match = re.fullmatch(r"bytes=(\d{1,18})-(\d{0,18})", header.strip())
    if match is None or int(match[1]) >= size:
        return None
    last = min(int(match[2]), size - 1) if match[2] else size - 1
    return (int(match[1]), last) if int(match[1]) <= last else None


_SERVED: dict[str, Callable[..., None]] = {
    "version": _Handler._version,
    "catalog": _Handler._catalog,
    "manifest": _Handler._manifest,
    "blob": _Handler._blob,
    "tags": _Handler._tags,
    "referrers": _Handler._referrers,
}
