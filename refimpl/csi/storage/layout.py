"""Where a storage keeps what: one marked home directory a volume or snapshot, below one root.

    ROOT/.refimpl-csi.json          the mark of the root: what lies here is ours
    ROOT/homes/NAME/.refimpl-csi.json   {"key": ..., "size": ...}
    ROOT/homes/NAME/data            content of a mount volume
    ROOT/homes/NAME/block           content of a block volume, a sparse file
    ROOT/trash/                     homes on their way out

NAME is the key itself where that makes a plain file name, else its hash: keys are free text.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator

from refimpl import files
from refimpl.csi.state.models import Access
from refimpl.csi.storage import mounts
from refimpl.csi.storage.machine import machine
from refimpl.csi.storage.roots import MARK, claim
from refimpl.wire.status import Code, Refused

__all__ = ["StorageLayout"]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class StorageLayout:
    """Paths below one root and the life of a home.

    Opening makes the root, locks it and empties the trash; `close` gives it free. mode: see
    `roots.claim`. Raises Refused, FAILED_PRECONDITION for a root in use.
    """

    def __init__(self, root: str, mode: str = "") -> None:
        self.root = os.path.realpath(root)
        self._homes = os.path.join(self.root, "homes")
        self._trash = os.path.join(self.root, "trash")
        self._serial = itertools.count()
        with machine("make the driver's directory", root):
            self._lock = claim(self.root, mode)
            os.makedirs(self._homes, mode=0o700, exist_ok=True)
            os.makedirs(self._trash, mode=0o700, exist_ok=True)
        self.empty_trash()

    def close(self) -> None:
        """Lets another storage use the root."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def home(self, key: str) -> str:
        """The directory of one volume or snapshot, whether it exists or not."""
        if not _PLAIN.fullmatch(key):
            key = "=" + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
        return f"{self._homes}/{key}"

    def content(self, key: str, access: Access) -> str:
        """What of the home is shown to a workload."""
        return self.home(key) + ("/block" if access == "block" else "/data")

    def found(self, key: str) -> Access | None:
        """The access type whose content exists, None for a key never used."""
        home = self.home(key)
        if os.path.isdir(home + "/data"):
            return "mount"
        return "block" if os.path.lexists(home + "/block") else None

    def fresh(self, key: str) -> str:
        """A new path inside the home for content under way; `settle` gives it its name."""
        home = self.home(key)
        os.makedirs(home, mode=0o700, exist_ok=True)
        return f"{home}/new-{os.getpid()}-{next(self._serial)}"

    def settle(self, key: str, fresh: str, content: str, size: int) -> None:
        """Puts finished content in its place: a crash before this moment leaves none."""
        self.note_size(key, size)
        os.rename(fresh, content)

    def note_size(self, key: str, size: int) -> None:
        """Keeps the size in bytes that was promised for a directory, which cannot keep it."""
        mark = json.dumps({"key": key, "size": size}).encode()
        files.replace(f"{self.home(key)}/{MARK}", mark, 0o600)

    def size(self, key: str) -> int:
        """The size last noted, 0 for none."""
        try:
            return _mark(self.home(key))[1]
        except FileNotFoundError:
            return 0

    def known(self) -> Iterator[str]:
        """Every volume and snapshot that has content.

        Raises FAILED_PRECONDITION for content whose mark cannot be read: nobody knows whose it is.
        """
        for entry in list(os.scandir(self._homes)):
            try:
                yield _mark(entry.path)[0]
            except (OSError, ValueError, KeyError, TypeError) as error:
                if any(os.path.lexists(f"{entry.path}/{name}") for name in ("data", "block")):
                    raise Refused(
                        Code.FAILED_PRECONDITION,
                        f"{entry.path}/{MARK} cannot be read ({error}), so that nobody knows whose "
                        "content lies beside it; nothing was deleted: restore it, or remove the "
                        "directory",
                    ) from error
                self._bury(entry.path)  # a crash came before the content

    def remove(self, key: str) -> None:
        """Takes the home away; a home in which something is mounted is left untouched.

        Raises FAILED_PRECONDITION in that case: the content of the mount is not ours to delete.
        """
        home = self.home(key)
        if not os.path.isdir(home):
            return
        for mount in mounts.table():
            if mount.point.startswith(home + "/"):
                raise Refused(
                    Code.FAILED_PRECONDITION,
                    f"{mount.source} is mounted at {mount.point!r} inside volume {key!r}, which "
                    "stays as it is; unmount it and delete again",
                )
        self._bury(home)

    def _bury(self, home: str) -> None:
        grave = f"{self._trash}/{os.getpid()}-{next(self._serial)}"
        os.rename(home, grave)
        _delete(grave)

    def empty_trash(self) -> None:
        """Deletes what an earlier run had no time to delete."""
        for entry in os.scandir(self._trash):
            _delete(entry.path)

    def owns(self, path: str) -> bool:
        """True for the root and everything below it."""
        return path == self.root or path.startswith(self.root + "/")


def _delete(grave: str) -> None:
    try:
        shutil.rmtree(grave)
    except PermissionError:
        # A workload may have left directories that even their owner cannot list.
        for directory, _, _ in os.walk(grave):
            for entry in os.scandir(directory):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
        shutil.rmtree(grave)


def _mark(home: str) -> tuple[str, int]:
    """Key and size in bytes. Raises OSError, ValueError, KeyError, TypeError."""
    mark = json.loads(files.read_own(f"{home}/{MARK}"))
    return str(mark["key"]), int(mark["size"])
