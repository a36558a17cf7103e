"""Below gRPC."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from conformance.csi.common import sockets
from refimpl.wire.client import Unreachable
from refimpl.wire.endpoint import Endpoint


def test_the_process_that_listens_is_told_by_the_kernel(tmp_path: Path) -> None:
    """Of a unix socket; of another address nothing is known."""
    endpoint = Endpoint.parse(tmp_path / "x.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(endpoint.path)
        server.listen()
        assert sockets.listener(endpoint) == os.getpid()
    assert sockets.listener(Endpoint.parse("tcp://127.0.0.1:1")) == 0


def test_a_connection_is_made_to_either_kind() -> None:
    """Nothing was sent on it yet."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with sockets.connect(Endpoint.parse(f"tcp://127.0.0.1:{port}")) as connection:
            assert connection.getpeername()[1] == port


def test_nobody_there_is_unreachable(tmp_path: Path) -> None:
    """With the system's own words."""
    with pytest.raises(Unreachable, match="takes no connection: No such file"):
        sockets.connect(Endpoint.parse(tmp_path / "x.sock"))
