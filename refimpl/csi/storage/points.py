"""Mount points at targets: made by us, or empty ones of the caller, and nothing else."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from refimpl.csi.state.models import Access
from refimpl.csi.storage import mounts
from refimpl.csi.storage.bounds import ANYWHERE, Bounds
from refimpl.wire.status import Code, Refused

__all__ = ["clear", "cover", "force", "look"]


def cover(
    source: str,
    target: str,
    access: Access,
    options: mounts.MountOptions,
    bounds: Bounds = ANYWHERE,
) -> None:
    """Makes the target and binds the source on it. Raises OSError, or FAILED_PRECONDITION for a
    target that is there and not empty; either way nothing of it stays."""
    created = _make(target, access)
    try:
        mounts.bind(source, target, options, bounds)
    except (OSError, Refused):
        if created:
            (os.rmdir if access == "mount" else os.unlink)(target)
        raise


def clear(target: str, access: Access | None = None) -> None:
    """Removes a target that holds nothing: an empty directory or (for block volumes) file.

    That is what we made, or what the caller made for us. Anything else belongs to somebody:
    FAILED_PRECONDITION, and it stays.
    """
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return
    if access != "block" and stat.S_ISDIR(status.st_mode):
        with contextlib.suppress(OSError):
            os.rmdir(target)
            return
    if access != "mount" and stat.S_ISREG(status.st_mode) and not status.st_size:
        os.unlink(target)
        return
    raise Refused(
        Code.FAILED_PRECONDITION,
        f"at target {target!r} lies {_kind(status)} that this driver did not make; nothing was "
        "deleted, move it away and repeat the call",
    )


def look(point: str) -> None:
    """Raises OSError where something lies that cannot be looked at, such as a dead mount."""
    with contextlib.suppress(FileNotFoundError):
        os.lstat(point)


def force(point: str) -> None:
    """Unmounts, at once from sight even if files below are open. Raises OSError."""
    try:
        mounts.unmount(point)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        mounts.unmount(point, lazy=True)


def _make(target: str, access: Access) -> bool:
    try:
        if access == "mount":
            os.mkdir(target, 0o750)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640))
    except FileExistsError:
        # Some callers make the target themselves: an empty one of the right kind will do.
        if not _usable(target, access):
            kind = "directory" if access == "mount" else "file"
            raise Refused(
                Code.FAILED_PRECONDITION,
                f"target {target!r} exists and is not an empty {kind}; it was left alone, remove "
                "it and repeat the call",
            ) from None
        return False
    return True


def _usable(target: str, access: Access) -> bool:
    status = os.lstat(target)
    if access == "mount":
        return stat.S_ISDIR(status.st_mode) and not os.listdir(target)
    return stat.S_ISREG(status.st_mode) and not status.st_size


def _kind(status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link"
    return "a directory with content" if stat.S_ISDIR(status.st_mode) else "a file"
