"""Where volumes are staged and published: directories this suite makes for the driver.

The suite may see the driver's file system (same host), reach it through the user's commands
(csi-sanity's path commands), or not at all; a case says which it needs.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Literal, Protocol

from conformance.csi.settings import CsiSettings
from conformance.engine.options import BadOption
from conformance.engine.verdict import timeout

Kind = Literal["file", "directory", "not_found", "other"]


class Paths(Protocol):
    """Makes the directories the calling side owes the driver (CSI: staging path, target parent)."""

    visible: bool  # whether this process sees the same files

    def staging(self, name: str) -> str:
        """A new, empty staging directory; returns the path the driver is told."""

    def target(self, name: str) -> str:
        """A target path that does not exist below a parent that does."""

    def kind(self, path: str) -> Kind:
        """What lies at a path, as the driver sees it."""

    def release(self, path: str) -> None:
        """Removes what was made for this path, never what a driver has left in it."""

    def close(self) -> None:
        """Removes the directories that hold all others."""


class LocalPaths:
    """Driver and suite see one file system."""

    visible = True

    def __init__(self, settings: CsiSettings) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="refimpl-csi-"))
        self._stagings = self._base(settings.staging_dir, "staging")
        self._targets = self._base(settings.target_dir, "target")

    def _base(self, chosen: str, name: str) -> Path:
        base = Path(chosen) if chosen else self._home / name
        try:
            base.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadOption(f"{base}: {error.strerror}; staging and targets lie there") from error
        return base.absolute()

    def staging(self, name: str) -> str:
        """A new directory below the staging directory."""
        path = self._stagings / name
        path.mkdir(mode=0o750)
        return str(path)

    def target(self, name: str) -> str:
        """A path below the target directory, at which nothing is."""
        return str(self._targets / name)

    def kind(self, path: str) -> Kind:
        """What lies at a path. A link counts as what it leads to, as for csi-sanity."""
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            return "not_found"
        if stat.S_ISDIR(mode):
            return "directory"
        return "file" if stat.S_ISREG(mode) or stat.S_ISBLK(mode) else "other"

    def release(self, path: str) -> None:
        """Removes the path and its parent, as far as they are empty directories made here."""
        for directory in (Path(path), Path(path).parent):
            if directory in (self._stagings, self._targets) or not directory.is_dir():
                continue
            try:
                directory.rmdir()
            except OSError:
                return  # the driver left something: its data is not ours to delete

    def close(self) -> None:
        """Removes the two directories where they are ours and empty."""
        for base in (self._stagings, self._targets, self._home):
            if base.is_relative_to(self._home):
                with contextlib.suppress(OSError):  # a driver has left something, or it is gone
                    base.rmdir()


class CommandPaths:
    """The user's commands make, check and remove paths where the driver is (csi-sanity's hooks)."""

    visible = False

    def __init__(self, settings: CsiSettings) -> None:
        self._settings = settings
        self._stagings: set[str] = set()

    def staging(self, name: str) -> str:
        """What the command of the user has made for staging."""
        chosen = self._settings
        path = self._make(chosen.make_staging, self._name(chosen.staging_dir, name))
        self._stagings.add(path)
        return path

    def target(self, name: str) -> str:
        """A path below what the command of the user has made for targets."""
        chosen = self._settings
        return self._make(chosen.make_target, self._name(chosen.target_dir, name)) + "/mount"

    def kind(self, path: str) -> Kind:
        """What the command of the user prints of a path; "other" where there is none."""
        if not self._settings.check_path:
            return "other"
        output = self._run(self._settings.check_path, path, "check")
        if output not in ("file", "directory", "not_found", "other"):
            raise BadOption(
                f"--csi.checkpathcmd printed {output!r} for {path}; "
                "it has to print file, directory, not_found or other"
            )
        return output  # type: ignore[return-value]

    def release(self, path: str) -> None:
        """Has the command of the user remove what the other one made."""
        staging = path in self._stagings
        command = self._settings.remove_staging if staging else self._settings.remove_target
        if command:
            self._run(command, path if staging else path.removesuffix("/mount"), "remove")

    def close(self) -> None:
        """Nothing: the commands have removed what they made."""

    @staticmethod
    def _name(base: str, name: str) -> str:
        return f"{base or '/tmp/refimpl-csi'}/{name}"

    def _make(self, command: str, path: str) -> str:
        output = self._run(command, path, "make")
        if not output:
            raise BadOption(f"{command} {path}: it has to print the path that it made")
        return output

    def _run(self, command: str, path: str, kind: str) -> str:
        limit = timeout(getattr(self._settings, f"{kind}_timeout_s"))
        try:
            done = subprocess.run(
                [command, path], capture_output=True, text=True, timeout=limit, check=False
            )
        except OSError as error:
            raise BadOption(f"{command}: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise BadOption(f"{command} {path}: did not end within {limit:g} s") from error
        if done.returncode:
            raise BadOption(f"{command} {path}: ended with {done.returncode}: {done.stderr[:200]}")
        return done.stdout.strip()


def paths_for(settings: CsiSettings, *, local: bool) -> Paths | None:
    """The way to the driver's file system, None where there is none."""
    commands = (settings.make_staging, settings.make_target)
    if any(commands):
        if not all(commands):
            raise BadOption("--csi.createmountpathcmd and --csi.createstagingpathcmd go together")
        for command in filter(None, (*commands, settings.check_path)):
            if not shutil.which(command):
                raise BadOption(f"{command}: there is no such program")
        return CommandPaths(settings)
    same_host = local if settings.same_host is None else settings.same_host
    return LocalPaths(settings) if same_host else None
