"""What is mounted on this machine (proc_pid_mountinfo(5)): virtual containers see that, too."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["mounts_below"]

_MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\(\d{3})")


def mounts_below(top: str) -> frozenset[str]:
    """The mount points below a path; none where this machine does not tell."""
    try:
        lines = _MOUNTINFO.read_text(errors="surrogateescape").split("\n")
    except OSError:
        return frozenset()
    points = (_ESCAPED.sub(_meant, line.split(" ")[4]) for line in lines if line)
    start = f"{top.rstrip('/')}/"
    return frozenset(point for point in points if point.startswith(start))


def _meant(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))
