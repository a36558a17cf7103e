"""What the kernel tells of the processes of a container, and how all of them are ended (cgroups(7),
both versions)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from refimpl.cri.state.ports import Usage

__all__ = ["Cgroup", "missing"]

_ROOT = Path("/sys/fs/cgroup")
_MICRO = 1000
_ROUNDS, _ROUND_S = 200, 0.005


class Cgroup:
    """path: from the root of each hierarchy."""

    def __init__(self, path: str) -> None:
        self._path = path.lstrip("/")

    def there(self) -> bool:
        """Whether any hierarchy has it."""
        return any(True for _ in self._folders())

    def usage(self, written: int) -> Usage:
        """Now; zero for what is not told. written: see `Usage`."""
        memory = self._number("memory", "memory.usage_in_bytes", "memory.current")
        inactive = self._table("memory", "memory.stat")
        cold = inactive.get("total_inactive_file", inactive.get("inactive_file", 0))
        return Usage(
            cpu_ns=self._cpu(),
            memory=max(0, memory - cold),
            processes=len(self.processes()),
            written=written,
        )

    def killed_for_memory(self) -> bool:
        """Whether the kernel has killed one of them because their memory was full."""
        events = self._table("memory", "memory.oom_control", "memory.events")
        return events.get("oom_kill", 0) > 0

    def processes(self) -> list[int]:
        """Of it and of what is below it."""
        found: set[int] = set()
        for folder in self._folders():
            for file in (folder, *_below(folder)):
                with suppress(OSError):
                    found |= {*map(int, (file / "cgroup.procs").read_text().split())}
        return sorted(found)

    def end(self) -> None:
        """Kills all of them, and waits until they are gone."""
        for _ in range(_ROUNDS):
            left = self.processes()
            if not left:
                return
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_ROUND_S)

    def remove(self) -> None:
        """It and what is below it, where nobody is in there."""
        for folder in self._folders():
            for each in (*sorted(_below(folder), reverse=True), folder):
                with suppress(OSError):
                    each.rmdir()

    # -- inside -------------------------------------------------------------------------------

    def _cpu(self) -> int:
        if told := self._number("cpuacct", "cpuacct.usage"):
            return told
        return self._table("", "cpu.stat").get("usage_usec", 0) * _MICRO

    def _folders(self) -> Iterator[Path]:
        """In each hierarchy that has it."""
        places = [_ROOT, *_ROOT.iterdir()] if _ROOT.is_dir() else []
        for place in places:
            folder = place / self._path
            if self._path and not place.is_symlink() and (folder / "cgroup.procs").is_file():
                yield folder

    def _read(self, controller: str, *names: str) -> str:
        for folder in (_ROOT / controller / self._path, _ROOT / self._path):
            for name in names:
                with suppress(OSError):
                    return (folder / name).read_text()
        return ""

    def _number(self, controller: str, *names: str) -> int:
        text = self._read(controller, *names).strip()
        return int(text) if text.isdecimal() else 0

    def _table(self, controller: str, *names: str) -> Mapping[str, int]:
        lines = (line.split() for line in self._read(controller, *names).splitlines())
        return {each[0]: int(each[1]) for each in lines if len(each) == 2 and each[1].isdecimal()}


def missing(path: str) -> list[str]:
    """Those of a path that are in no hierarchy, the deepest first: they come with what is made
    below them."""
    parts = path.strip("/").split("/")
    paths = ["/".join(parts[:number]) for number in range(len(parts), 0, -1)]
    return [each for each in paths if not Cgroup(each).there()]


def _below(folder: Path) -> Iterator[Path]:
    for name, folders, _ in os.walk(folder):
        for each in folders:
            yield Path(name) / each
