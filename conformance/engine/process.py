"""What the kernel tells of a process under test: descriptors, threads, memory, last words."""

from __future__ import annotations

import os
import re
from pathlib import Path

import attrs

__all__ = ["Measures", "last_words", "measures_of", "resident", "visible"]

# Where a program says why it dies: Go's panic, Python's traceback, a fatal line of a log.
_DEATH = re.compile(r"^(?:panic: |fatal error: |Traceback \(most recent call last\)|F\d{4} )", re.M)
_SHOWN = 200


@attrs.frozen
class Measures:
    """What a process holds: open descriptors, threads, resident memory in bytes (0: not known)."""

    fds: int
    threads: int
    rss: int = 0


def visible() -> bool:
    """Whether processes can be looked at here, by /proc."""
    return os.path.isdir("/proc/self/fd")


def measures_of(pid: int) -> Measures | None:
    """What a process of this machine holds; None for one that may not be looked at."""
    folder = Path(f"/proc/{pid}")
    try:
        fds, threads = (len(os.listdir(folder / name)) for name in ("fd", "task"))
        pages = int((folder / "statm").read_text().split()[1])
    except OSError:
        return None
    return Measures(fds, threads, pages * os.sysconf("SC_PAGE_SIZE"))


def resident(pid: int) -> int:
    """The memory of a process in bytes; 0 where it cannot be seen."""
    measures = measures_of(pid)
    return measures.rss if measures else 0


def last_words(log: Path, lines: int = 3) -> str:
    """What a program wrote last, for a message: from its panic on, else its last lines."""
    text = log.read_text(errors="replace").strip()
    death = _DEATH.search(text)
    shown = text[death.start() :].splitlines()[:lines] if death else text.splitlines()[-lines:]
    return "".join(f"\n  | {line[:_SHOWN]}" for line in shown)
