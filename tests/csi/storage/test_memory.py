"""refimpl.csi.storage.memory: a storage that only remembers."""

from __future__ import annotations

from refimpl.csi.state.models import AccessMode, VolumeCapability
from refimpl.csi.state.ports import VolumePath
from refimpl.csi.storage.memory import MemoryStorage

SHARED = VolumeCapability("mount", AccessMode.MULTI_NODE_MULTI_WRITER)


def test_sizes_are_kept_and_only_grow() -> None:
    """The first size is the one of the volume; an unknown key has none."""
    storage = MemoryStorage()
    storage.resize("v", 8)
    storage.provision("v", "mount", 4, None)
    storage.provision("v", "mount", 100, None)
    assert storage.usage("v", "/t").bytes == (4, 0, 4)
    storage.resize("v", 8)
    storage.resize("v", 2)
    assert storage.usage("v", "/t").bytes == (8, 0, 8)
    storage.destroy("v")
    storage.destroy("v")
    assert storage.usage("v", "/t").bytes == (0, 0, 0)


def test_places_are_kept_until_undone() -> None:
    """Staging paths and targets alike."""
    storage = MemoryStorage()
    storage.stage("v", "/s", SHARED)
    storage.publish("v", "/t", SHARED, False, "/s")
    assert storage.holds("v", "/s")
    assert storage.holds("v", "/t")
    assert not storage.holds("w", "/t")
    storage.unpublish("v", "/t")
    storage.unstage("v", "/s")
    storage.unstage("v", "/s")
    assert not storage.holds("v", "/s")
    assert not storage.holds("v", "/t")


def test_places_of_an_earlier_run_are_taken_over() -> None:
    """All of them: nothing can have been lost."""
    storage = MemoryStorage()
    storage.adopt([VolumePath("v", "/t", SHARED)], {"v"})
    storage.close()
    assert storage.holds("v", "/t")


def test_nothing_can_be_observed() -> None:
    """So that a suite skips what it cannot see."""
    storage = MemoryStorage()
    assert storage.capabilities == frozenset()
    assert list(storage.allocated("s")) == list(storage.changed("s", "t")) == []
