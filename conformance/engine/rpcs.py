"""The RPCs of a schema, by reflection."""

from __future__ import annotations

from typing import TypeVar

import attrs
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

__all__ = ["Rpc", "of_schema"]


@attrs.frozen
class Rpc:
    """One RPC: its package and service, its name, its types, and whether it streams replies."""

    package: str
    service: str
    name: str
    request: type[Message]
    reply: type[Message]
    streams: bool

    @property
    def method(self) -> str:
        """The whole name, as it travels: /csi.v1.Controller/CreateVolume."""
        return f"/{self.package}.{self.service}/{self.name}"


R = TypeVar("R", bound=Rpc)


def of_schema(schema: FileDescriptor, kind: type[R]) -> list[R]:
    """All RPCs of all services, in the order of the schema. kind: Rpc, or what knows more of it."""
    return [
        kind(
            schema.package,
            name,
            method.name,
            GetMessageClass(method.input_type),
            GetMessageClass(method.output_type),
            method.server_streaming,
        )
        for name, service in schema.services_by_name.items()
        for method in service.methods
    ]
