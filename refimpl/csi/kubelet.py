"""The calling side of CSI: the five services of a driver as kubelet and sidecars reach them."""

from __future__ import annotations

from typing import cast

import attrs
import grpc

from refimpl.csi.api import csi_pb2_grpc


@attrs.frozen
class Driver:
    """Stubs of one endpoint; every call goes through the channel given."""

    identity: csi_pb2_grpc.IdentityStub
    controller: csi_pb2_grpc.ControllerStub
    group: csi_pb2_grpc.GroupControllerStub
    metadata: csi_pb2_grpc.SnapshotMetadataStub
    node: csi_pb2_grpc.NodeStub

    @classmethod
    def over(cls, channel: object) -> Driver:
        """The services behind a `wire.client.Channel`, or whatever wraps one."""
        wire = cast("grpc.Channel", channel)
        return cls(
            csi_pb2_grpc.IdentityStub(wire),
            csi_pb2_grpc.ControllerStub(wire),
            csi_pb2_grpc.GroupControllerStub(wire),
            csi_pb2_grpc.SnapshotMetadataStub(wire),
            csi_pb2_grpc.NodeStub(wire),
        )
