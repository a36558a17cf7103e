"""What a driver advertises, asked once per process and frozen: cases are chosen by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from refimpl.csi.api import csi_pb2 as pb
from refimpl.csi.kubelet import Driver
from refimpl.wire.status import Refused

T = TypeVar("T")

REVISIONS = ("1.12", "1.13")

# Any of these is known to CSI 1.13 only, VOLUME_CONDITION to 1.12 only.
_NEW = {
    "plugin:SNAPSHOT_ACCESSIBILITY_CONSTRAINTS",
    "controller:GET_VOLUME_HEALTH",
    "controller:LIST_VOLUME_HEALTH",
    "node:GET_VOLUME_HEALTH",
    "node:GET_STORAGE_HEALTH",
}
_OLD = {"controller:VOLUME_CONDITION", "node:VOLUME_CONDITION"}


@attrs.frozen
class Capabilities:
    """What a driver says of itself. names: such as `controller:GET_CAPACITY`."""

    name: str = ""
    version: str = ""
    names: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    node_id: str = ""
    max_volumes: int = 0
    topology: dict[str, str] | None = None

    def __contains__(self, capability: str) -> bool:
        return capability in self.names

    def guess_revision(self) -> str:
        """1.13 unless only 1.12's condition capability is advertised: no RPC tells the version."""
        if self.names & _OLD and not self.names & _NEW:
            return "1.12"
        return "1.13"


def transitions(capabilities: Capabilities) -> list[str]:
    """The sides, controller and node, that tell conditions of 1.12 and health of 1.13."""
    both = ("GET_VOLUME_HEALTH", "VOLUME_CONDITION")
    sides = {"controller": ("GET_VOLUME", "LIST_VOLUMES"), "node": ("GET_VOLUME_STATS",)}
    return [
        side
        for side, ways in sides.items()
        if all(f"{side}:{name}" in capabilities for name in both)
        and any(f"{side}:{name}" in capabilities for name in ways)
    ]


def ask(driver: Driver, node: Driver) -> Capabilities:
    """Asks both endpoints; what a driver refuses to tell counts as not offered."""
    info = _try(lambda: driver.identity.GetPluginInfo(pb.GetPluginInfoRequest()))
    names, services = _of_plugin(driver), set[str]()
    if "plugin:CONTROLLER_SERVICE" in names:
        services.add("controller")
        request = pb.ControllerGetCapabilitiesRequest()
        answer: Any = _try(lambda: driver.controller.ControllerGetCapabilities(request))
        names |= _rpcs("controller", answer, pb.ControllerServiceCapability.RPC.Type)
    if "plugin:GROUP_CONTROLLER_SERVICE" in names:
        services.add("group")
        of_groups = pb.GroupControllerGetCapabilitiesRequest()
        answer = _try(lambda: driver.group.GroupControllerGetCapabilities(of_groups))
        names |= _rpcs("group", answer, pb.GroupControllerServiceCapability.RPC.Type)
    on_node = _try(lambda: node.node.NodeGetCapabilities(pb.NodeGetCapabilitiesRequest()))
    if on_node is not None:
        services.add("node")
        names |= _rpcs("node", on_node, pb.NodeServiceCapability.RPC.Type)
    node_info = _try(lambda: node.node.NodeGetInfo(pb.NodeGetInfoRequest())) if on_node else None
    return Capabilities(
        name=info.name if info else "",
        version=info.vendor_version if info else "",
        names=frozenset(names),
        services=frozenset(services),
        node_id=node_info.node_id if node_info else "",
        max_volumes=node_info.max_volumes_per_node if node_info else 0,
        topology=_segments(node_info) if node_info else None,
    )


def _of_plugin(driver: Driver) -> set[str]:
    names: set[str] = set()
    plugin = _try(lambda: driver.identity.GetPluginCapabilities(pb.GetPluginCapabilitiesRequest()))
    for capability in plugin.capabilities if plugin else ():
        if capability.HasField("service"):
            names.add(f"plugin:{_name(pb.PluginCapability.Service.Type, capability.service.type)}")
        elif capability.HasField("volume_expansion"):
            kind = pb.PluginCapability.VolumeExpansion.Type
            names.add(f"expansion:{_name(kind, capability.volume_expansion.type)}")
    return names


def _segments(info: pb.NodeGetInfoResponse) -> dict[str, str] | None:
    has = info.HasField("accessible_topology")
    return dict(info.accessible_topology.segments) if has else None


def _rpcs(kind: str, answer: Any, enum: Any) -> set[str]:
    listed = answer.capabilities if answer is not None else ()
    return {f"{kind}:{_name(enum, entry.rpc.type)}" for entry in listed if entry.HasField("rpc")}


def _name(enum: Any, number: int) -> str:
    known: bool = number in enum.values()
    return str(enum.Name(number)) if known else str(number)


def _try(call: Callable[[], T]) -> T | None:
    try:
        return call()
    except Refused:
        return None
