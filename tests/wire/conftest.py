"""A server for one unary and one streaming method, with plain grpc on the other side."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from refimpl.csi.api import csi_pb2
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry
from refimpl.wire.server import Server

WAIT_S = 10.0
SERVICES = csi_pb2.DESCRIPTOR.services_by_name
CREATE = "/csi.v1.Controller/CreateVolume"
ALLOCATED = "/csi.v1.SnapshotMetadata/GetMetadataAllocated"


class Wire:
    """The server under test and a channel on which bytes go in and out."""

    def __init__(self, server: Server, endpoint: Endpoint) -> None:
        self.server = server
        self.channel = grpc.insecure_channel(endpoint.target)

    def create(self, **fields: Any) -> csi_pb2.CreateVolumeResponse:
        request = csi_pb2.CreateVolumeRequest(**fields).SerializeToString()
        reply = self.channel.unary_unary(CREATE)(request, timeout=WAIT_S)
        return csi_pb2.CreateVolumeResponse.FromString(reply)

    def stream(self, timeout: float = WAIT_S) -> Any:
        return self.channel.unary_stream(ALLOCATED)(b"", timeout=timeout)

    def refusal(self, invoke: Callable[[], Any]) -> tuple[str, str]:
        """The code and the message with which a call ends; fails the test if it succeeds."""
        with pytest.raises(grpc.RpcError) as caught:
            invoke()
        error: Any = caught.value
        return error.code().name, error.details()

    def entry(self) -> Entry:
        (only,) = self.server.journal.entries
        return only


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Wire]]:
    """Starts a server for implementations of CreateVolume and GetMetadataAllocated."""
    with ExitStack() as stack:

        def start(create: Any = None, stream: Any = None, **options: Any) -> Wire:
            services = {
                SERVICES["Controller"]: SimpleNamespace(CreateVolume=create),
                SERVICES["SnapshotMetadata"]: SimpleNamespace(GetMetadataAllocated=stream),
            }
            server = Server(services, **options)
            stack.callback(server.stop, 0)
            wire = Wire(server, server.start(Endpoint.parse(tmp_path / "s")))
            stack.callback(wire.channel.close)
            return wire

        yield start
