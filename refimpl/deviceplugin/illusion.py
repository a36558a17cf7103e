"""Runs a plugin that knows no other folder than /var/lib/kubelet over the fake kubelet's.

Most plugins have the path in their code. In a mount namespace of its own, the folder is mounted
there; names of events and of sockets are the same for both sides, as inotify goes by inode.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

__all__ = ["REAL", "obstacle", "words"]

REAL = "/var/lib/kubelet"
"""Where plugins look for kubelet."""

# $1 is the folder, the rest is the command. Where the node has no mount point, one is made in a
# tmpfs over its parent, which nobody outside sees.
_SCRIPT = f"""
set -e
if [ ! -d {REAL} ]; then
    mount -t tmpfs tmpfs {os.path.dirname(REAL)}
    mkdir -p {REAL}
fi
mount --bind "$1" {REAL}
shift
exec "$@"
"""


def words(folder: str | os.PathLike[str], command: Sequence[str]) -> list[str]:
    """What to run instead of the command, so that the folder lies at `REAL` for it."""
    return [*_namespace(), "sh", "-c", _SCRIPT, "sh", os.path.abspath(folder), *command]


def obstacle() -> str:
    """Why namespaces cannot be had here; empty if they can."""
    try:
        done = subprocess.run(
            [*_namespace(), "true"], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unshare cannot be run: {error}"
    return "" if done.returncode == 0 else done.stderr.strip() or "unshare failed"


def _namespace() -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--mount", "--"]
