"""Which worker runs which case, where pytest-xdist runs several.

xdist's own way to keep a group of cases on one worker writes the group into the node ids, which
pytest from 9.2 on ignores without a word (pytest-xdist#1386). So a worker leaves its groups in a
file of the run, and the scheduler of the process that controls the workers reads them there.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["Workers", "leave_groups", "settle"]

_INPUT = "refimpl_groups"
_PROCESSOR = "refimpl_processor"


class Workers:
    """In the process that controls the workers: hands out cases, a group to one of them."""

    def __init__(self, *, ours: bool = False) -> None:
        """ours: fakes are judged, which are threads of the workers."""
        self._ours, self._next = ours, itertools.cycle(sorted(os.sched_getaffinity(0)))
        self._folder = Path(tempfile.mkdtemp(prefix="refimpl-workers-"))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells a worker where to leave its groups, and which processor is its own."""
        node.workerinput[_INPUT] = str(self._folder / node.gateway.id)
        if self._ours:
            node.workerinput[_PROCESSOR] = next(self._next)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Ours, where xdist was told to keep groups together."""
        grouped = config.getvalue("dist") == "loadgroup"
        return GroupScheduling(config, log, self._folder) if grouped else None

    def pytest_unconfigure(self) -> None:
        """The run is over."""
        shutil.rmtree(self._folder, ignore_errors=True)


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells no types
    """One case after the other to whoever is free; cases of a group to the same worker, first."""

    def __init__(self, config: pytest.Config, log: Any, folder: Path) -> None:
        super().__init__(config, log)
        self._folder = folder
        self._groups: dict[str, str] = {}

    def schedule(self) -> None:
        """Begins to hand out, or hands out more."""
        if not self._groups:
            files = (self._folder / node.gateway.id for node in self.nodes)
            self._groups = next((json.loads(f.read_text()) for f in files if f.exists()), {})
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._groups.get(nodeid, nodeid)


def leave_groups(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker: writes the groups of the cases that were collected, for who reads them."""
    file = config.workerinput.get(_INPUT)  # type: ignore[attr-defined]
    if file:
        Path(file).write_text(json.dumps({item.nodeid: _group(item) for item in items}))


def settle(config: pytest.Config) -> None:
    """In a worker that has a processor of its own: stays there. Its threads hand Python's lock to
    each other all the time, and from one processor to another that takes a fifth more time."""
    processor = config.workerinput.get(_PROCESSOR)  # type: ignore[attr-defined]
    if processor is not None:
        os.sched_setaffinity(0, {processor})


def _group(item: pytest.Item) -> str:
    """All its groups in one name, as xdist has it; a case without one is a group of its own."""
    names = {str(mark.args[0]) for mark in item.iter_markers("xdist_group")}
    return "_".join(sorted(names)) or item.nodeid
