"""Why an endpoint cannot be called: one plain reason, found out without grpc's help."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time

from attrs import frozen

from refimpl.wire.endpoint import Endpoint

__all__ = ["Obstacle", "obstacle"]

_SETTINGS_TYPE = 4
_FRAME_HEADER = 9
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS_TYPE, 0, 0, 0, 0, 0])
_FINAL = {
    b"HTTP/1": "speaks HTTP/1, not gRPC (HTTP/2): it may be a control or metrics endpoint",
    b"\x15\x03": "speaks TLS; node interfaces are served in the clear",
}


@frozen
class Obstacle:
    """What is in the way; `passing` if a server that is still starting would look the same."""

    reason: str
    passing: bool


def obstacle(endpoint: Endpoint, timeout_s: float) -> Obstacle | None:
    """Connects and exchanges the first HTTP/2 frame (RFC 9113, 3.4); None if that works.

    Takes at most about `timeout_s`.
    """
    missing = _file_obstacle(endpoint.path) if endpoint.kind == "unix" else None
    if missing is not None:
        return missing
    deadline = time.monotonic() + timeout_s
    try:
        with _connect(endpoint, timeout_s) as peer:
            return _greet(peer, deadline, timeout_s)
    except ConnectionRefusedError:
        stale = endpoint.kind == "unix"
        leftover = " (the socket is left over from one that has ended)" if stale else ""
        return Obstacle(f"nobody listens there{leftover}: start the server", True)
    except socket.gaierror as error:
        return Obstacle(f"the host's name leads nowhere ({error.strerror})", True)
    except PermissionError:
        return Obstacle("this user may not connect to it", False)
    except TimeoutError:
        return Obstacle(f"it accepted no connection within {timeout_s:g} s", True)
    except OSError as error:
        return Obstacle(f"it cannot be connected to ({error.strerror})", True)


def _file_obstacle(path: str) -> Obstacle | None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return Obstacle("there is no such file: start the server, or correct the path", True)
    except OSError as error:
        return Obstacle(f"the path cannot be followed ({error.strerror})", False)
    if not stat.S_ISSOCK(mode):
        return Obstacle("the file is no socket: give the path of the server's socket", False)
    return None


def _connect(endpoint: Endpoint, timeout_s: float) -> socket.socket:
    if endpoint.kind != "unix":
        return socket.create_connection((endpoint.host, endpoint.port), timeout_s)
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.settimeout(timeout_s)
        peer.connect(endpoint.path)
    except BaseException:
        peer.close()
        raise
    return peer


def _greet(peer: socket.socket, deadline: float, timeout_s: float) -> Obstacle | None:
    received = b""
    try:
        with contextlib.suppress(ConnectionError):  # it may have spoken before it hung up
            peer.sendall(_PREFACE)
        while len(received) < _FRAME_HEADER:
            peer.settimeout(max(deadline - time.monotonic(), 0.001))
            more = peer.recv(_FRAME_HEADER - len(received))
            if not more:
                break
            received += more
    except TimeoutError:
        if not received:
            silent = f"it accepts connections but sent nothing within {timeout_s:g} s"
            return Obstacle(f"{silent}: it hangs, or is no gRPC server", True)
    except ConnectionError:
        pass  # what it said until then counts
    return _judge(received)


def _judge(received: bytes) -> Obstacle | None:
    if len(received) == _FRAME_HEADER and received[3] == _SETTINGS_TYPE and not any(received[5:]):
        return None
    for start, reason in _FINAL.items():
        if received.startswith(start):
            return Obstacle(f"it {reason}", False)
    if not received:
        return Obstacle("it closes the connection at once: it is no gRPC server", True)
    return Obstacle(
        f"it does not speak gRPC: it answers HTTP/2's greeting with {received!r}", False
    )
