"""Recorders in the runtime's plugin directory, under names that nothing else has."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refimpl.cni.plugins import configure, install

__all__ = ["Recorders"]

LETTERS = "abc"
_PRINTS = """#!/bin/sh
case $CNI_COMMAND in
ADD) cat "$0.out" ;;
VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0", "1.1.0"]}' ;;
esac
"""


class Recorders:
    """`a`, `b` and `c`: they answer as told, and note every call in one journal.

    The journal and the counts lie outside of the plugin directory: CRI-O asks VERSION of every
    plugin whenever something changes there. Raises OSError where nothing can be installed.
    """

    def __init__(self, bin_dir: Path, run_id: str, folder: Path) -> None:
        self.bin_dir, self._prefix, self.folder = bin_dir, f"refimpl-{run_id}", folder
        self.journal = folder / "journal.jsonl"
        self._installed: list[Path] = []
        self._changed: set[str] = set()

    def type_of(self, letter: str) -> str:
        """The `type` by which configurations name it."""
        return f"{self._prefix}-{letter}"

    def path(self, letter: str, folder: Path | None = None) -> Path:
        """Where it lies, or would."""
        return (folder or self.bin_dir) / self.type_of(letter)

    def install(self, letter: str, folder: Path | None = None) -> Path:
        """Makes one; removed with the others."""
        place = self.path(letter, folder)
        self._installed += [place, Path(f"{place}.settings.json")]
        install(
            place.parent,
            place.name,
            "recorder",
            journal=self.journal,
            counts=self.folder / f"{place.name}.counts",
        )
        return place

    def note(self, path: Path) -> Path:
        """A file or folder that a case puts beside them; removed with them."""
        self._installed.append(path)
        return path

    def tell(
        self,
        letter: str,
        answers: Mapping[str, Any] | None = None,
        faults: list[dict[str, Any]] | None = None,
        target: str | None = None,
    ) -> None:
        """What it answers from its next call on, by verb; everything not named succeeds."""
        self._changed.add(letter)
        configure(self.path(letter), answers=answers or {}, faults=faults or [], target=target)

    def print_bytes(self, letter: str, data: bytes) -> None:
        """Has it print just that as its answer to ADD, UTF-8 or not."""
        script = self.folder / f"print-{letter}"
        script.with_suffix(".out").write_bytes(data)
        script.write_text(_PRINTS)
        script.chmod(0o755)
        self.tell(letter, target=str(script))

    def reset(self) -> None:
        """All healthy and in their places again."""
        for letter in LETTERS:
            if not self.path(letter).is_file():
                self.install(letter)
        for letter in self._changed & set(LETTERS):
            self.tell(letter)
        self._changed.clear()

    def remove(self) -> None:
        """Takes away every file that was put there."""
        for path in self._installed:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
        self._installed.clear()
