"""Kubelet's folder: what lies where, what it makes and what it removes when it starts (2.5)."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from attrs import frozen

from refimpl.deviceplugin.state.checkpoint import FILE_NAME
from refimpl.wire.endpoint import Endpoint, EndpointError

__all__ = ["DEPRECATION", "Layout"]

KUBELET_SOCKET = "kubelet.sock"
DEPRECATION = "DEPRECATION"


@frozen
class Layout:
    """Paths below the folder that stands for /var/lib/kubelet; `root` is absolute. `moved`: what
    kubelet was told with --root-dir, which device-plugins does not follow."""

    root: Path
    moved: Path | None = None

    @property
    def plugins(self) -> Path:
        """Sockets of plugins that register themselves, and the checkpoint."""
        return self.root / "device-plugins"

    @property
    def registry(self) -> Path:
        """Sockets of plugins that kubelet finds."""
        return (self.moved or self.root) / "plugins_registry"

    @property
    def socket(self) -> Endpoint:
        """Where plugins register; EndpointError if the path is too long for a socket."""
        return Endpoint.parse(self.plugins / KUBELET_SOCKET)

    @property
    def pod_resources(self) -> Endpoint:
        """Where pod resources are served; EndpointError as for `socket`."""
        return Endpoint.parse((self.moved or self.root) / "pod-resources" / KUBELET_SOCKET)

    @property
    def pods_api(self) -> Endpoint:
        """Where the pods API is served; EndpointError as for `socket`."""
        return Endpoint.parse((self.moved or self.root) / "pods-api" / "pods-api.sock")

    @property
    def checkpoint(self) -> Path:
        """The checkpoint file."""
        return self.plugins / FILE_NAME

    def here(self, path: str, seen_at: str) -> str:
        """What a plugin calls `path` that sees this folder at another place; "" for the same."""
        below = seen_at and PurePosixPath(path).is_relative_to(seen_at)
        return str(self.root / PurePosixPath(path).relative_to(seen_at)) if below else path

    def make(self, *, pods_api: bool = False) -> None:
        """The folders; one that is there keeps its mode. EndpointError where that cannot be."""
        more = (self.pods_api,) if pods_api else ()
        for folder, mode in (
            (self.plugins, 0o750),
            (self.registry, 0o755),
            *((Path(each.path).parent, 0o750) for each in (self.pod_resources, *more)),
        ):
            try:
                if not folder.is_dir():
                    folder.mkdir(parents=True)
                    folder.chmod(mode)
                # A socket and a file are made in it: better to say now that it will not work.
                if not os.access(folder, os.W_OK | os.X_OK):
                    raise PermissionError(13, "permission denied")
            except OSError as error:
                raise EndpointError(
                    f"folder {folder} cannot be used: {error.strerror}: name one that this user"
                    " may write to"
                ) from error

    def unlink_sockets(self, *, own: bool = True) -> list[str]:
        """Removes the sockets in `plugins`, and links to sockets; files and folders stay. Returns
        their names. Without `own` kubelet's socket stays as well."""
        gone = []
        for entry in sorted(self.plugins.iterdir()):
            if not own and entry.name == KUBELET_SOCKET:
                continue
            try:
                if stat.S_ISSOCK(entry.stat().st_mode):
                    entry.unlink()
                    gone.append(entry.name)
            except FileNotFoundError:
                continue  # a link to nowhere, or its owner was faster
        return gone

    def announce_deprecation(self) -> None:
        """The empty file of old kubelets."""
        (self.plugins / DEPRECATION).touch()
