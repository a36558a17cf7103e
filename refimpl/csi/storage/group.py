"""The group of a volume: VolumeCapability.volume_mount_group on a directory (CSI 1.13)."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import stat
import struct

from refimpl.csi.storage.machine import machine
from refimpl.wire.status import Code, Refused

__all__ = ["give"]

_MOST = 2**32 - 2  # the last number means "no change" to chown(2)
_UNDEFINED = 2**32 - 1


def give(directory: str, group: str) -> None:
    """Lets the group own the directory and read and write what is made below it.

    Without root a foreign group cannot be given anything, and only the permissions are set.
    Raises INVALID_ARGUMENT for a group that does not exist.
    """
    gid = _number(group)
    with machine("set the group of the volume", directory):
        try:
            os.chown(directory, -1, gid)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EINVAL):  # EINVAL: not in our namespace
                raise
        os.chmod(directory, stat.S_IMODE(os.stat(directory).st_mode) | 0o2070)
        _open_up(directory)


def _number(group: str) -> int:
    if group.isascii() and group.isdigit() and int(group) <= _MOST:
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except (KeyError, ValueError):
        raise Refused(
            Code.INVALID_ARGUMENT,
            f"volume_mount_group {group!r} is neither a group id nor a group of this machine",
        ) from None


def _open_up(directory: str) -> None:
    # Whatever the umask of the maker: a default ACL user::rwx group::rwx other::r-x (acl(5)).
    entries = ((1, 7), (4, 7), (32, 5))
    packed = [struct.pack("<HHI", tag, rights, _UNDEFINED) for tag, rights in entries]
    with contextlib.suppress(OSError):  # a file system without ACLs
        acl = struct.pack("<I", 2) + b"".join(packed)
        os.setxattr(directory, "system.posix_acl_default", acl)
