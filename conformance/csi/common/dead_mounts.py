"""Mounts that nobody can look at: a FUSE file system whose server died, or fails (fuse(4))."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import subprocess
import threading
from collections.abc import Iterator

from conformance.csi.common import mounts

DEVICE = "/dev/fuse"
ERRORS = (errno.ENOTCONN, errno.EIO)
"""What stat(2) says of a mount whose server is dead, and of one whose server has lost its data."""

_REQUEST = struct.Struct("=IIQQIIII")  # fuse_in_header: length, opcode, unique, node, caller
_REPLY = struct.Struct("=IiQ")  # fuse_out_header: length, -errno, unique
_INIT = 26
_READ_BYTES = 1 << 17
_VERSION = struct.pack("=II56x", 7, 31)  # fuse_init_out: version, and no feature


@contextlib.contextmanager
def dead_mount(path: str, error: int) -> Iterator[None]:
    """While inside, such a mount lies on the directory, unless somebody takes it off; needs root.

    error: what stat(2) fails with, one of ERRORS."""
    device = os.open(DEVICE, os.O_RDWR)
    try:
        _mount(device, path)
    except OSError:
        os.close(device)
        raise
    server = threading.Thread(target=_fail, args=(device,), daemon=True)
    if error == errno.EIO:
        server.start()
    else:
        os.close(device)
    try:
        yield
    finally:
        mounts.uncover(path)
        if error == errno.EIO:
            server.join()  # the kernel ends it with the mount


def left(path: str) -> str:
    """What is still at a path that nobody can look at: a mount, a name, or nothing."""
    if mounts.layers(path):
        return f"a mount of {mounts.fs_type(path)}"
    parent, name = os.path.split(path)
    return "the target itself" if name in os.listdir(parent) else ""


def _mount(device: int, path: str) -> None:
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    command = ["mount", "-i", "-t", "fuse", "-o", options, "refimpl", path]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, pass_fds=[device], timeout=30
    )
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def _fail(device: int) -> None:
    """Answers every request with EIO, until the mount is gone."""
    try:
        while True:
            request = os.read(device, _READ_BYTES)
            _, opcode, unique, *_ = _REQUEST.unpack_from(request)
            body, error = (_VERSION, 0) if opcode == _INIT else (b"", -errno.EIO)
            header = _REPLY.pack(_REPLY.size + len(body), error, unique)
            with contextlib.suppress(FileNotFoundError):  # whoever asked is gone
                os.write(device, header + body)
    except OSError:  # ENODEV: unmounted
        pass
    finally:
        os.close(device)
