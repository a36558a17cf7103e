"""Storage that touches nothing: paths are only remembered. For controllers, oracles and speed."""

# ruff: noqa: ARG002  (a port: each implementation takes what any of them needs)
from __future__ import annotations

from collections.abc import Container, Iterable

from refimpl.csi.state.models import Access, VolumeCapability
from refimpl.csi.state.ports import NoStorage, SpaceUsage, VolumePath

__all__ = ["MemoryStorage"]


class MemoryStorage(NoStorage):
    """Port `Storage` without content: volumes have a size, paths a volume, and no file exists."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._paths: dict[str, str] = {}

    def provision(self, key: str, access: Access, size: int, source: str | None) -> None:
        """Remember the size in bytes."""
        self._sizes.setdefault(key, size)

    def destroy(self, key: str) -> None:
        """Forget the size."""
        self._sizes.pop(key, None)

    def resize(self, key: str, size: int) -> None:
        """Remember the larger size."""
        if key in self._sizes:
            self._sizes[key] = max(size, self._sizes[key])

    def stage(self, key: str, path: str, capability: VolumeCapability) -> None:
        """Remember the path."""
        self._paths[path] = key

    def unstage(self, key: str, path: str) -> None:
        """Forget the path."""
        self._paths.pop(path, None)

    def publish(
        self, key: str, target: str, capability: VolumeCapability, readonly: bool, staging: str
    ) -> None:
        """Remember the path."""
        self._paths[target] = key

    def unpublish(self, key: str, target: str) -> None:
        """Forget the path."""
        self._paths.pop(target, None)

    def holds(self, key: str, path: str) -> bool:
        """True for a path that was remembered."""
        return self._paths.get(path) == key

    def usage(self, key: str, path: str) -> SpaceUsage:
        """Nothing is ever used."""
        size = self._sizes.get(key, 0)
        return SpaceUsage((size, 0, size))

    def adopt(self, paths: Iterable[VolumePath], keys: Container[str]) -> None:
        """After a restart: every path still in use."""
        self._paths = {volume_path.path: volume_path.volume_id for volume_path in paths}

    def close(self, *, keep: bool = False) -> None:
        """Nothing to take away."""
