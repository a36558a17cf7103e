"""Files of somebody else, laid where a driver may come across them, and looked at afterwards."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import attrs

from conformance.csi.common import content, mounts
from conformance.csi.target import CsiTarget
from conformance.engine.ledger.leftovers import MOUNT

_NAME = "refimpl-foreign"


@attrs.frozen
class Foreign:
    """One file that no driver made: none may delete it or change it."""

    path: str
    content: bytes

    def harm(self) -> str:
        """What was done to the file, empty where it is as it was laid."""
        try:
            present = Path(self.path).read_bytes()
        except OSError as error:
            return f"{self.path}: {error.strerror}"
        return "" if present == self.content else f"{self.path} holds {present!r}"

    def remove(self) -> None:
        """Takes the file away again, and nothing else; one that is mounted over stays."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def at(csi: CsiTarget, path: str) -> Foreign:
    """A file at a path where nothing is; it goes when the case ends."""
    laid = Foreign(path, content.fresh())
    Path(path).write_bytes(laid.content)
    csi.scope.callback(laid.remove)
    return laid


def inside(csi: CsiTarget, directory: str) -> Foreign:
    """A file in a directory, which is made where it is missing."""
    os.makedirs(directory, exist_ok=True)
    return at(csi, os.path.join(directory, _NAME))


def bind(csi: CsiTarget, source: str, target: str) -> None:
    """A mount at `target` that shows what is at `source`; on record until it is off, which is in
    the hands of the case. Needs root."""
    ledger = csi.cleanup.calls.ledger
    entry = ledger.add(MOUNT, target)

    def forget() -> None:
        if not mounts.layers(target):
            ledger.remove(entry)

    csi.scope.callback(forget)
    mounts.bind(source, target)


def link(csi: CsiTarget, path: str, leads_to: str) -> None:
    """A symbolic link at a path where nothing is; it goes when the case ends."""
    os.symlink(leads_to, path)

    def remove() -> None:
        if os.path.islink(path):
            os.unlink(path)

    csi.scope.callback(remove)
