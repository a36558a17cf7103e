"""refimpl.csi.state.node.places: what a storage is told after a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.node import PublishRequest, StageRequest, contents, places
from refimpl.csi.state.ports import VolumePath

SHARED = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)


def test_places_of_all_nodes_are_told_with_what_holds_there(rig: Callable[..., Any]) -> None:
    """A staging path is the caller's; read-only is what the storage was told, not what was sent."""
    here = rig()
    volume = here.volume()
    for node, readonly in ((here.node, True), (here.other, False)):
        node.stage(StageRequest(volume_id=volume, path="/s", capability=SHARED))
        node.publish(
            PublishRequest(
                volume_id=volume, target="/t", staging="/s", capability=SHARED, readonly=readonly
            )
        )
    assert list(places(here.state.tables)) == [
        VolumePath(volume, "/s", SHARED, staged=True),
        VolumePath(volume, "/s", SHARED, staged=True),
        VolumePath(volume, "/t", SHARED, readonly=True),
        VolumePath(volume, "/t", SHARED, readonly=False),
    ]


def test_contents_are_volumes_and_snapshots(rig: Callable[..., Any]) -> None:
    """Everything else below the root has lost its owner."""
    here = rig()
    volume = here.volume()
    snapshot = here.state.snapshots.create(volume, "s", {}, None, {})
    assert contents(here.state.tables) == {volume, snapshot.id}
