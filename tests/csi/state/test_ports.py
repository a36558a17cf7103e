"""What the state is given when nobody gives it anything else."""

from __future__ import annotations

from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.ports import NoStorage, SpaceUsage, numbered, unobserved

MOUNT = VolumeCapability("mount", AccessMode.SINGLE_NODE_WRITER)


def test_counting_ids_never_repeat() -> None:
    """Whatever the kind and the name."""
    new = numbered()
    assert [new("volume", "a"), new("snapshot", "a"), new("volume", "a")] == [
        "volume-1",
        "snapshot-2",
        "volume-3",
    ]


def test_no_storage_accepts_all_and_shows_nothing() -> None:
    """An oracle has no content to lose."""
    storage = NoStorage()
    storage.provision("v", "mount", 1, None)
    storage.resize("v", 2)
    storage.snapshot("s", "v")
    storage.stage("v", "/s", MOUNT)
    storage.publish("v", "/t", MOUNT, False, "/s")
    assert storage.is_directory("/anything")
    assert not storage.holds("v", "/t")
    assert storage.usage("v", "/t") == SpaceUsage((0, 0, 0))
    assert [*storage.allocated("s"), *storage.changed("s", "s")] == []
    storage.destroy("v")


def test_nobody_has_to_observe() -> None:
    """The default observer takes every change."""
    unobserved("volume", "v", None)
    unobserved("volume", "v", MOUNT)
