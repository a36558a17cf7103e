"""Copies that keep holes, the extents of a sparse file, and the size of a tree."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator

__all__ = ["copy_file", "copy_tree", "extents", "tree_size"]

_FICLONE = 0x40049409
_CHUNK = 1 << 26
# A file system without holes, clones or kernel copies says so in one of these ways.
_UNABLE = {
    errno.EINVAL,
    errno.EOPNOTSUPP,
    errno.ENOTTY,
    errno.EXDEV,
    errno.ENOSYS,
    errno.EPERM,
    errno.EBADF,
}


def extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of an open file that hold data: (offset, length) in bytes, ascending.

    On a file system that knows no holes the whole file is one extent.
    """
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
            end = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                return
            if error.errno not in _UNABLE:
                raise
            start, end = position, size
        if start >= size:
            return
        yield start, end - start
        position = end


def copy_file(source: str, target: str) -> None:
    """A new file with the content and the holes of `source`. Raises OSError.

    Shares blocks where the file system can (a clone costs the same at any size).
    """
    with contextlib.ExitStack() as stack:
        reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
        stack.callback(os.close, reading)
        writing = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        stack.callback(os.close, writing)
        size = os.fstat(reading).st_size
        if _cloned(reading, writing):
            return
        os.ftruncate(writing, size)
        for offset, length in extents(reading, size):
            _copy_range(reading, writing, offset, length)


def _cloned(reading: int, writing: int) -> bool:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
        return False
    return True


def _copy_range(reading: int, writing: int, offset: int, length: int) -> None:
    end = offset + length
    while offset < end:
        copied = _copy_some(reading, writing, offset, min(end - offset, _CHUNK))
        if not copied:  # the source shrank while it was read
            return
        offset += copied


def _copy_some(reading: int, writing: int, offset: int, length: int) -> int:
    try:
        return os.copy_file_range(reading, writing, length, offset, offset)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
    return os.pwrite(writing, os.pread(reading, min(length, 1 << 20), offset), offset)


def copy_tree(source: str, target: str) -> None:
    """A new directory with everything below `source`: modes, times, links as links, holes.

    Sockets and devices are left out: they name things of the running machine, not data.
    Raises OSError; what was copied until then stays for the caller to remove.
    """
    os.mkdir(target, 0o700)
    links: dict[tuple[int, int], str] = {}
    _copy_entries(source, target, links)


def _copy_entries(source: str, target: str, links: dict[tuple[int, int], str]) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            copy = os.path.join(target, entry.name)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                os.mkdir(copy, 0o700)
                _copy_entries(entry.path, copy, links)
            elif not _copy_leaf(entry.path, copy, status, links):
                continue
    _copy_attributes(source, target)


def _copy_leaf(
    source: str, target: str, status: os.stat_result, links: dict[tuple[int, int], str]
) -> bool:
    identity = status.st_dev, status.st_ino
    if status.st_nlink > 1 and identity in links:
        os.link(links[identity], target)
        return True
    links[identity] = target
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(status.st_mode):
        copy_file(source, target)
    elif stat.S_ISFIFO(status.st_mode):
        os.mkfifo(target)
    else:
        return False
    _copy_attributes(source, target)
    return True


def _copy_attributes(source: str, target: str) -> None:
    status = os.stat(source, follow_symlinks=False)
    with contextlib.suppress(PermissionError):  # without root everything belongs to the driver
        os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    shutil.copystat(source, target, follow_symlinks=False)


def tree_size(root: str) -> tuple[int, int]:
    """(bytes on disk, number of files and directories) below and with `root`.

    A file with several names counts once; a file that goes while we look counts as gone.
    """
    used, count = 0, 0
    counted: set[tuple[int, int]] = set()
    pending = [root]
    while pending:
        with contextlib.suppress(FileNotFoundError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_nlink > 1 and (status.st_dev, status.st_ino) in counted:
                        continue
                    counted.add((status.st_dev, status.st_ino))
                    used += status.st_blocks * 512
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
    return used, count + 1


def changed(base: str, target: str, step: int = 1 << 16) -> Iterator[tuple[int, int]]:
    """Parts of `target` (offset, length) whose content differs from `base`, ascending.

    Compared in steps of `step` bytes where either has data; a missing file is all zeros. The end
    is that of `target`: what `base` had beyond it is gone, not changed. Raises OSError.
    """
    with contextlib.ExitStack() as stack:
        old, new = (_opened(stack, path) for path in (base, target))
        size = new[1]
        pieces = _steps([old, new], size, step)
        run: tuple[int, int] | None = None
        for offset in pieces:
            length = min(step, size - offset)
            if _read(old, offset, length) == _read(new, offset, length):
                continue
            if run is not None and sum(run) == offset:
                run = run[0], run[1] + length
                continue
            if run is not None:
                yield run
            run = offset, length
        if run is not None:
            yield run


def _opened(stack: contextlib.ExitStack, path: str) -> tuple[int, int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return -1, 0
    stack.callback(os.close, descriptor)
    return descriptor, os.fstat(descriptor).st_size


def _steps(files: list[tuple[int, int]], size: int, step: int) -> list[int]:
    # Offsets of every step in which one of the files has data; holes on both sides are equal.
    touched: set[int] = set()
    for descriptor, length in files:
        for offset, span in extents(descriptor, min(length, size)) if descriptor >= 0 else ():
            touched.update(range(offset // step * step, offset + span, step))
    return sorted(touched)


def _read(file: tuple[int, int], offset: int, length: int) -> bytes:
    descriptor, size = file
    part = os.pread(descriptor, length, offset) if descriptor >= 0 and offset < size else b""
    return part.ljust(length, b"\0")
