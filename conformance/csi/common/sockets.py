"""Below gRPC: plain connections to an endpoint, and the process that listens there."""

from __future__ import annotations

import socket

from conformance.engine.process import peer_of
from conformance.engine.verdict import timeout
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint


def connect(endpoint: Endpoint) -> socket.socket:
    """A connection on which nothing was sent yet; raises Unreachable."""
    unix = endpoint.kind == "unix"
    made = socket.socket(socket.AF_UNIX) if unix else None
    try:
        if made is None:
            return socket.create_connection((endpoint.host, endpoint.port), timeout(5.0))
        made.settimeout(timeout(5.0))
        made.connect(endpoint.path)
    except OSError as error:
        if made:
            made.close()
        raise Unreachable(f"{endpoint}: it takes no connection: {error.strerror}") from error
    return made


def listener(endpoint: Endpoint) -> int:
    """The process that listens at a unix socket; 0 where that cannot be seen."""
    if endpoint.kind != "unix":
        return 0
    with connect(endpoint) as made:
        return peer_of(made)
