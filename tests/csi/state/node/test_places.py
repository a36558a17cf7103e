"""refimpl.csi.state.node.places: what a storage is told after a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.node import PublishRequest, StageRequest, contents, places
from refimpl.csi.state.ports import VolumePath

SHARED = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)


def test_places_of_all_nodes_are_told_with_what_holds_there(new_rig: Callable[..., Any]) -> None:
    """A staging path is the caller's; read-only is what the storage was told, not what was sent."""
    rig = new_rig()
    volume = rig.volume()
    for node, readonly in ((rig.node, True), (rig.other, False)):
        node.stage(StageRequest(volume_id=volume, path="/s", capability=SHARED))
        node.publish(
            PublishRequest(
                volume_id=volume, target="/t", staging="/s", capability=SHARED, readonly=readonly
            )
        )
    assert list(places(rig.state.tables)) == [
        VolumePath(volume, "/s", SHARED, staged=True),
        VolumePath(volume, "/s", SHARED, staged=True),
        VolumePath(volume, "/t", SHARED, readonly=True),
        VolumePath(volume, "/t", SHARED, readonly=False),
    ]


def test_contents_are_volumes_and_snapshots(new_rig: Callable[..., Any]) -> None:
    """Everything else below the root has lost its owner."""
    rig = new_rig()
    volume = rig.volume()
    snapshot = rig.state.snapshots.create(volume, "s", {}, None, {})
    assert contents(rig.state.tables) == {volume, snapshot.id}
