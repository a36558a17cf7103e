"""What a runtime keeps of its attachments, as files that this process can read."""

from __future__ import annotations

import attrs

from conformance.cni.runtimes.subject import CACHE, RuntimeSubject

__all__ = ["CacheFile", "cache_files"]


@attrs.frozen
class CacheFile:
    """A file of the runtime's cache."""

    name: str
    mode: int
    data: bytes


def cache_files(subject: RuntimeSubject) -> tuple[list[CacheFile], int]:
    """The files of the cache, and the mode of their folder; nothing where it cannot be read."""
    folder = subject.cache_dir / "results"
    if CACHE in subject.lacks or not folder.is_dir():
        return [], 0
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    files = [CacheFile(each.name, each.stat().st_mode & 0o777, each.read_bytes()) for each in paths]
    return files, folder.stat().st_mode & 0o777
