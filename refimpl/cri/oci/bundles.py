"""A bundle: the folder of a sandbox or container from which an OCI runtime makes it, and the
mounts that belong to it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from refimpl.cni.host import syscalls

__all__ = ["Bundle", "mounts_below"]

_NOEXEC = 2 | 4 | 8  # MS_NOSUID, MS_NODEV, MS_NOEXEC


class Bundle:
    """folder: made when something is put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log, self.pid = folder / "log.json", folder / "pid"

    def make(self) -> None:
        """The folder. Raises OSError."""
        self.folder.mkdir(mode=0o711, parents=True)

    def write(self, config: Mapping[str, Any]) -> None:
        """config.json; raises OSError."""
        (self.folder / "config.json").write_text(json.dumps(config))

    def read(self) -> dict[str, Any]:
        """config.json; empty where there is none."""
        try:
            config: dict[str, Any] = json.loads((self.folder / "config.json").read_text())
        except (OSError, ValueError):
            return {}
        return config

    @property
    def parents(self) -> list[str]:
        """Cgroups that came with a sandbox, and may be others' now; the deepest first."""
        with suppress(OSError):
            return (self.folder / "parents").read_text().split("\n")
        return []

    @property
    def cgroup(self) -> str:
        """As it is in config.json; empty where there is none."""
        return str(self.read().get("linux", {}).get("cgroupsPath", ""))

    def shared_memory(self) -> str:
        """/dev/shm of a pod. Raises OSError."""
        path = self.folder / "shm"
        path.mkdir(mode=0o1777)
        os.chmod(path, 0o1777)
        syscalls.mount("shm", str(path), kind="tmpfs", flags=_NOEXEC, options="mode=1777,size=64m")
        return str(path)

    def text(self, name: str, content: str) -> str:
        """A file with that content; its path. Raises OSError."""
        path = self.folder / name
        path.write_text(content)
        os.chmod(path, 0o644)
        return str(path)

    def written(self) -> int:
        """Bytes in the writable layer; 0 without one."""
        size = 0
        for folder, _, files in os.walk(self.folder / "upper"):
            for name in files:
                with suppress(OSError):
                    size += os.lstat(os.path.join(folder, name)).st_size
        return size

    def remove(self) -> None:
        """With all that is mounted below; nothing where it is not there."""
        for point in mounts_below(str(self.folder)):
            with suppress(OSError):
                syscalls.umount(point)
        shutil.rmtree(self.folder, ignore_errors=True)


def mounts_below(folder: str) -> Iterator[str]:
    """Where something is mounted, the deepest and latest first (proc_pid_mountinfo(5))."""
    lines = Path("/proc/thread-self/mountinfo").read_text().splitlines()
    points = [line.split(" ")[4].encode().decode("unicode_escape") for line in lines]
    yield from (each for each in reversed(points) if each.startswith(f"{folder}/"))
