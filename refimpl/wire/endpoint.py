"""Where a server listens or a client calls: parsing, probing, and binding without surprises."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import ipaddress
import os
import re
import socket
import stat
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Literal

from attrs import frozen

__all__ = ["RECEIVE_BYTES", "SUN_PATH", "Endpoint", "EndpointError", "bound", "probe"]

SUN_PATH = 107
"""Bytes that fit into sockaddr_un.sun_path before its closing NUL (unix(7))."""

RECEIVE_BYTES = 16 * 1024 * 1024
"""The longest message that our servers and clients take: kubelet's limit for CRI."""

LOCK_WAIT_S = 5.0
"""How long `bound` waits for another server that is binding in the same directory."""

_UMASK = threading.RLock()
State = Literal["absent", "not a socket", "stale", "live"]

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*):(.*)$", re.DOTALL)
_HOST_PORT = re.compile(r"^(\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]@]+):(\d+)$")
_FORMS = "use unix:///path, a socket's path, tcp://host:port or dns:///host:port"


class EndpointError(ValueError):
    """An endpoint that cannot be used: what was given, what is wrong with it, what to do."""


@frozen
class Endpoint:
    """A parsed endpoint; `path` is absolute and set for "unix", `host` and `port` for the rest."""

    kind: Literal["unix", "tcp", "dns"]
    path: str = ""
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str | os.PathLike[str]) -> Endpoint:
        """Reads `unix:///p`, `tcp://h:p`, `dns:///h:p` or a socket's path (relative is fine).

        Raises EndpointError.
        """
        raw = os.fspath(text)
        match = _SCHEME.match(raw)
        if match is None or raw.startswith(("/", ".")):
            return _unix(raw, raw)
        scheme, address = match[1].lower(), match[2]
        if scheme == "unix":
            return _unix(raw, _unix_path(raw, address))
        if scheme == "tcp" and address.startswith("//"):
            return cls("tcp", "", *_host_port(raw, address[2:]))
        if scheme == "dns" and address.startswith("///"):
            return cls("dns", "", *_host_port(raw, address[3:]))
        raise EndpointError(_unknown_form(raw))

    @property
    def target(self) -> str:
        """The name that grpc wants for this endpoint, for a channel as well as for a port."""
        if self.kind == "unix":
            return "unix:" + urllib.parse.quote(self.path)  # grpc reads it as a URI
        return f"dns:///{self.address}" if self.kind == "dns" else self.address

    @property
    def address(self) -> str:
        """`host:port`, or the path of a unix socket."""
        if self.kind == "unix":
            return self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        slashes = "///" if self.kind == "dns" else "//"
        return f"{self.kind}:{slashes}{self.address}"


