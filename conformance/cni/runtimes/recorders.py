"""Recorders in the runtime's plugin directory, under names that nothing else has."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.engine.ledger.entries import FILE, Ledger, discard
from refimpl.cni.plugins import configure, install, settings_of

__all__ = ["PLUGIN", "Recorders", "heal", "uninstall"]

LETTERS = "abc"
PLUGIN = "plugin"
"""The kind under which a recorder is on record."""
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

    def __init__(self, bin_dir: Path, run_id: str, folder: Path, ledger: Ledger) -> None:
        self.bin_dir, self._prefix, self.folder = bin_dir, f"refimpl-{run_id}", folder
        self.journal = folder / "journal.jsonl"
        self._ledger = ledger
        self._installed: set[tuple[Path, str]] = set()  # with the kind that is on record
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
        self.note(place, PLUGIN)
        install(
            place.parent,
            place.name,
            "recorder",
            journal=self.journal,
            counts=self.folder / f"{place.name}.counts",
        )
        return place

    def note(self, path: Path, kind: str = FILE) -> Path:
        """A file or folder that a case is about to put beside them; removed with them."""
        self._ledger.making(kind, path)
        self._installed.add((path, kind))
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
        """It prints just that as its answer to ADD from now on, UTF-8 or not."""
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
        for path, kind in self._installed:
            with contextlib.suppress(OSError):  # it stays on record then
                (uninstall if kind == PLUGIN else discard)(str(path))
                self._ledger.gone(kind, path)
        self._installed.clear()


def uninstall(path: str) -> bool:
    """Takes a recorder away with its settings; whether it was there. Raises OSError."""
    return discard(f"{path}.settings.json") | discard(path)


def heal(path: Path) -> None:
    """Makes a recorder of a killed run answer well, so that its pods can be ended; does nothing
    where it never was whole. Raises OSError.
    """
    try:
        counts = settings_of(path)["counts"]
    except FileNotFoundError:
        return
    install(path.parent, path.name, "recorder", journal=None, counts=counts)
