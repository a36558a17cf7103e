"""What killed runs left in the folders of a runtime and in the runtime: told, and removed."""

from __future__ import annotations

import filecmp
import glob
import re
import shlex
import shutil
import sys
from pathlib import Path

from conformance.cni.runtimes.cri import LOGS, CriRuntime
from conformance.cni.runtimes.recorders import PLUGIN, heal, uninstall
from conformance.engine import pods, sweep
from conformance.engine.ledgerfile import in_use, records
from conformance.engine.runid import worker
from conformance.engine.things import FILE, Leftovers, NotRemoved, Thing, left
from refimpl.cri import kubelet

__all__ = ["ASIDE", "MOVED", "RuntimeLeftovers", "say_what_is_left"]

MOVED = "moved folder"
"""The kind of a folder for which a copy stands in; it lies beside it under the name with ASIDE."""
ASIDE = ".refimpl"
_OURS = re.compile(r"!*00-refimpl-(.+)-[0-9]+\.conflist")
# Pods end while their plugins are there; files go from the folder itself, not from its copy.
_FIRST = (pods.POD, MOVED)


class RuntimeLeftovers(Leftovers):
    """runtime: None for one that keeps nothing itself (cnitool)."""

    def __init__(self, runtime: CriRuntime | None = None) -> None:
        super().__init__({PLUGIN: self._plugin, MOVED: put_back})
        if runtime:
            self._undo |= {pods.POD: self._pod, LOGS: runtime.remove_logs}
            self.close = runtime.disconnect
        self._runtime, self._stuck = runtime, False
        self._unhealed: list[Path] = []

    def left_by(self, path: Path) -> list[Thing]:
        """See Leftovers."""
        things = left(path)
        self._stuck = False
        self._unhealed = [Path(thing.name) for thing in things if thing.kind == PLUGIN]
        rank = {kind: number for number, kind in enumerate(_FIRST)}
        return sorted(things, key=lambda thing: rank.get(thing.kind, len(rank)))

    def _pod(self, uid: str) -> bool:
        assert self._runtime is not None
        while self._unhealed:  # whatever the case had them answer, DEL has to work now
            heal(self._unhealed.pop())
        self._stuck, before = True, self._stuck
        there = kubelet.remove_pod(self._runtime.cri, uid)
        self._stuck = before
        return there

    def _plugin(self, path: str) -> bool:
        if self._stuck:
            raise NotRemoved("a pod that is left has it called at its end; sweep again")
        return uninstall(path)


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
        if found := _OURS.fullmatch(path.name):
            print(f"refimpl: {path}: {_whose(path, found[1])}", file=sys.stderr)


def _whose(path: Path, run_id: str) -> str:
    for ledger in sorted(sweep.home().glob(f"cni-*-{glob.escape(run_id)}-*.jsonl")):
        if str(path) not in {thing.name for thing in left(ledger) if thing.kind == FILE}:
            continue
        if in_use(ledger):
            return "another run is using this runtime; wait for its end, they disturb each other"
        target = next((each["target"] for each in records(ledger) if "target" in each), "TARGET")
        command = shlex.join(["refimpl", "sweep", "cni", target])
        return f"a killed run left it, and it comes first; remove all of that run by {command}"
    return "a run that is not on record here left it, and it comes first; remove it"
