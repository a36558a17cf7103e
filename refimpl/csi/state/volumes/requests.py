"""What CreateVolume is asked for, and whether a volume that exists is that (CSI 1.13)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.models import (
    CapacityRange,
    ContentSource,
    TopologyRequirement,
    Volume,
    VolumeCapability,
)
from refimpl.csi.state.volumes import sizes, topology


@attrs.frozen
class NewVolume:
    """The fields of CreateVolumeRequest, not yet checked."""

    name: str
    capabilities: tuple[VolumeCapability, ...]
    capacity: CapacityRange | None = None
    parameters: dict[str, str] = attrs.field(factory=dict)
    mutable_parameters: dict[str, str] = attrs.field(factory=dict)
    source: ContentSource | None = None
    requirement: TopologyRequirement | None = None
    secrets: Mapping[str, str] = attrs.field(factory=dict)


def difference(volume: Volume, request: NewVolume, everywhere: topology.Places) -> str:
    """What keeps a volume from being the one asked for; "" if nothing does."""
    if not sizes.contains(request.capacity, volume.capacity):
        return f"has {volume.capacity} bytes, which is outside of the capacity_range"
    for capability in request.capabilities:
        if why := unusable(volume, capability):
            return why
    if {**request.parameters, **request.mutable_parameters} != volume.parameters:
        return "was created with other parameters"
    if request.source != volume.source:
        return "was created from another volume_content_source"
    if not topology.met(request.requirement, volume.topology or everywhere):
        return "is not accessible from where it is required"
    return ""


def unusable(volume: Volume, capability: VolumeCapability) -> str:
    """Why this volume cannot be used in this way though the driver knows it; "" if it can."""
    if capability.access != volume.access:
        return f"it is a {volume.access} volume"
    if not rules.covered(volume.modes, capability.mode):
        made_for = ", ".join(mode.name for mode in volume.modes)
        return f"it was made for {made_for}, which does not cover {capability.mode.name}"
    if capability.fs_type not in ("", volume.fs_type):
        return f"its file system is {volume.fs_type}"
    return ""
