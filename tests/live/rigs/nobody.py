"""Programs run by uid 65534, which has no right at all, and yet may read what they need.

Interpreter and plugins often lie in a home that others may not enter. The program gets a mount
namespace in which nothing else is to be seen there.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

__all__ = ["as_nobody", "why_not"]

NOBODY = "65534"


def why_not() -> str:
    """Why programs cannot be run so here; empty if they can."""
    if os.geteuid():
        return "becoming another user needs root"
    missing = [name for name in ("unshare", "setpriv", "mount") if not shutil.which(name)]
    return f"there is no {', '.join(missing)} here" if missing else ""


def as_nobody(words: Iterable[str], *, shown: Iterable[Path], folder: Path) -> list[str]:
    """The command that runs `words` as uid 65534.

    shown: what they have to be able to read. folder: where mounts are prepared; it stays empty.
    """
    lines = ["set -e"]
    for closed, paths in _closed(shown).items():
        stage = folder / closed.name
        lines += [f"mkdir -p {_(stage)}", f"mount -t tmpfs -o mode=755 none {_(stage)}"]
        for path in paths:
            place = stage / path.relative_to(closed)
            lines += [f"mkdir -p {_(place)}", f"mount --bind {_(path)} {_(place)}"]
        lines.append(f"mount --move {_(stage)} {_(closed)}")
    user = ("--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env", "HOME=/")
    lines.append(f'exec setpriv {" ".join(user)} "$@"')
    entered = ("unshare", "--mount", "--propagation", "private")
    return [*entered, "sh", "-c", "\n".join(lines), "sh", *words]


def _closed(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """The folders that others may not enter, the outermost each, with what lies below them."""
    found: dict[Path, list[Path]] = {}
    for path in sorted({path.resolve() for path in paths}):
        for parent in reversed(path.parents):
            if not parent.stat().st_mode & 0o001:
                found.setdefault(parent, []).append(path)
                break
    return found


def _(path: Path) -> str:
    return shlex.quote(str(path))
