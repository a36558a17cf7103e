"""Where a runtime has what is of no use without it: mounts, namespaces, sockets.

    RUN/<number>/lock      held as long as the runtime lives
                 net/      network namespaces
                 s/        console sockets
                 b/<id>/   what an OCI runtime is given of a sandbox or container

                 oci/      what OCI runtimes remember of their containers
                 layers/   root file systems of images
                 cni/      what is remembered of attachments to networks, and who has which address
                 plugins   the folders of CNI plugins, for who clears up

The number is also that of its network. What a runtime that was killed has left is known by a lock
that nobody holds, and cleared by the next one that starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from refimpl.cri.state.models import Sandbox

__all__ = ["CGROUP", "RUN", "Place", "left"]

RUN = Path("/run/refimpl-oci")
CGROUP = "/refimpl-oci-{}"
"""Of a runtime, by its number."""
_MOST = 250


class Place:
    """One runtime's; raises OSError where there can be none."""

    def __init__(self, run: Path = RUN) -> None:
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(_MOST):
            lock = _locked(run / str(number))
            if lock is not None:
                break
        else:
            raise OSError(f"{run}: {_MOST} runtimes are there already")
        self.number, self.folder, self._lock = number, run / str(number), lock
        for name in ("net", "s", "b", "oci", "cni"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)

    @property
    def sockets(self) -> Path:
        """Where terminals come."""
        return self.folder / "s"

    def cgroup_of(self, sandbox: Sandbox) -> str:
        """The one that those of a pod are below: as the pod names it, or one of the runtime's."""
        return str(sandbox.config.linux.cgroup_parent) or CGROUP.format(self.number)

    def bundle(self, id: str) -> Path:
        """The folder of a sandbox or container."""
        return self.folder / "b" / id

    def close(self) -> None:
        """Gone, but for what is mounted in it."""
        with contextlib.suppress(OSError):
            remove_folder(self.folder)
        os.close(self._lock)


def left(run: Path = RUN) -> Iterator[Path]:
    """The folders of runtimes that were killed; each is locked while it is looked at."""
    if not run.is_dir():
        return
    for folder in sorted(run.iterdir()):
        lock = _locked(folder, make=False)
        if lock is None:
            continue
        try:
            yield folder
        finally:
            os.close(lock)


def remove_folder(folder: Path) -> None:
    """With all in it; the lock goes last, so that nobody takes half of it. Raises OSError."""
    for each in folder.iterdir():
        if each.name == "lock":
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()
    (folder / "lock").unlink()
    folder.rmdir()


def _locked(folder: Path, *, make: bool = True) -> int | None:
    """The lock of a folder that nobody has; None where somebody does, or it is not there."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if make else 0)
    if make:
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        lock = os.open(folder / "lock", flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed it meanwhile.
        if os.fstat(lock).st_ino == os.stat(folder / "lock").st_ino:
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
