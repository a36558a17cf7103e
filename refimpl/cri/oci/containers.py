"""What a container is made of: its root file system, the sources of its mounts, and config.json."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refimpl import cdi
from refimpl.cdi.annotations import requested
from refimpl.cri.oci import found, sandboxes
from refimpl.cri.oci.bundles import Bundle
from refimpl.cri.oci.config import Around, container_config, namespaces
from refimpl.cri.oci.config.seccomp import profile_path
from refimpl.cri.oci.config.users import User, user_of
from refimpl.cri.oci.place import Place
from refimpl.cri.oci.roots import open_inside, read_inside
from refimpl.cri.oci.snapshots import Snapshots, mount_over
from refimpl.cri.state.models import Container, Image, Sandbox
from refimpl.wire.status import Code, Refused

__all__ = ["Maker"]

_SENTINEL = "ImageVolumeMountFailed"
"""What kubelet looks for (cri-api, pkg/errors)."""


class Maker:
    """find: an image by its name, None where it is not on the node."""

    def __init__(
        self, place: Place, snapshots: Snapshots, devices: cdi.Cache, *, raised: bool
    ) -> None:
        self._place, self._snapshots, self._devices = place, snapshots, devices
        self._raised = raised
        self._available = found.available()

    def bundle(self, container: Container) -> Bundle:
        """Its folder."""
        return Bundle(self._place.bundle(container.id))

    def check(self, container: Container, features: Mapping[str, bool]) -> None:
        """Raises Refused for namespaces that it must not ask for."""
        options = container.config.linux.security_context.namespace_options
        namespaces.check(options, userns=features.get("user_namespaces", False))

    def make(
        self,
        container: Container,
        sandbox: Sandbox,
        shared: namespaces.Shared,
    ) -> None:
        """Its folder with everything in it. Raises Refused, OSError: `remove` follows then."""
        bundle = self.bundle(container)
        bundle.make()
        rootfs = self._rootfs(container, bundle)
        config = container.config
        context = config.linux.security_context
        user = self._user(container, rootfs)
        own = [*found.devices(config.devices)]
        around = Around(
            pod=sandbox.config,
            rootfs=rootfs,
            parent=self._place.cgroup_of(sandbox),
            shared=shared,
            user=user,
            sources=self._sources(container, bundle),
            files=sandboxes.files_of(self._place, sandbox),
            devices=[*(found.every_device() if context.privileged else ()), *own],
            available=self._available,
            machine=found.MACHINE,
            profile=found.profile(profile_path(context)),
            raised=self._raised,
        )
        bundle.write(self._injected(container, container_config(container, around)))
        container.kept["user"] = user

    def remove(self, container: Container) -> None:
        """Nothing is left; may be repeated."""
        self.bundle(container).remove()
        for number in range(len(container.config.mounts)):
            self._snapshots.release(f"{container.id} {number}")
        self._snapshots.release(container.id)

    # -- inside -------------------------------------------------------------------------------

    def _rootfs(self, container: Container, bundle: Bundle) -> str:
        self._snapshots.hold(container.id, container.image.layers)
        upper, work, root = (bundle.folder / each for each in ("upper", "work", "rootfs"))
        for each in (upper, work, root):
            each.mkdir(mode=0o755)
        below = self._snapshots.below(container.id)
        mount_over(below, str(root), upper=str(upper), work=str(work))
        return str(root)

    def _user(self, container: Container, rootfs: str) -> User:
        tables = (read_inside(rootfs, f"etc/{name}") for name in ("passwd", "group"))
        context = container.config.linux.security_context
        return user_of(context, container.image.user, *tables)

    def _sources(self, container: Container, bundle: Bundle) -> list[str]:
        sources = []
        for number, mount in enumerate(container.config.mounts):
            if mount.HasField("image"):
                owner, folder = f"{container.id} {number}", bundle.folder / f"image{number}"
                image = container.volumes[number]
                sources.append(self._image(owner, folder, image, mount.image_sub_path))
            else:
                sources.append(found.host_path(mount))
        return sources

    def _image(self, owner: str, folder: Path, image: Image, sub_path: str) -> str:
        """What an image volume shows: all of an image or what is at a path in it, and nothing
        outside of it wherever a link there leads."""
        self._snapshots.hold(owner, image.layers)
        folder.mkdir()
        mount_over(self._snapshots.below(owner), str(folder))
        if not sub_path:
            return str(folder)
        parts = sub_path.split("/")
        if sub_path.startswith("/") or ".." in parts:
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"{_SENTINEL}: image_sub_path {sub_path!r} leads out of the image: it is relative",
            )
        top = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            there = open_inside(top, sub_path, os.O_PATH)
        except OSError as error:
            raise Refused(
                Code.NOT_FOUND, f"{_SENTINEL}: image_sub_path {sub_path!r}: {error.strerror}"
            ) from None
        finally:
            os.close(top)
        try:
            return os.readlink(f"/proc/self/fd/{there}")
        finally:
            os.close(there)

    def _injected(self, container: Container, config: dict[str, Any]) -> dict[str, Any]:
        """With the devices of CDI that it asks for."""
        wanted = [each.name for each in container.config.CDI_devices]
        try:
            names = requested(wanted, container.config.annotations)
            return self._devices.inject(config, names) if names else config
        except (cdi.AnnotationError, cdi.Unresolved, cdi.InjectError) as error:
            raise Refused(Code.INVALID_ARGUMENT, f"CDI: {error}") from None
