"""Below gRPC: plain connections to an endpoint, and the process that listens there."""

from __future__ import annotations

import socket

from conformance.engine.targets.process import peer_of
from conformance.engine.verdict import timeout
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint


def connect(endpoint: Endpoint) -> socket.socket:
    """A connection on which nothing was sent yet; raises Unreachable."""
    unix = endpoint.kind == "unix"
    connection = socket.socket(socket.AF_UNIX) if unix else None
    try:
        if connection is None:
            return socket.create_connection((endpoint.host, endpoint.port), timeout(5.0))
        connection.settimeout(timeout(5.0))
        connection.connect(endpoint.path)
    except OSError as error:
        if connection:
            connection.close()
        raise Unreachable(f"{endpoint}: it takes no connection: {error.strerror}") from error
    return connection


def listener(endpoint: Endpoint) -> int:
    """The process that listens at a unix socket; 0 where that cannot be seen."""
    if endpoint.kind != "unix":
        return 0
    with connect(endpoint) as connection:
        return peer_of(connection)
