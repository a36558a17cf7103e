"""Files that somebody else may have put there: opened without waiting, and known before they are
used.

A name that others can make may be a FIFO, whose opening waits for ever, a link to what they want us
to write, or a forgery. What a user names (`read`) has to be a file; what we left ourselves
(`read_own`, `own_folder`) has to be ours, too, and no link; a `folder` is no stranger's; what we
write (`create`, `replace`, `append`) goes through no link. Each refusal is an OSError whose
`strerror` says what lies there, so that it is told like any other file that cannot be opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "append",
    "create",
    "folder",
    "opened_own",
    "own_folder",
    "read",
    "read_own",
    "replace",
    "whole_lines",
    "write_whole",
]

Where = str | os.PathLike[str]

LARGEST = 1 << 30
"""Bytes that a file may have which is read as a whole."""

_QUIET = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
    stat.S_IFBLK: "a block device",
}


def read(path: Where, *, largest: int = LARGEST) -> bytes:
    """All of a file that a user named, be it through a link. Raises OSError, also for what is no
    file (a FIFO would have us wait) and for more than `largest` bytes."""
    with _closing(_open(path, os.O_RDONLY, follow=True)) as descriptor:
        _refuse_others_than_files(descriptor, path)
        return _content(descriptor, path, largest)


def read_own(path: Where) -> bytes:
    """All of a file that this user wrote. Raises OSError, also for a link, and for a file of
    another user or one that everybody may write to."""
    with _closing(opened_own(path)) as descriptor:
        return _content(descriptor, path, LARGEST)


def opened_own(path: Where, flags: int = os.O_RDONLY) -> int:
    """Descriptor of a file that this user wrote. Raises OSError, as `read_own` does."""
    descriptor = _open(path, flags)
    try:
        _refuse_others_than_files(descriptor, path)
        _refuse_strangers(os.fstat(descriptor), path, stat.S_IWOTH)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def own_folder(path: Where) -> int:
    """Descriptor of a directory of this user that nobody else may write to, and no link. Raises
    OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _refuse_strangers(os.fstat(descriptor), path, stat.S_IWOTH | stat.S_IWGRP)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def folder(path: Where, mode: int = 0o777, *, strangers: bool = False) -> int:
    """Descriptor of a directory that a user named, which is made if it is missing. Neither it
    nor a link at its place belongs to anybody but this user or root; `strangers`: it may, and only
    a link may not. Raises OSError."""
    ours = (os.geteuid(), 0)
    os.makedirs(path, mode=mode, exist_ok=True)
    link = os.lstat(path)
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in ours:
        raise _refusal(errno.ELOOP, f"it is a link of user {link.st_uid}", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    owner = os.fstat(descriptor).st_uid
    if strangers or owner in ours:
        return descriptor
    os.close(descriptor)
    raise _refusal(errno.EPERM, f"it belongs to user {owner} and not to {os.geteuid()}", path)


def append(path: Where, mode: int = 0o600) -> int:
    """Descriptor for writing at the end of a file of this user, which is made if it is missing.

    A character device (/dev/null, /dev/full) will do. Raises OSError, also for a link, a FIFO, a
    file of another user and one that has a second name somewhere.
    """
    descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)
    try:
        status = os.fstat(descriptor)
        # A character device takes root to make, so nobody planted it.
        if not stat.S_ISCHR(status.st_mode):
            _refuse_others_than_files(descriptor, path)
            _refuse_strangers(status, path, 0)
            _refuse_second_names(status, path)
    except BaseException:
        os.close(descriptor)
        raise
    os.set_blocking(descriptor, True)
    return descriptor


@contextlib.contextmanager
def beside(path: Where, mode: int = 0o666) -> Iterator[tuple[int, str]]:
    """A new file for writing and its random name in the folder of `path`, which takes its place
    when all went well. Raises OSError, also where something lies at `path` that is no file."""
    _refuse_another_kind(path)
    folder, name = os.path.split(os.fspath(path))
    fresh = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        yield descriptor, fresh
    except BaseException:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise


def create(path: Where, mode: int = 0o666) -> int:
    """Descriptor of a new, empty file in the place of an old one. Raises OSError, also where
    something lies there that is no file."""
    with beside(path, mode) as (descriptor, fresh):
        os.replace(fresh, path)
    return descriptor


def replace(path: Where, data: bytes, mode: int = 0o666) -> None:
    """Gives a file its content at once: a reader, and a crash, see the old or the new. Raises
    OSError and leaves the old one, also where something lies there that is no file."""
    with beside(path, mode) as (descriptor, fresh):
        write_whole(descriptor, data)
        os.replace(fresh, path)
    os.close(descriptor)


def write_whole(descriptor: int, data: bytes, *, sync: bool = False) -> None:
    """Writes all at the end of a file, or nothing: half a line in the middle of a log would take
    with it what comes after. `sync`: it is on disk when this returns. Raises OSError."""
    size, view = os.fstat(descriptor).st_size, memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            os.fdatasync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
            os.lseek(descriptor, size, os.SEEK_SET)
        raise


def whole_lines(data: bytes) -> list[bytes]:
    """The lines of a log. What stands after the last line feed was never acknowledged."""
    return data.split(b"\n")[:-1]


# inner ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Where, flags: int, mode: int = 0, *, follow: bool = False) -> int:
    """open(2) that does not wait, and says what it met instead of a file."""
    try:
        return os.open(path, flags | _QUIET | (0 if follow else os.O_NOFOLLOW), mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refusal(errno.ELOOP, "it is a link, which is not followed here", path) from None
        if error.errno == errno.ENXIO:
            raise _refusal(errno.ENXIO, "it is a FIFO or a socket and no file", path) from None
        raise


def _content(descriptor: int, path: Where, largest: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        data: bytes = file.read(largest + 1)
    if len(data) > largest:
        raise _refusal(errno.EFBIG, f"it is larger than {largest} bytes", path)
    return data


def _refuse_others_than_files(descriptor: int, path: Where) -> None:
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        raise _no_file(kind, path)


def _refuse_another_kind(path: Where) -> None:
    with contextlib.suppress(FileNotFoundError):
        kind = stat.S_IFMT(os.lstat(path).st_mode)
        if kind != stat.S_IFREG:
            raise _no_file(kind, path)


def _refuse_strangers(status: os.stat_result, path: Where, forbidden: int) -> None:
    if status.st_uid != os.geteuid():
        raise _refusal(
            errno.EPERM, f"it belongs to user {status.st_uid} and not to {os.geteuid()}", path
        )
    if status.st_mode & forbidden:
        mode = stat.S_IMODE(status.st_mode)
        raise _refusal(errno.EPERM, f"others may write to it (mode {mode:04o})", path)


def _refuse_second_names(status: os.stat_result, path: Where) -> None:
    if status.st_nlink > 1:
        raise _refusal(errno.EMLINK, "it has another name as well (a hard link)", path)


def _no_file(kind: int, path: Where) -> OSError:
    number = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
    return _refusal(number, f"it is {_KINDS.get(kind, 'a device')} and no file", path)


def _refusal(number: int, text: str, path: Where) -> OSError:
    return OSError(number, text, os.fspath(Path(path)))
