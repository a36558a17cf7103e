"""Below which directory paths of a caller may lie: a driver of root mounts where it is told to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from refimpl.wire.status import Code, Refused

__all__ = ["ANYWHERE", "Bounds"]

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Bounds:
    """Paths below `folder`, which exists; "" bounds nothing. Raises ValueError for what is no
    directory."""

    def __init__(self, folder: str = "") -> None:
        self.given = os.path.abspath(folder) if folder else ""
        self.folder = os.path.realpath(folder) if folder else ""
        if folder and not os.path.isdir(folder):
            raise ValueError(f"targets_below={folder}: there is no such directory; make it first")

    def check(self, path: str) -> None:
        """Raises INVALID_ARGUMENT for a path that is not below the folder, or that leads there
        through a link; the last name may be one, which is not followed."""
        if not self.folder:
            return
        names = self._names(path)
        if names is None:
            raise Refused(
                Code.INVALID_ARGUMENT,
                f"path {path!r} is not below {self.given!r}, and this driver works nowhere else; "
                "name a path there, or start it with other --targets-below",
            )
        with contextlib.suppress(FileNotFoundError):  # whoever needs it will tell
            self._walk(names[:-1], path)

    @contextlib.contextmanager
    def pinned(self, path: str) -> Iterator[str]:
        """Another path to what is at `path` now, which nobody can bend by putting a link on the way
        later. Raises OSError, and INVALID_ARGUMENT as `check` does."""
        if not self.folder:
            yield path
            return
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self.check(os.readlink(f"/proc/self/fd/{descriptor}"))
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)

    def _names(self, path: str) -> list[str] | None:
        """The names that lead from the folder to the path, None for a path that is not below."""
        for above in (self.folder, self.given):
            if path.startswith(above.rstrip("/") + "/"):
                names = [name for name in path[len(above) :].split("/") if name not in ("", ".")]
                return names if names and ".." not in names else None
        return None

    def _walk(self, names: list[str], path: str) -> None:
        with contextlib.ExitStack() as stack:
            descriptor = os.open(self.folder, _STEP)
            stack.callback(os.close, descriptor)
            for name in names:
                try:
                    descriptor = os.open(name, _STEP, dir_fd=descriptor)
                except NotADirectoryError:  # a link, or a file
                    raise Refused(
                        Code.INVALID_ARGUMENT,
                        f"path {path!r} leads through {name!r}, which is a link or no directory; "
                        "name the directory itself",
                    ) from None
                stack.callback(os.close, descriptor)


ANYWHERE = Bounds()
