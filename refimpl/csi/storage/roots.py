"""Root directories of storages: temporary ones, and what dead drivers left of theirs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from refimpl import files
from refimpl.csi.storage import mounts
from refimpl.wire.status import Code, Refused

__all__ = ["MARK", "abandoned", "claim", "remembered", "remove", "temporary"]

MARK = ".refimpl-csi.json"
_FORMAT = 2
_PREFIX = "refimpl-volumes-"


def claim(root: str, mode: str = "") -> int:
    """Makes a root (a real path) and locks it for this process; returns the lock's descriptor.
    mode: how its content is kept, which is remembered. Raises OSError, and FAILED_PRECONDITION
    while another storage uses the root.
    """
    os.makedirs(root, mode=0o700, exist_ok=True)
    descriptor = files.own_folder(root)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Only after the lock: whoever sees a mark without a lock sees a dead driver's root. A mark
        # that is there stays as it is, also where the disk has no room for another.
        mark = {"use": "volumes of a CSI driver", "format": _FORMAT, "mode": mode}
        if _mark(root) != mark:
            files.replace(os.path.join(root, MARK), json.dumps(mark).encode(), 0o600)
    except BlockingIOError:
        os.close(descriptor)
        raise Refused(
            Code.FAILED_PRECONDITION,
            f"directory {root!r} is in use by another driver; stop it, or choose another directory",
        ) from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def remembered(root: str) -> str:
    """The mode in which the content of a root is kept, "" where that is not known. Raises
    OSError."""
    return str(_mark(root).get("mode", ""))


def temporary() -> str:
    """A new root that is to be removed at the end."""
    return tempfile.mkdtemp(prefix=_PREFIX)


def abandoned(parent: str | None = None) -> Iterator[str]:
    """Temporary roots of drivers of this user that ended without removing them, killed ones."""
    parent = parent or tempfile.gettempdir()
    with os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError, ValueError):
                    if _dead(entry.path):
                        yield entry.path


def remove(root: str) -> bool:
    """Deletes a root; False, and it stays, if something is still mounted below it or it is not a
    root."""
    real = os.path.realpath(root)
    if any(mount.point.startswith(real + "/") for mount in mounts.table()):
        return False
    if not os.path.exists(os.path.join(real, MARK)) and os.listdir(real):
        return False
    shutil.rmtree(real, ignore_errors=True)
    return not os.path.exists(real)


def _dead(root: str) -> bool:
    descriptor = files.own_folder(root)  # another user's is none of our business
    try:
        # The lock of a root that is not marked yet is its new driver's to take.
        if _mark(root).get("format") != _FORMAT:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _mark(root: str) -> dict[str, Any]:
    """What marks a root, empty where nothing does. Raises OSError."""
    try:
        mark = json.loads(files.read_own(os.path.join(root, MARK)))
    except (FileNotFoundError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}
