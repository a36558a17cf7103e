"""Root file systems: layers of images unpacked once, and mounts over them (overlayfs)."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from refimpl.cni.host import syscalls
from refimpl.cri.oci.unpack import BadLayer, unpack
from refimpl.wire.status import Code, Refused

__all__ = ["Snapshots", "mount_over"]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_LONGEST = 4000
_READ_ONLY = 1  # MS_RDONLY
Content = Callable[[str], Iterable[bytes]]


class Snapshots:
    """folder: one a layer, named after the chain of layers that it ends; with the layers below it
    it is a file system. A layer is there as long as somebody holds a chain that it is in."""

    def __init__(self, folder: Path, content: Content) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder, self._content = folder, content
        self._held: dict[str, tuple[str, ...]] = {}
        self._turn = threading.RLock()

    def hold(self, owner: str, layers: Sequence[str]) -> None:
        """Unpacks what is missing. layers: digests, lowest first. Raises Refused, and has kept
        nothing more then: FAILED_PRECONDITION for a layer that is malformed, RESOURCE_EXHAUSTED
        where the disk is full."""
        with self._turn:
            chain = tuple(_chain(layers))
            self._held[owner] = chain
            try:
                for number, (name, digest) in enumerate(zip(chain, layers, strict=True)):
                    if not (self._folder / name).exists():
                        self._unpack(name, chain[:number], digest)
            except BaseException:
                self.release(owner)
                raise

    def release(self, owner: str) -> None:
        """Nothing where it holds nothing."""
        with self._turn:
            self._held.pop(owner, None)
            kept = {name for chain in self._held.values() for name in chain}
            for each in self._folder.iterdir():
                if each.name not in kept:
                    shutil.rmtree(each, ignore_errors=True)

    def below(self, owner: str) -> list[str]:
        """The folders that make its file system, uppermost first."""
        return [str(self._folder / name) for name in reversed(self._held[owner])]

    def _unpack(self, name: str, below: Sequence[str], digest: str) -> None:
        new = self._folder / f"{name}.new"
        upper, work, merged = (new / each for each in ("u", "w", "m"))
        for each in (upper, work, merged):
            each.mkdir(mode=0o755, parents=True)
        folders = [str(self._folder / each) for each in reversed(below)]
        try:
            if folders:
                mount_over(folders, str(merged), upper=str(upper), work=str(work))
            unpack(self._content(digest), str(merged if folders else upper))
        except (BadLayer, OSError) as error:
            raise _refusal(digest, error) from None
        else:
            if folders:
                syscalls.umount(str(merged))
            os.rename(upper, self._folder / name)
        finally:
            with suppress(OSError):
                syscalls.umount(str(merged))
            shutil.rmtree(new, ignore_errors=True)


def mount_over(
    below: Sequence[str], target: str, *, upper: str = "", work: str = "", options: str = ""
) -> None:
    """Mounts folders over each other, uppermost first; nobody can write to it without `upper`.
    Raises OSError."""
    shown = f"lowerdir={':'.join(map(_escaped, below))}"
    if upper:
        shown += f",upperdir={_escaped(upper)},workdir={_escaped(work)}"
    elif len(below) == 1:  # overlayfs wants two
        syscalls.mount(below[0], target, flags=_BIND)
        syscalls.mount("none", target, flags=_BIND | _REMOUNT | _READ_ONLY)
        return
    if len(shown) > _LONGEST:
        raise OSError(errno.E2BIG, f"the paths of {len(below)} layers are too long to be mounted")
    syscalls.mount("overlay", target, kind="overlay", options=shown + options)


_BIND, _REMOUNT = 0x1000, 0x20  # MS_BIND, MS_REMOUNT


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _chain(layers: Iterable[str]) -> Iterator[str]:
    """A name of each layer together with those below it."""
    sofar = ""
    for digest in layers:
        sofar = hashlib.sha256(f"{sofar} {digest}".encode()).hexdigest()[:16]
        yield sofar


def _refusal(digest: str, error: Exception) -> Refused:
    full = isinstance(error, OSError) and error.errno in _FULL
    code = Code.RESOURCE_EXHAUSTED if full else Code.FAILED_PRECONDITION
    return Refused(code, f"the layer {digest} cannot be unpacked: {error}")
