"""An OCI runtime as a program: the words it is called with, and what it says when it fails
(runtime-spec, and the command line that runc, crun and runsc share)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Failed", "Program", "last_error"]

_LIMIT_S = 60.0


class Failed(Exception):
    """It ended with an error, which is the text."""


class Program:
    """command: its path, and flags that come first. root: where it keeps what it knows."""

    def __init__(self, command: Sequence[str], root: Path) -> None:
        self._command, self.root = tuple(command), root

    @property
    def name(self) -> str:
        """The program's own."""
        return Path(self._command[0]).name

    def words(self, log: Path, verb: str, *more: str) -> list[str]:
        """A whole command line. log: where it writes why it fails."""
        shared = ["--root", str(self.root), "--log", str(log), "--log-format", "json"]
        return [*self._command, *shared, verb, *more]

    def call(self, log: Path, verb: str, *more: str, text: str = "") -> str:
        """What it prints; raises Failed."""
        try:
            done = subprocess.run(
                self.words(log, verb, *more),
                input=text,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
                cwd="/",
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{self.name} {verb}: {error}") from None
        if done.returncode:
            raise Failed(last_error(log) or done.stderr.strip() or f"{self.name} {verb} failed")
        return done.stdout

    def delete(self, log: Path, id: str) -> None:
        """Leaves nothing of a container, whether or not it is there."""
        with suppress(Failed):
            self.call(log, "delete", "--force", id)

    def update(self, log: Path, id: str, limits: Mapping[str, Any]) -> None:
        """Other limits; raises Failed."""
        self.call(log, "update", "--resources", "-", id, text=json.dumps(limits))

    def about(self) -> Mapping[str, Any]:
        """What it says that it can do (runtime-spec, features.md); empty where it does not say."""
        with suppress(OSError, ValueError, subprocess.SubprocessError):
            done = subprocess.run(
                [*self._command, "features"], capture_output=True, timeout=_LIMIT_S, check=True
            )
            told: dict[str, Any] = json.loads(done.stdout)
            return told
        return {}


def last_error(log: Path) -> str:
    """The last line of its log that tells of an error; empty where there is none."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if told.get("level") in ("error", "fatal"):
            return str(told.get("msg", ""))
    return ""
