"""The RPCs of CSI, and what a driver has to advertise before each may be called."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs
from google.protobuf.message import Message

from conformance.csi.capabilities import Capabilities
from conformance.engine import rpcs
from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver

# The stub of each service, and what tells that a driver has the service.
_STUBS = {
    "Identity": "identity",
    "Controller": "controller",
    "GroupController": "group",
    "SnapshotMetadata": "metadata",
    "Node": "node",
}
_HOLDS = {"Controller": "controller", "GroupController": "group", "Node": "node"}

# CSI, "RPC Interface" and the sections of the RPCs: the capabilities of which one opens an RPC.
# What is not listed comes with its service.
_OPENED_BY: dict[str, tuple[str, ...]] = {
    "CreateVolume": ("controller:CREATE_DELETE_VOLUME",),
    "DeleteVolume": ("controller:CREATE_DELETE_VOLUME",),
    "ControllerPublishVolume": ("controller:PUBLISH_UNPUBLISH_VOLUME",),
    "ControllerUnpublishVolume": ("controller:PUBLISH_UNPUBLISH_VOLUME",),
    "ListVolumes": ("controller:LIST_VOLUMES",),
    "ControllerListVolumeHealth": ("controller:LIST_VOLUME_HEALTH",),
    "ControllerGetVolumeHealth": (
        "controller:GET_VOLUME_HEALTH",
        "controller:LIST_VOLUME_HEALTH",
    ),
    "GetCapacity": ("controller:GET_CAPACITY",),
    "CreateSnapshot": ("controller:CREATE_DELETE_SNAPSHOT",),
    "DeleteSnapshot": ("controller:CREATE_DELETE_SNAPSHOT",),
    "ListSnapshots": ("controller:LIST_SNAPSHOTS",),
    "GetSnapshot": ("controller:GET_SNAPSHOT",),
    "ControllerExpandVolume": ("controller:EXPAND_VOLUME",),
    "ControllerGetVolume": ("controller:GET_VOLUME",),
    "ControllerModifyVolume": ("controller:MODIFY_VOLUME",),
    "CreateVolumeGroupSnapshot": ("group:CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT",),
    "DeleteVolumeGroupSnapshot": ("group:CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT",),
    "GetVolumeGroupSnapshot": ("group:CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT",),
    "NodeStageVolume": ("node:STAGE_UNSTAGE_VOLUME",),
    "NodeUnstageVolume": ("node:STAGE_UNSTAGE_VOLUME",),
    "NodeGetVolumeStats": ("node:GET_VOLUME_STATS", "node:VOLUME_CONDITION"),
    "NodeGetVolumeHealth": ("node:GET_VOLUME_HEALTH",),
    "NodeGetStorageHealth": ("node:GET_STORAGE_HEALTH",),
    "NodeExpandVolume": ("node:EXPAND_VOLUME",),
}
# CSI, NodeGetInfo: due with this one only, but nothing forbids it without.
_FREE_WITHOUT = {"NodeGetInfo": "controller:PUBLISH_UNPUBLISH_VOLUME"}


@attrs.frozen
class Rpc(rpcs.Rpc):
    """One RPC of CSI."""

    def served(self, capabilities: Capabilities) -> bool:
        """Whether the driver has the service of the RPC."""
        if self.service == "SnapshotMetadata":
            return "plugin:SNAPSHOT_METADATA_SERVICE" in capabilities
        return self.service == "Identity" or _HOLDS[self.service] in capabilities.services

    def opened(self, capabilities: Capabilities) -> bool:
        """Whether the driver has the service and advertises the RPC where that is needed."""
        names = _OPENED_BY.get(self.name, ())
        return self.served(capabilities) and (
            not names or any(name in capabilities for name in names)
        )

    def due(self, capabilities: Capabilities) -> bool:
        """Whether the driver must not answer UNIMPLEMENTED."""
        needed = _FREE_WITHOUT.get(self.name)
        return self.opened(capabilities) and (needed is None or needed in capabilities)


@functools.cache
def every() -> Sequence[Rpc]:
    """All RPCs of all services, in the order of the schema."""
    return rpcs.of_schema(pb.DESCRIPTOR, Rpc)


@functools.cache
def named(name: str) -> Rpc:
    """The RPC of that name; RPC names are unique across the services."""
    return next(rpc for rpc in every() if rpc.name == name)


def of(*services: str) -> Sequence[Rpc]:
    """The RPCs of these services."""
    return [rpc for rpc in every() if rpc.service in services]


def closed(capabilities: Capabilities) -> list[Rpc]:
    """The RPCs of services that the driver has, whose capability is off."""
    return [rpc for rpc in every() if rpc.served(capabilities) and not rpc.opened(capabilities)]


def call(driver: Driver, rpc: Rpc, request: Message) -> Any:
    """Calls the RPC at this endpoint; returns the reply, of a stream the list of all replies.

    Raises Refused.
    """
    reply = getattr(getattr(driver, _STUBS[rpc.service]), rpc.name)(request)
    return list(reply) if rpc.streams else reply
