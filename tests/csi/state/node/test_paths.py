"""refimpl.csi.state.node.paths: what a storage needs after a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.node import PublishRequest, StageRequest, owned_keys, volume_paths
from refimpl.csi.state.ports import VolumePath

SHARED = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)


def test_paths_of_all_nodes_are_listed_with_what_holds_there(new_rig: Callable[..., Any]) -> None:
    """A staging path is the caller's; read-only is what the storage got, not what was sent."""
    rig = new_rig()
    volume = rig.volume()
    for node, readonly in ((rig.node, True), (rig.other, False)):
        node.stage(StageRequest(volume_id=volume, path="/s", capability=SHARED))
        node.publish(
            PublishRequest(
                volume_id=volume, target="/t", staging="/s", capability=SHARED, readonly=readonly
            )
        )
    assert list(volume_paths(rig.state.tables)) == [
        VolumePath(volume, "/s", SHARED, staged=True),
        VolumePath(volume, "/s", SHARED, staged=True),
        VolumePath(volume, "/t", SHARED, readonly=True),
        VolumePath(volume, "/t", SHARED, readonly=False),
    ]


def test_owned_keys_are_volumes_and_snapshots(new_rig: Callable[..., Any]) -> None:
    """Everything else below the root has lost its owner."""
    rig = new_rig()
    volume = rig.volume()
    snapshot = rig.state.snapshots.create(volume, "s", {}, None, {})
    assert owned_keys(rig.state.tables) == {volume, snapshot.id}
