"""What a runtime keeps of its attachments, as files that this process can read."""

from __future__ import annotations

import attrs

from conformance.cni.runtimes.subject import CACHE, RuntimeUnderTest

__all__ = ["Kept", "kept_now"]


@attrs.frozen
class Kept:
    """A file of the runtime's cache."""

    name: str
    mode: int
    data: bytes


def kept_now(subject: RuntimeUnderTest) -> tuple[list[Kept], int]:
    """The files of the cache, and the mode of their folder; nothing where it cannot be read."""
    folder = subject.cache_dir / "results"
    if CACHE in subject.lacks or not folder.is_dir():
        return [], 0
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    files = [Kept(each.name, each.stat().st_mode & 0o777, each.read_bytes()) for each in paths]
    return files, folder.stat().st_mode & 0o777
