"""A layer of an image onto a folder that shows the layers below it (OCI image-spec, layer.md)."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from refimpl.cri.oci.roots import folder_inside, open_inside

__all__ = ["BadLayer", "unpack"]

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_XATTR = "SCHILY.xattr."
_PIECE = 1 << 20


class BadLayer(ValueError):
    """An archive that cannot be unpacked: which entry, and why."""


def unpack(pieces: Iterable[bytes], folder: str) -> int:
    """Bytes of its files. Raises BadLayer; OSError for what the disk refuses. Entries are made
    inside of the folder wherever they say they are; `..` in a name is refused."""
    root = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    layer = _Layer(root)
    try:
        content: Any = io.BufferedReader(_Pieces(pieces))
        with tarfile.open(fileobj=content, mode="r|") as archive:
            for entry in archive:
                layer.take(entry, archive)
    except (tarfile.TarError, EOFError) as error:
        raise BadLayer(f"it is no tar archive: {error}") from None
    finally:
        os.close(root)
    return layer.size


class _Pieces(io.RawIOBase):
    """A file to read of what comes in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._rest = iter(pieces), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        while not self._rest:
            try:
                self._rest = next(self._pieces)
            except StopIteration:
                return 0
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


class _Layer:
    """What of it is done. own: names of entries of this layer, which an opaque folder keeps."""

    def __init__(self, root: int) -> None:
        self._root, self.size, self._own = root, 0, set[str]()

    def take(self, entry: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        parts = [part for part in entry.name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise BadLayer(f"entry {entry.name!r} leads out of the image")
        if not parts:  # the root itself
            os.chmod(f"/proc/self/fd/{self._root}", entry.mode & 0o7777)
            return
        *above, name = parts
        try:
            folder = folder_inside(self._root, "/".join(above))
        except NotADirectoryError as error:
            raise BadLayer(f"entry {entry.name!r} is below what is no folder") from error
        try:
            self._make(entry, archive, folder, name, "/".join(above))
        finally:
            os.close(folder)

    def _make(
        self, entry: tarfile.TarInfo, archive: tarfile.TarFile, folder: int, name: str, above: str
    ) -> None:
        if name == _OPAQUE:
            self._clear(folder, above)
        elif name.startswith(_WHITEOUT):
            _remove(folder, name.removeprefix(_WHITEOUT))
        else:
            self._own.add(f"{above}/{name}")
            self._put(entry, archive, folder, name)

    def _put(
        self, entry: tarfile.TarInfo, archive: tarfile.TarFile, folder: int, name: str
    ) -> None:
        if not (entry.isdir() and _is_folder(folder, name)):
            _remove(folder, name)
        if entry.islnk():
            self._link(entry, folder, name)
            return
        if entry.isdir():
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
        elif entry.issym():
            os.symlink(entry.linkname, name, dir_fd=folder)
        elif entry.isfile():
            self._write(entry, archive, folder, name)
        elif entry.isfifo() or entry.isdev():
            kind = tarfile.FIFOTYPE if entry.isfifo() else entry.type
            mode = _NODES[kind] | 0o600
            number = os.makedev(entry.devmajor, entry.devminor)
            os.mknod(name, mode, number, dir_fd=folder)
        else:
            raise BadLayer(f"entry {entry.name!r} has type {entry.type!r}, which is none")
        _dress(entry, folder, name)

    def _write(
        self, entry: tarfile.TarInfo, archive: tarfile.TarFile, folder: int, name: str
    ) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        content = archive.extractfile(entry)
        with open(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
            if content is not None:
                shutil.copyfileobj(content, file, _PIECE)
        self.size += entry.size

    def _link(self, entry: tarfile.TarInfo, folder: int, name: str) -> None:
        """Another name of a file of the image: nothing outside of it can be meant."""
        parts = [part for part in entry.linkname.split("/") if part not in ("", ".")]
        if ".." in parts or not parts:
            raise BadLayer(
                f"entry {entry.name!r} is a link to {entry.linkname!r}, out of the image"
            )
        try:
            there = open_inside(self._root, "/".join(parts[:-1]), os.O_PATH | os.O_DIRECTORY)
        except OSError as error:
            raise BadLayer(f"entry {entry.name!r} is a link to nothing: {error}") from None
        try:
            os.link(parts[-1], name, src_dir_fd=there, dst_dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, PermissionError) as error:
            raise BadLayer(f"entry {entry.name!r} is a link to nothing: {error}") from None
        finally:
            os.close(there)

    def _clear(self, folder: int, above: str) -> None:
        """A folder shows nothing of lower layers any more."""
        with os.scandir(_path(folder)) as entries:
            names = [each.name for each in entries]
        for name in names:
            if f"{above}/{name}" not in self._own:
                _remove(folder, name)


_NODES = {tarfile.FIFOTYPE: 0o010000, tarfile.CHRTYPE: 0o020000, tarfile.BLKTYPE: 0o060000}


def _dress(entry: tarfile.TarInfo, folder: int, name: str) -> None:
    """Owner, mode, time and attributes, as far as its kind has them."""
    os.chown(name, entry.uid, entry.gid, dir_fd=folder, follow_symlinks=False)
    path = f"{_path(folder)}/{name}"
    if not entry.issym():
        os.chmod(path, entry.mode & 0o7777)
        for key, value in entry.pax_headers.items():
            if key.startswith(_XATTR):
                attribute = key.removeprefix(_XATTR)
                os.setxattr(path, attribute, os.fsencode(value), follow_symlinks=False)
    os.utime(name, (entry.mtime, entry.mtime), dir_fd=folder, follow_symlinks=False)


def _remove(folder: int, name: str) -> None:
    if _is_folder(folder, name):
        shutil.rmtree(f"{_path(folder)}/{name}")
        return
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _is_folder(folder: int, name: str) -> bool:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & 0o170000 == 0o040000
    except FileNotFoundError:
        return False


def _path(folder: int) -> str:
    """An open folder as a path."""
    return f"/proc/self/fd/{folder}"
