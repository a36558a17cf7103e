"""What must have happened before a node call, and what a volume allows (CSI 1.13, life cycle)."""

from __future__ import annotations

from collections.abc import Iterable

from refimpl.csi.state import rules
from refimpl.csi.state.models import Publication, Staging, Volume, VolumeCapability
from refimpl.csi.state.node.requests import ExpandRequest, PublishRequest
from refimpl.csi.state.settings import DriverSettings
from refimpl.csi.state.tables import DriverTables
from refimpl.csi.state.volumes.requests import unusable
from refimpl.wire.status import Code, Refused

# Set by kubelet for inline volumes (CSIDriver.spec.volumeLifecycleModes: Ephemeral).
_EPHEMERAL = "csi.storage.k8s.io/ephemeral"


def wants_inline(settings: DriverSettings, request: PublishRequest) -> bool:
    """True for a call that brings its volume with it."""
    return settings.ephemeral and request.volume_context.get(_EPHEMERAL) == "true"


def usable(
    tables: DriverTables, volume: Volume, node_id: str, capability: VolumeCapability
) -> None:
    """The volume can be used this way on this node, else FAILED_PRECONDITION."""
    settings = tables.settings
    if why := rules.unsupported(settings, settings.node_modes, capability):
        raise _precondition(f"{why}; volume_capability must be one the volume was made for")
    if why := unusable(volume, capability):
        raise _precondition(f"volume {rules.quoted(volume.id)} cannot be used so: {why}")
    _attached(tables, volume, node_id)


def _attached(tables: DriverTables, volume: Volume, node_id: str) -> None:
    settings = tables.settings
    if volume.ephemeral or not settings.require_attachment:
        return
    if not settings.has("controller", "PUBLISH_UNPUBLISH_VOLUME"):
        return
    if node_id not in tables.attachments.get(volume.id, ()):
        raise _precondition(
            f"volume {rules.quoted(volume.id)} is not attached to node {node_id!r}; call "
            "ControllerPublishVolume first"
        )


def staged_before(tables: DriverTables, new: Staging) -> bool:
    """True if `new` repeats an earlier call; refuses one that contradicts an earlier call."""
    old = tables.stagings.get((new.node_id, new.path))
    if old is not None and old.volume_id == new.volume_id:
        if old.capability == new.capability:
            return True
        raise Refused(
            Code.ALREADY_EXISTS,
            f"volume {rules.quoted(new.volume_id)} is staged at {rules.quoted(new.path)} with "
            "another volume_capability; unstage it there first",
        )
    if old is not None:
        raise _precondition(
            f"{rules.quoted(new.path)} is the staging path of volume "
            f"{rules.quoted(old.volume_id)}; give each volume a path of its own"
        )
    for path in _staging_paths(tables, new.volume_id, new.node_id):
        raise _precondition(
            f"volume {rules.quoted(new.volume_id)} is staged at {rules.quoted(path)} on this "
            "node; a node stages a volume once, unstage it there first"
        )
    return False


def no_directory(path: str) -> Refused:
    """The refusal of a staging path that the caller has not made."""
    return _precondition(
        f"staging_target_path {rules.quoted(path)} is no directory; the caller makes it before "
        "NodeStageVolume"
    )


def publishable(tables: DriverTables, volume: Volume, new: Publication) -> None:
    """FAILED_PRECONDITION unless the volume can be published so beside its other publications."""
    usable(tables, volume, new.node_id, new.capability)
    if not volume.ephemeral and tables.settings.has("node", "STAGE_UNSTAGE_VOLUME"):
        _staged(tables, new)
    occupant = tables.publications.get((new.node_id, new.target))
    if occupant is not None and occupant.volume_id != volume.id:
        raise _precondition(
            f"{rules.quoted(new.target)} is the target of volume "
            f"{rules.quoted(occupant.volume_id)}; give each publication a path of its own"
        )


def _staged(tables: DriverTables, new: Publication) -> None:
    if not new.staging:
        raise _precondition(
            "staging_target_path is empty, but the driver advertises STAGE_UNSTAGE_VOLUME; send "
            "the path of NodeStageVolume"
        )
    staging = tables.stagings.get((new.node_id, new.staging))
    if staging is None or staging.volume_id != new.volume_id:
        raise _precondition(
            f"volume {rules.quoted(new.volume_id)} is not staged at {rules.quoted(new.staging)}; "
            "call NodeStageVolume with that path first"
        )


def unpublished(publications: Iterable[Publication], volume_id: str) -> None:
    """Nothing of the volume is published on the node, else FAILED_PRECONDITION."""
    for publication in publications:
        raise _precondition(
            f"volume {rules.quoted(volume_id)} is published at "
            f"{rules.quoted(publication.target)}; call NodeUnpublishVolume before NodeUnstageVolume"
        )


def expandable(settings: DriverSettings, volume: Volume, request: ExpandRequest) -> None:
    """The volume can have the size asked for on this node."""
    if request.capability is not None:
        why = rules.unsupported(settings, settings.node_modes, request.capability)
        if why or request.capability.access != volume.access:
            raise rules.invalid(
                f"volume_capability does not fit volume {rules.quoted(volume.id)}: "
                f"{why or f'it is of access type {volume.access}'}"
            )
    requested = request.wanted
    if requested is None:
        return
    if requested.limit and requested.limit < volume.capacity:
        raise Refused(
            Code.OUT_OF_RANGE,
            f"limit_bytes is {requested.limit}, but the volume has {volume.capacity} bytes; a "
            "volume does not shrink",
        )
    if requested.required > volume.capacity and settings.has("controller", "EXPAND_VOLUME"):
        raise Refused(
            Code.OUT_OF_RANGE,
            f"required_bytes is {requested.required}, but the volume has {volume.capacity} bytes; "
            "call ControllerExpandVolume first",
        )


def _staging_paths(tables: DriverTables, volume_id: str, node_id: str) -> list[str]:
    uses = tables.uses.get(volume_id, ())
    return [path for kind, node, path in uses if kind == "staging" and node == node_id]


def _precondition(message: str) -> Refused:
    return Refused(Code.FAILED_PRECONDITION, message)
