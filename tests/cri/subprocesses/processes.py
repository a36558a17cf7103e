"""Looks at processes."""

from __future__ import annotations

from pathlib import Path

from conformance.engine.verdict import eventually

__all__ = ["alive", "pid_in", "state_of"]


def state_of(pid: int) -> str:
    """One letter of proc_pid_stat(5), empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    return state_of(pid) not in ("", "Z")


def pid_in(path: Path) -> int:
    """The number that a script writes to a file, once it has."""
    eventually(lambda: path.exists() and path.read_text().endswith("\n"), 20, "it is written")
    return int(path.read_text())
