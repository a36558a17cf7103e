"""Directories whose paths are as long, or as unusual, as a driver has to bear."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path

from conformance.csi.target import CsiTarget

LEAST = 128  # bytes of a path that every driver has to take (CSI, "Size Limits")
KUBELET = 250  # bytes of a path that kubelet makes of a long driver name and a hash
LENGTHS = (LEAST, 200, 255, 4000)
UNUSUAL = ("two words", "größe-体积")
_COMPONENT = 250


def directory(csi: CsiTarget, length: int) -> str:
    """A fresh directory with a path of that many bytes, or as few as the staging directory allows;
    it goes when the case ends (FILES)."""
    path = csi.steps.staging_path()
    missing = length - len(path.encode())
    while missing > 1:
        size = min(missing - 1, _COMPONENT)
        size -= missing - 1 - size == 1  # one byte is a slash without a name behind it
        path = _made(csi, path, "x" * size)
        missing -= size + 1
    return path


def named(csi: CsiTarget, name: str) -> str:
    """A fresh directory of that name; it goes when the case ends (FILES)."""
    return _made(csi, csi.steps.staging_path(), name)


def _made(csi: CsiTarget, parent: str, name: str) -> str:
    path = Path(parent, name)
    path.mkdir(mode=0o750)
    csi.scope.callback(partial(_remove, path))
    return str(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # what a driver left in it is not ours to delete
        os.rmdir(path)
