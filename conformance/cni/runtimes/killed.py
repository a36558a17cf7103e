"""What killed runs left in the folders of a runtime and in the runtime: told, and removed."""

from __future__ import annotations

import filecmp
import glob
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from conformance.cni.runtimes.cri import LOGS, CriRuntime
from conformance.cni.runtimes.recorders import PLUGIN, heal, uninstall
from conformance.engine.ledger import pods, sweep
from conformance.engine.ledger.entries import FILE, LedgerEntry, left
from conformance.engine.ledger.file import UnreadableLedger, in_use
from conformance.engine.ledger.leftovers import Leftovers, NotRemoved
from conformance.engine.runid import worker
from refimpl.cri import kubelet

__all__ = ["ASIDE", "MOVED", "leftovers", "say_what_is_left"]

MOVED = "moved folder"
"""The kind of a folder for which a copy stands in; it lies beside it under the name with ASIDE."""
ASIDE = ".refimpl"
_OURS = re.compile(r"!*00-refimpl-(.+)-[0-9]+\.conflist")
# Pods end while their plugins are there; files go from the folder itself, not from its copy.
_FIRST = (pods.POD, MOVED)


def leftovers(runtime: CriRuntime | None = None) -> Leftovers:
    """Undoes what killed runs left with a runtime; None for one that keeps nothing (cnitool)."""
    undo: dict[str, Callable[[LedgerEntry], bool]] = {MOVED: lambda entry: put_back(entry.name)}
    if runtime is None:
        return Leftovers({**undo, PLUGIN: lambda entry: uninstall(entry.name)}, first=_FIRST)
    ending = _PodsFirst(runtime)
    undo |= {PLUGIN: ending.uninstall, pods.POD: ending.end_pod}
    undo[LOGS] = lambda entry: runtime.remove_logs(entry.name)
    return Leftovers(undo, runtime.disconnect, _FIRST, ending.begin)


class _PodsFirst:
    """Pods and the plugins that are called when one ends: a plugin stays as long as a pod does."""

    def __init__(self, runtime: CriRuntime) -> None:
        self._runtime, self._stuck = runtime, False
        self._unhealed: list[Path] = []

    def begin(self, entries: list[LedgerEntry]) -> None:
        """Another ledger, with plugins of its own."""
        self._stuck = False
        self._unhealed = [Path(entry.name) for entry in entries if entry.kind == PLUGIN]

    def end_pod(self, entry: LedgerEntry) -> bool:
        """Ends a pod; whether there was one. Whatever a case had plugins answer, DEL works now."""
        while self._unhealed:
            heal(self._unhealed.pop())
        self._stuck, before = True, self._stuck
        there = kubelet.remove_pod(self._runtime.cri, entry.name)
        self._stuck = before
        return there

    def uninstall(self, entry: LedgerEntry) -> bool:
        """Removes a plugin; raises NotRemoved while a pod is there."""
        if self._stuck:
            raise NotRemoved("a pod that is left has it called at its end; sweep again")
        return uninstall(entry.name)


def put_back(name: str) -> bool:
    """Puts a folder in the place of its copy; raises NotRemoved where the copy has changed."""
    folder = Path(name)
    aside = folder.with_name(f"{folder.name}{ASIDE}")
    if not aside.exists():
        return False
    if folder.exists():
        if new := [path.name for path in sorted(folder.iterdir()) if _is_news(path, aside)]:
            raise NotRemoved(f"{', '.join(new)} changed since; compare with {aside}, remove one")
        shutil.rmtree(folder)
    aside.rename(folder)
    return True


def _is_news(path: Path, aside: Path) -> bool:
    """Whether a file of the copy is neither ours nor as it was."""
    if "00-refimpl-" in path.name:
        return False
    before = aside / path.name
    same = path.is_file() and before.is_file() and filecmp.cmp(path, before, shallow=False)
    return not (same or (path.is_dir() and before.is_dir()) or path.is_symlink())


def say_what_is_left(conf_dir: Path) -> None:
    """Tells on stderr of configurations of other runs, which come before those of this one."""
    if worker() != "main" or not conf_dir.is_dir():
        return
    for path in sorted(conf_dir.iterdir()):
        if ours := _OURS.fullmatch(path.name):
            print(f"refimpl: {path}: {_whose(path, ours[1])}", file=sys.stderr)


def _whose(path: Path, run_id: str) -> str:
    for ledger in sorted(sweep.home().glob(f"cni-*-{glob.escape(run_id)}-*.jsonl")):
        try:
            names = {thing.name for thing in left(ledger) if thing.kind == FILE}
        except (OSError, UnreadableLedger):
            continue  # sweep tells of it
        if str(path) not in names:
            continue
        if in_use(ledger):
            return "another run is using this runtime; wait for its end, they disturb each other"
        command = sweep.command_of(ledger)
        return f"a killed run left it, and it comes first; remove all of that run by {command}"
    return "a run that is not on record here left it, and it comes first; remove it"
