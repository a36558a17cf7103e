"""What the larger node calls ask for, and the rules their fields obey on their own (CSI 1.13)."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Protocol

import attrs

from refimpl.csi.state import rules
from refimpl.csi.state.models import CapacityRange, VolumeCapability
from refimpl.csi.state.settings import DriverSettings

Strings = Mapping[str, str]
_NONE: Strings = {}


@attrs.frozen(kw_only=True)
class StageRequest:
    """NodeStageVolume. Contexts and secrets are checked for form and otherwise left alone."""

    volume_id: str
    path: str
    capability: VolumeCapability | None
    publish_context: Strings = _NONE
    volume_context: Strings = _NONE
    secrets: Strings = _NONE


@attrs.frozen(kw_only=True)
class PublishRequest:
    """NodePublishVolume. `staging` is staging_target_path, "" for none."""

    volume_id: str
    target: str
    capability: VolumeCapability | None
    readonly: bool = False
    staging: str = ""
    publish_context: Strings = _NONE
    volume_context: Strings = _NONE
    secrets: Strings = _NONE


@attrs.frozen(kw_only=True)
class ExpandRequest:
    """NodeExpandVolume. Without `wanted` the volume takes the size it has been given."""

    volume_id: str
    path: str
    wanted: CapacityRange | None = None
    capability: VolumeCapability | None = None
    secrets: Strings = _NONE


class _WithContexts(Protocol):
    @property
    def publish_context(self) -> Strings: ...
    @property
    def volume_context(self) -> Strings: ...
    @property
    def secrets(self) -> Strings: ...


def plain(path: str) -> str:
    """One spelling for one path: callers differ in trailing and doubled slashes."""
    if "//" not in path and "/./" not in path and not path.endswith(("/", "/.")):
        return path
    return posixpath.normpath("/" + path.lstrip("/"))


def checked_stage(settings: DriverSettings, request: StageRequest) -> tuple[str, VolumeCapability]:
    """(path, capability) of a call whose fields are in order. Raises INVALID_ARGUMENT."""
    rules.required("volume_id", request.volume_id)
    rules.absolute("staging_target_path", request.path)
    capability = rules.capability("volume_capability", request.capability)
    _common(settings, "NodeStageVolume", request, capability)
    return plain(request.path), capability


def checked_publish(
    settings: DriverSettings, request: PublishRequest
) -> tuple[str, str, VolumeCapability]:
    """(target, staging path, capability) of a call whose fields are in order."""
    rules.required("volume_id", request.volume_id)
    rules.absolute("target_path", request.target)
    rules.absolute_or_empty("staging_target_path", request.staging)
    capability = rules.capability("volume_capability", request.capability)
    _common(settings, "NodePublishVolume", request, capability)
    # Kubelet sends the path for block volumes of every driver: without staging it means nothing.
    staging = plain(request.staging) if settings.has("node", "STAGE_UNSTAGE_VOLUME") else ""
    return plain(request.target), staging, capability


def checked_expand(settings: DriverSettings, request: ExpandRequest) -> str:
    """The path of a call whose fields are in order. Raises INVALID_ARGUMENT."""
    rules.required("volume_id", request.volume_id)
    path = path_to_look_up("volume_path", request.path)
    rules.secrets(settings, "NodeExpandVolume", request.secrets)
    if request.wanted is not None:
        rules.capacity_range(request.wanted)
    if request.capability is not None:
        rules.capability("volume_capability", request.capability)
    return path


def path_to_look_up(field: str, path: str) -> str:
    """A path that names a place of the volume, in its one spelling. A relative one names none:
    NOT_FOUND, not INVALID_ARGUMENT, is what callers of statistics rely on."""
    if not path:
        raise rules.invalid(f"{field} is empty, but required: set it")
    return plain(path) if path.startswith("/") else path


def _common(
    settings: DriverSettings, rpc: str, request: _WithContexts, capability: VolumeCapability
) -> None:
    rules.string_map("publish_context", request.publish_context)
    rules.string_map("volume_context", request.volume_context)
    rules.secrets(settings, rpc, request.secrets)
    if capability.mount_group and not settings.has("node", "VOLUME_MOUNT_GROUP"):
        raise rules.invalid(
            "volume_mount_group is set, but this driver does not advertise node capability "
            "VOLUME_MOUNT_GROUP; leave it empty"
        )
    if capability.access == "mount" and capability.fs_type:
        known = settings.fs_types
        if capability.fs_type not in known:
            raise rules.invalid(
                f"fs_type {rules.quoted(capability.fs_type)} is not supported; known are "
                f"{', '.join(sorted(known))}"
            )