def probe(endpoint: Endpoint, timeout_s: float = 1.0) -> State:
    """Says what is found at the endpoint, by connecting to it and hanging up at once.

    "stale" is a socket file that nobody listens on. A socket that this user may not look at
    counts as "live", since it must not be taken over. TCP is "absent" or "live".
    """
    if endpoint.kind != "unix":
        return _probe_tcp(endpoint, timeout_s)
    try:
        mode = os.lstat(endpoint.path).st_mode
        mode = os.stat(endpoint.path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        # A link that leads nowhere is in the way of a bind, so it is not "absent".
        return "not a socket" if os.path.islink(endpoint.path) else "absent"
    except PermissionError:
        return "live"
    return _probe_socket(endpoint.path, timeout_s) if stat.S_ISSOCK(mode) else "not a socket"


@contextlib.contextmanager
def bound(endpoint: Endpoint, *, allow_remote: bool = False) -> Iterator[None]:
    """Surrounds the moment in which a server binds the endpoint.

    A missing directory is made with mode 0700, the socket comes out with mode 0600, a stale
    socket is removed. The lock that keeps two servers apart is on the directory itself, because
    CSI wants no other file beside the socket. While inside, the umask of the process is 0177.
    Raises EndpointError if the place is taken, is no socket, or is reachable from other machines
    without `allow_remote`.
    """
    if endpoint.kind != "unix":
        _refuse_remote(endpoint, allow_remote)
        _make_room(endpoint)
        yield
        return
    # The umask is the process's: of two threads that bind at once the second would put back the
    # first one's, and a directory made meanwhile could not be entered.
    with _UMASK, _directory_lock(endpoint):
        _make_room(endpoint)
        umask = os.umask(0o177)
        try:
            yield
        finally:
            os.umask(umask)


def _unix(raw: str, path: str) -> Endpoint:
    if not path:
        raise EndpointError(f"endpoint {raw!r} is empty: {_FORMS}")
    if "\0" in path:
        raise EndpointError(f"endpoint {raw!r} has a NUL byte in its path: remove it")
    absolute = os.path.abspath(path)
    if path.endswith("/"):
        raise EndpointError(f"endpoint {raw!r} names a directory: add the socket's file name")
    size = len(os.fsencode(absolute))
    if size > SUN_PATH:
        raise EndpointError(
            f"endpoint {raw!r}: its path has {size} bytes, a unix socket's path has at most"
            f" {SUN_PATH} (unix(7)): use a shorter directory, or a link to it"
        )
    return Endpoint("unix", absolute)


def _unix_path(raw: str, address: str) -> str:
    if not address.startswith("//"):
        return address
    if not address.startswith("///"):
        raise EndpointError(
            f"endpoint {raw!r} has a host where none can be: write unix:/// with three slashes"
            " before an absolute path"
        )
    return address[2:]


def _host_port(raw: str, text: str) -> tuple[str, int]:
    match = _HOST_PORT.match(text)
    if match is None:
        raise EndpointError(f"endpoint {raw!r}: {text!r} is not host:port ([v6]:port for IPv6)")
    if int(match[2]) > 65535:
        raise EndpointError(f"endpoint {raw!r}: port {match[2]} is above 65535")
    return match[1].strip("[]"), int(match[2])


def _unknown_form(raw: str) -> str:
    if _HOST_PORT.match(raw):
        return f"endpoint {raw!r} may be a host or a file: write tcp://{raw} or ./{raw}"
    return f"endpoint {raw!r} is of no known form: {_FORMS}"


def _probe_socket(path: str, timeout_s: float) -> State:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(timeout_s)
        try:
            peer.connect(path)
        except ConnectionRefusedError:
            return "stale"
        except FileNotFoundError:
            return "absent"
        except OSError:
            # A full backlog, a socket of another type, one of another user: someone is there.
            return "live"
    return "live"


def _probe_tcp(endpoint: Endpoint, timeout_s: float) -> State:
    try:
        with socket.create_connection((endpoint.host, endpoint.port), timeout_s):
            return "live"
    except OSError:
        return "absent"


def _refuse_remote(endpoint: Endpoint, allow_remote: bool) -> None:
    if endpoint.kind == "dns":
        raise EndpointError(f"endpoint {endpoint} names a server to call: bind tcp://host:port")
    if not allow_remote and not _is_loopback(endpoint.host):
        raise EndpointError(
            f"endpoint {endpoint} is open to other machines and has neither encryption nor login:"
            " use tcp://127.0.0.1:port, or allow remote callers explicitly"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def _directory_lock(endpoint: Endpoint) -> Iterator[None]:
    directory = os.path.dirname(endpoint.path)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise EndpointError(f"endpoint {endpoint}: its directory: {_reason(error)}") from error
    try:
        _take(lock, endpoint)
        yield
    finally:
        os.close(lock)


def _take(lock: int, endpoint: Endpoint) -> None:
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EINTR):
                raise EndpointError(f"endpoint {endpoint}: lock: {_reason(error)}") from error
        if time.monotonic() >= deadline:
            raise EndpointError(
                f"endpoint {endpoint}: another process has held the lock on its directory for"
                f" {LOCK_WAIT_S:g} s: end that process, or use another directory"
            )
        time.sleep(0.005)


def _make_room(endpoint: Endpoint) -> None:
    state = probe(endpoint) if endpoint.kind == "unix" or endpoint.port else "absent"
    if state == "live":
        raise EndpointError(
            f"endpoint {endpoint}: another server listens there; a live socket is never taken"
            " over: stop that server, or use another endpoint"
        )
    if state == "not a socket":
        raise EndpointError(
            f"endpoint {endpoint}: the path exists and is no socket: remove it, or use another path"
        )
    if state == "stale":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(endpoint.path)


def _reason(error: OSError) -> str:
    return f"{error.strerror} ({error.filename})" if error.filename else str(error.strerror)
