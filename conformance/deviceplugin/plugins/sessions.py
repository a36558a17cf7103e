"""The sessions of a plugin under test, one after the other, and what they have in common."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import attrs

from conformance.deviceplugin.plugins.process import Maker, PluginPlace, PluginProcess
from conformance.deviceplugin.plugins.rules import Rules
from conformance.deviceplugin.plugins.session import Arrival, KubeletSession
from conformance.engine.targets.hooks import Hooks
from conformance.engine.targets.placeholders import fill
from conformance.engine.verdict import Broken
from refimpl.deviceplugin import illusion
from refimpl.wire.journal import Journal

__all__ = ["NODE", "RESOURCE", "PluginSetup", "Sessions"]

T = TypeVar("T")

NODE, RESOURCE = "refimpl-node", "example.com/gpu"
"""What {node} and {resource} stand for, unless chosen."""

_SILENT_S = 1.0
"""The longest wait for a plugin that has never come to kubelet in all the time it had."""


@attrs.frozen(kw_only=True)
class PluginSetup:
    """How a plugin is started and judged.

    make: makes its processes, `empty` those of a node without devices. release: of the kubelet
    around it. resource: the one that is judged, the first that it registers when empty. hidden: it
    finds its folder at the real kubelet's path, whatever ours is called. hooks: change what the
    node has. quiet_s: how long a case watches that nothing happens. most_s: the longest that
    anything is waited for. cdi_dirs: where its CDI files may lie, with placeholders.
    """

    make: Maker
    release: str
    quiet_s: float
    empty: Maker | None = None
    resource: str = ""
    hidden: bool = False
    hooks: Hooks = attrs.field(factory=lambda: Hooks({}))
    numa_nodes: frozenset[int] = frozenset()
    most_s: float = 120.0
    cdi_dirs: tuple[str, ...] = ()


class Sessions:
    """`current` outlasts the case that began it, unless that spoils it. `kubelet` is where its
    kubelet serves, or that of the last one did.

    It is no `scope.Shared`: a case begins sessions of its own, in folders that it chooses, and a
    case that fails spoils none. `at_arrival` is told of each Register while the call is open,
    before kubelet looks at it.
    """

    def __init__(self, setup: PluginSetup, journal: Journal) -> None:
        self.setup, self.journal = setup, journal
        self.rules = Rules(self._note)
        self.at_arrival: Callable[[Arrival], object] | None = None
        self._home = Path(tempfile.mkdtemp(prefix="dp-"))
        self._current: KubeletSession | None = None
        self._count = 0
        self._silent = False

    @property
    def current(self) -> KubeletSession:
        """The present one."""
        assert self._current is not None
        return self._current

    @property
    def open(self) -> bool:
        """Whether there is one."""
        return self._current is not None

    def begin(self, root_length: int = 0) -> None:
        """Ends the present one; the next has an empty folder (with a path of that length), and
        nothing runs in it."""
        self.end()
        self._count += 1
        self._current = KubeletSession(
            self._home,
            self._count,
            journal=self.journal,
            faults=self.rules.faults,
            release=self.setup.release,
            root_length=root_length,
            seen_at=illusion.REAL if self.setup.hidden else "",
        )
        self.kubelet = self._current.layout.socket

    def hand_on(self) -> None:
        """Ends the present one where the next case would not find it as this one did."""
        self.rules.end()
        session = self._current
        if session and (session.spoilt or not session.well(self.setup.resource)):
            self.end()

    def end(self) -> None:
        """Ends kubelet and plugin, and removes their folder."""
        session, self._current = self._current, None
        if session:
            session.end()

    def close(self) -> None:
        """Ends the last one."""
        self.end()
        shutil.rmtree(self._home, ignore_errors=True)

    def _note(self, request: object) -> None:
        if self._current:
            arrival = self._current.note(request)
            if self.at_arrival:
                self.at_arrival(arrival)

    # -- the plugin in them ---------------------------------------------------------------------

    def process(self, *, empty: bool = False) -> PluginProcess:
        """Another process of the plugin in the present one, not started."""
        make = self.setup.empty if empty and self.setup.empty else self.setup.make
        return self.current.process(self.place(), make)

    def place(self) -> PluginPlace:
        """Where it is started, and what its placeholders stand for."""
        return self.current.place(self.setup.resource or RESOURCE, NODE)

    @property
    def cdi_dirs(self) -> list[Path]:
        """Where its CDI files may lie."""
        values = self.place().values
        return [Path(fill(each, values)) for each in self.setup.cdi_dirs]

    # -- waiting --------------------------------------------------------------------------------

    def patience(self, deadline_s: float) -> float:
        """A deadline in seconds as it holds here: shorter for our fake, and for a plugin that has
        never come to kubelet in all the time it had."""
        most_s = self.setup.most_s
        return min(deadline_s, most_s, _SILENT_S if self._silent else most_s)

    def awaited(self, wait: Callable[[], T]) -> T:
        """Waits for the plugin to come; the next will not wait as long where it does not."""
        try:
            result = wait()
        except Broken:
            self._silent = not self.current.links
            raise
        self._silent = False
        return result
