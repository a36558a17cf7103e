"""Cutting the connections that a server of this process has accepted, as a pulled plug would."""

from __future__ import annotations

import contextlib
import os
import socket

from refimpl.wire.endpoint import Endpoint

__all__ = ["cut_connections"]


def cut_connections(endpoint: Endpoint) -> int:
    """Shuts down every connection accepted at the endpoint; returns how many there were.

    grpc has no call for this: a server can only stop as a whole. The listening socket stays.
    """
    cut = 0
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError), _duplicate(int(name)) as peer:
            if _accepted_at(peer, endpoint):
                peer.shutdown(socket.SHUT_RDWR)
                cut += 1
    return cut


def _duplicate(number: int) -> socket.socket:
    """The same socket under a descriptor of our own, so that nothing of the owner's is closed.

    Raises OSError if the descriptor is gone or is none of a socket.
    """
    duplicate = os.dup(number)
    try:
        return socket.socket(fileno=duplicate)
    except OSError:
        os.close(duplicate)
        raise


def _accepted_at(peer: socket.socket, endpoint: Endpoint) -> bool:
    if peer.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return False
    address = peer.getsockname()
    if peer.family == socket.AF_UNIX:
        return endpoint.kind == "unix" and address == endpoint.path
    if peer.family not in (socket.AF_INET, socket.AF_INET6) or endpoint.kind == "unix":
        return False
    peer.getpeername()  # raises OSError for a socket that is not connected
    return bool(address[1] == endpoint.port)
