"""The mounts of a container: a table as plain data, and which of them a path is in."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from refimpl.cri.virtual.machine.owners import Ids
from refimpl.cri.virtual.machine.places import Place

__all__ = ["Mounted", "Table", "asked", "below", "drop"]

_PEERS = {"shared": "shared:{0}", "slave": "master:{0}", "private": ""}
_PROPAGATIONS = ("private", "slave", "shared")
"""By the number of CRI's MountPropagation."""


@attrs.frozen(kw_only=True)
class Mounted:
    """One mount. at: its path inside. place: where its files are. source: path of the node that it
    is from, "" for none. kind: of file system. options: noexec and the like. propagation: shared,
    slave or private. ids: of an idmapped one. recursive: what is mounted below is read-only as
    well. root: what of its place is shown, "" for all. inner: mounts of the node, of which those
    below its source are seen in it."""

    at: str
    place: Place
    source: str = ""
    kind: str = "overlay"
    readonly: bool = False
    recursive: bool = False
    options: tuple[str, ...] = ()
    propagation: str = "private"
    ids: Ids = attrs.field(factory=Ids)
    inner: Sequence[Mounted] = ()
    root: str = ""

    def within(self, path: str) -> str | None:
        """An absolute path as it is in its place; None where it is elsewhere."""
        rest = below(path, self.at)
        return rest if rest is None else "/".join(filter(None, (self.root, rest)))


class Table:
    """Mounts in the order in which they were made: of two at one path the later one counts."""

    def __init__(self, mounts: Iterable[Mounted]) -> None:
        self.mounts = [*mounts]

    def add(self, mounted: Mounted) -> None:
        """On top of what is there."""
        self.mounts.append(mounted)

    def covering(self, path: str) -> tuple[Mounted, str]:
        """The mount that an absolute path is in, and the rest of the path there."""
        fits = (each for each in self.mounts if below(path, each.at) is not None)
        *_, last = sorted(fits, key=lambda each: len(each.at))
        return last, last.within(path) or ""

    def mountinfo(self) -> str:
        """As proc_pid_mountinfo(5) has it."""
        return "".join(_line(number, each) for number, each in enumerate(self.mounts, 100))


def drop(mounts: list[Mounted], at: str) -> bool:
    """The last one at that path goes; whether there was one."""
    for mounted in reversed(mounts):
        if mounted.at == at:
            mounts.remove(mounted)
            return True
    return False


def asked(config: Any, places: Sequence[Place]) -> list[Mounted]:
    """Those that a configuration asks for, each with its place."""
    made = []
    for mount, place in zip(config.mounts, places, strict=True):
        source = "" if mount.HasField("image") else posixpath.normpath(mount.host_path)
        made.append(
            Mounted(
                at=posixpath.normpath(f"/{mount.container_path.lstrip('/')}"),
                place=place,
                source=source,
                kind="ext4" if source else "overlay",
                readonly=mount.readonly or mount.HasField("image"),
                recursive=mount.recursive_read_only,
                options=tuple(mount.mount_options),
                propagation=_PROPAGATIONS[mount.propagation],
                ids=Ids.of(mount.uidMappings, mount.gidMappings),
            )
        )
    return made


def below(path: str, at: str) -> str | None:
    """The rest of a path below another; None where it is not."""
    if at == "/" or path == at:
        return path.removeprefix(at).lstrip("/")
    return path.removeprefix(f"{at}/") if path.startswith(f"{at}/") else None


def _line(number: int, mounted: Mounted) -> str:
    access = ",".join(["ro" if mounted.readonly else "rw", *mounted.options, "relatime"])
    peers = _PEERS[mounted.propagation].format(number)
    words = [f"{number} 99 0:{number}", mounted.source or "/", mounted.at, access]
    words += [peers] if peers else []
    return f"{' '.join(words)} - {mounted.kind} {mounted.kind} rw\n"
