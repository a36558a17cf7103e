"""What the state is given from outside: time, ids, storage, and somebody who writes changes down.

The state itself does no I/O. Storage is thin: a volume nobody ever used takes no room and no call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Literal, Protocol

import attrs

from refimpl.csi.state.models import Access, VolumeCapability

Clock = Callable[[], float]
"""Epoch seconds."""

IdKind = Literal["volume", "snapshot", "group", "attachment"]
Ids = Callable[[IdKind, str], str]
"""(kind, name of the request) -> a new id of at most 128 bytes; called once for each object."""

ChangeKind = Literal[
    "volume", "snapshot", "group", "attachment", "staging", "publication", "health", "storage_fault"
]
OnChange = Callable[[ChangeKind, str, object | None], None]
"""(kind, id, new record or None if it is gone); called under the lock, in order of the changes."""


@attrs.frozen
class SpaceUsage:
    """Statistics of a volume in use: (total, used, available) in bytes and, for mounts, inodes."""

    bytes: tuple[int, int, int]
    inodes: tuple[int, int, int] | None = None


@attrs.frozen
class VolumePath:
    """Where a volume is in use; `staged` = a staging path, which belongs to the caller."""

    volume_id: str
    path: str
    capability: VolumeCapability
    readonly: bool = False
    staged: bool = False


class Storage(Protocol):
    """Where content lies. Keys are ids of volumes and snapshots; errors of the machine come out as
    `Refused` with a fitting code and the path. Every call may be repeated."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What can be observed at a path: the words are listed in refimpl.csi.storage."""

    def provision(self, key: str, access: Access, size: int, source: str | None) -> None:
        """Make room for `key`, with the content of `source` where given.

        Does nothing if `key` exists. A source the storage does not know was never written to:
        then `key` stays unmade, too, and is made empty at first use. `size` may exceed the source.
        """

    def destroy(self, key: str) -> None:
        """Remove volume or snapshot; an unknown key is a success."""

    def resize(self, key: str, size: int) -> None:
        """Grow to `size` bytes; an unknown key is a success (it is made at its size later)."""

    def fill(self, key: str) -> None:
        """Let the file system on a volume in use take all the room that `resize` gave the volume:
        the node's half of an expansion."""

    def snapshot(self, key: str, source: str) -> None:
        """Keep the present content of volume `source` as `key`; an unknown source: keep nothing."""

    def is_directory(self, path: str) -> bool:
        """True for an existing directory, as the driver sees it."""

    def stage(self, key: str, path: str, capability: VolumeCapability) -> None:
        """Prepare the volume at the directory `path`, which exists."""

    def unstage(self, key: str, path: str) -> None:
        """Undo `stage`; the directory stays."""

    def publish(
        self, key: str, target: str, capability: VolumeCapability, readonly: bool, staging: str
    ) -> None:
        """Create `target` (directory or file) and make the volume appear there."""

    def unpublish(self, key: str, target: str) -> None:
        """Remove what `publish` created; never follows a symlink, never deletes volume data."""

    def holds(self, key: str, path: str) -> bool:
        """True if the volume is what lies at `path`, whoever remembers having put it there."""

    def usage(self, key: str, path: str) -> SpaceUsage:
        """Statistics of the volume as seen at `path`."""

    def allocated(self, key: str) -> Iterable[tuple[int, int]]:
        """Extents (offset, size) of a block snapshot that hold data: rising, not overlapping."""

    def changed(self, base: str, target: str) -> Iterable[tuple[int, int]]:
        """Extents in which two block snapshots may differ: rising, not overlapping."""


class NoStorage:
    """A storage without content: for the state as an oracle and for controllers alone."""

    capabilities: frozenset[str] = frozenset()

    def provision(self, key: str, access: Access, size: int, source: str | None) -> None:
        """Nothing to make."""

    def destroy(self, key: str) -> None:
        """Nothing to remove."""

    def resize(self, key: str, size: int) -> None:
        """Nothing to grow."""

    def fill(self, key: str) -> None:
        """Nothing to fill."""

    def snapshot(self, key: str, source: str) -> None:
        """Nothing to copy."""

    def is_directory(self, path: str) -> bool:  # noqa: ARG002
        """Every path the caller names is taken as its directory."""
        return True

    def stage(self, key: str, path: str, capability: VolumeCapability) -> None:
        """Nothing to prepare."""

    def unstage(self, key: str, path: str) -> None:
        """Nothing to undo."""

    def publish(
        self, key: str, target: str, capability: VolumeCapability, readonly: bool, staging: str
    ) -> None:
        """Nothing to show."""

    def unpublish(self, key: str, target: str) -> None:
        """Nothing to hide."""

    def holds(self, key: str, path: str) -> bool:  # noqa: ARG002
        """No path ever shows anything."""
        return False

    def usage(self, key: str, path: str) -> SpaceUsage:  # noqa: ARG002
        """An empty volume of unknown size."""
        return SpaceUsage((0, 0, 0))

    def allocated(self, key: str) -> Iterable[tuple[int, int]]:  # noqa: ARG002
        """No block was ever written."""
        return ()

    def changed(self, base: str, target: str) -> Iterable[tuple[int, int]]:  # noqa: ARG002
        """No block ever differed."""
        return ()


def unobserved(kind: ChangeKind, key: str, record: object | None) -> None:
    """The OnChange of a state that is not kept over a restart."""


def numbered() -> Ids:
    """Ids that count: volume-1, volume-2, snapshot-3 ... for tests and oracles."""
    lock = threading.Lock()
    last = 0

    def new(kind: IdKind, name: str) -> str:  # noqa: ARG001
        nonlocal last
        with lock:
            last += 1
            return f"{kind}-{last}"

    return new
