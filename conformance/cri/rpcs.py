"""The RPCs of CRI, by reflection."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from refimpl.cri.api import cri_pb2 as pb

__all__ = ["Rpc", "every"]


@attrs.frozen
class Rpc:
    """One RPC: its service, its name, its types, and whether it streams replies."""

    service: str
    name: str
    request: type[Message]
    reply: type[Message]
    streams: bool

    @property
    def method(self) -> str:
        """The whole name, as it travels: /runtime.v1.RuntimeService/Version."""
        return f"/runtime.v1.{self.service}/{self.name}"


@functools.cache
def every() -> Sequence[Rpc]:
    """All RPCs of both services, in the order of the schema."""
    return [
        Rpc(
            name,
            method.name,
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
            method.server_streaming,
        )
        for name, service in pb.DESCRIPTOR.services_by_name.items()
        for method in service.methods
    ]
