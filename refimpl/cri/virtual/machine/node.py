"""The machine that virtual containers are on: what is mounted there beside what really is, and what
a container may ask of it.

Only a privileged container changes it, so that no file system of this machine is ever touched.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from refimpl.cri.state.models import Container, Image
from refimpl.cri.state.settings.mounts import MountChoices
from refimpl.cri.virtual.machine.places import HostPath, Memory, Place
from refimpl.cri.virtual.machine.table import Mounted, asked, below, drop
from refimpl.cri.virtual.machine.volumes import part
from refimpl.wire.status import Code, Refused

__all__ = ["Node"]

_PRIVATE = 0
"""MountPropagation of CRI."""
Content = Callable[[Image], Mapping[str, bytes | None]]
"""The files of an image, by their relative path."""


class Node:
    """mounts: made by containers, at paths of the node; those of this machine are not among them
    and count as shared, as systemd has them."""

    def __init__(
        self, content: Content = lambda _image: {}, choices: MountChoices | None = None
    ) -> None:
        self._content, self._choices = content, choices or MountChoices()
        self.mounts: list[Mounted] = []

    # -- of a container -----------------------------------------------------------------------

    def prepare(self, container: Container) -> None:
        """Its mounts, which it keeps until it is removed. Raises Refused."""
        config = container.config
        if config is None:
            return
        places = [self._place(container, number, each) for number, each in enumerate(config.mounts)]
        container.kept["mounts"] = [self._seen(each) for each in asked(config, places)]

    def mounted(self, container: Container) -> list[Mounted]:
        """What was prepared for it."""
        kept: list[Mounted] = container.kept.get("mounts", [])
        return [*kept]

    # -- as a machine -------------------------------------------------------------------------

    def add(self, mounted: Mounted) -> None:
        """At a path of the node."""
        self.mounts.append(mounted)

    def tmpfs(self, at: str) -> None:
        """Mounts an empty file system."""
        self.add(Mounted(at=at, place=Memory(), kind="tmpfs", propagation="shared"))

    def bind(self, source: str, at: str) -> None:
        """Mounts what is at another path."""
        self.add(Mounted(at=at, place=self._at(source), source=source, propagation="shared"))

    def make(self, at: str, propagation: str) -> bool:
        """Shared or private; whether something is mounted there."""
        for number, each in enumerate(self.mounts):
            if each.at == at:
                self.mounts[number] = attrs.evolve(each, propagation=propagation)
                return True
        return False

    def umount(self, at: str) -> bool:
        """The last mount at that path; whether there was one."""
        return drop(self.mounts, at)

    # -- inside -------------------------------------------------------------------------------

    def _place(self, container: Container, number: int, mount: Any) -> Place:
        if mount.HasField("image"):
            image = container.volumes[number]
            # Of one that is made up nothing is known: all of it is there, as in its containers.
            files = self._content(image) if image.layers else None
            return Memory(part(files, mount.image_sub_path), loose=files is None)
        if not os.path.exists(mount.host_path) and not self._over(mount.host_path):
            if self._choices.missing_source == "refused":
                raise Refused(
                    Code.INVALID_ARGUMENT,
                    f"host_path {mount.host_path!r} does not exist: the node has to have what is"
                    " mounted; where this runtime does not see the files of its kubelet, set"
                    " mounts.missing_source=made",
                )
            return Memory()
        source = os.path.realpath(mount.host_path)
        over = self._over(source)
        if mount.propagation and over and over.propagation == "private":
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"{source} is on a private mount at {over.at}: nothing propagates from or to it;"
                " make that shared",
            )
        return self._at(source, apart=mount.propagation == _PRIVATE)

    def _at(self, path: str, *, apart: bool = False) -> Place:
        over = self._over(path)
        return over.place if over and over.at == path else HostPath(path, apart=apart)

    def _over(self, path: str) -> Mounted | None:
        """The mount that a path is on; None for one of this machine."""
        fits = [each for each in self.mounts if below(path, each.at) is not None]
        return max(fits, key=lambda each: len(each.at), default=None)

    def _seen(self, mounted: Mounted) -> Mounted:
        """With what is mounted below its source: as it is now, or as it will be."""
        if not self._choices.options:
            mounted = attrs.evolve(mounted, options=())
        if not mounted.source:
            return mounted
        source = os.path.realpath(mounted.source)
        live = mounted.propagation != "private"
        inner = self.mounts if live else [*self.mounts]
        return attrs.evolve(mounted, source=posixpath.normpath(source), inner=inner)
