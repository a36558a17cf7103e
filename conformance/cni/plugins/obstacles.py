"""Files and directories that resist, root too, for as long as a case lasts.

With a real plugin by mounts in the sandbox. Our fakes share the file system of the machine, where
nothing is mounted: there a directory stands for a file that cannot be removed.
"""

from __future__ import annotations

from pathlib import Path

from conformance.cni.plugins.plugin import PluginUnderTest
from refimpl.cni.host import syscalls
from refimpl.cni.host.kernel import Kernel

_READ_ONLY, _REMOUNT, _BIND = 0x1, 0x20, 0x1000  # linux/mount.h


def mounts(plugin: PluginUnderTest) -> bool:
    """Whether file systems can be mounted for the plugin alone."""
    return plugin.has_host and isinstance(plugin.host, Kernel)


def unremovable(plugin: PluginUnderTest, path: Path) -> None:
    """Makes a file one that unlink(2) refuses. Needs NETNS."""
    if mounts(plugin):
        syscalls.mount(str(path), str(path), flags=_BIND)
        plugin.scope.callback(lambda: syscalls.umount(str(path)))
        return
    path.unlink()
    path.mkdir()


class Disk:
    """A file system of its own at a new directory; for a plugin that `mounts`."""

    def __init__(self, plugin: PluginUnderTest, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        syscalls.mount("tmpfs", str(folder), kind="tmpfs", options="size=64k,mode=0755")
        plugin.scope.callback(lambda: syscalls.umount(str(folder)))

    def fill(self) -> None:
        """Takes every byte that is left."""
        with (self.folder / "filler").open("wb", buffering=0) as file:
            block = bytes(4096)
            try:
                while file.write(block):
                    pass
            except OSError:
                return

    def protect(self) -> None:
        """Makes it read-only."""
        syscalls.mount("", str(self.folder), flags=_REMOUNT | _READ_ONLY)
