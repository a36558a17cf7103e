"""One kubelet over a folder of its own, from its first start, with the plugins that came to it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import attrs

from conformance.deviceplugin.plugins.process import Place, PluginProcess
from conformance.deviceplugin.plugins.rules import REGISTER
from refimpl.deviceplugin import names
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Entry, Journal

__all__ = ["Arrival", "Life", "Maker"]

Maker = Callable[[Place], PluginProcess]
"""Makes a process of the plugin under test for a place."""


@attrs.frozen
class Arrival:
    """A Register call as it came in, answered or not; `at` in seconds of a clock of its own."""

    number: int
    request: pb.RegisterRequest
    at: float
    folder: Path

    @property
    def resource(self) -> str:
        """What was registered."""
        return self.request.resource_name

    @property
    def socket(self) -> Endpoint:
        """What kubelet dials; raises EndpointError for a path that no socket can have."""
        return Endpoint.parse(names.socket_path(str(self.folder), self.request.endpoint))


class Life:
    """`kubelet` is running unless a case has stopped it. `main` is the process of the
    plugin, `processes` all that were made; with `may_exit` the case judges its end. `arrivals`:
    every Register so far; `at_arrival` is told of each while the call is open, before kubelet
    looks at it. `root_length`: characters of its folder's path, as many as it takes when 0.
    """

    def __init__(
        self,
        home: Path,
        number: int,
        make: Maker,
        *,
        journal: Journal,
        faults: Faults,
        release: str,
        root_length: int = 0,
        seen_at: str = "",
    ) -> None:
        self.root = _deep(home / str(number), root_length)
        self.root.mkdir(parents=True)
        self._home, self._number, self._make = home, number, make
        self.journal, self.began = journal, journal.seq
        self.kubelet = FakeKubelet(
            self.root, profile=release, journal=journal, faults=faults, nodes=8, seen_at=seen_at
        )
        self.layout = self.kubelet.layout
        self.layout.make()
        self.kubelet_runs = self.may_exit = False
        self.processes: list[PluginProcess] = []
        self.main: PluginProcess | None = None
        self.arrivals: list[Arrival] = []
        self.at_arrival: Callable[[Arrival], object] | None = None
        self._lock = threading.Lock()
        self._earlier: list[PluginLink] = []

    # -- what has come --------------------------------------------------------------------------

    @property
    def links(self) -> list[PluginLink]:
        """Connections to plugins, oldest first, those of earlier kubelet processes included."""
        return [*self._earlier, *(self.kubelet.links if self.kubelet_runs else ())]

    @property
    def resources(self) -> list[str]:
        """All that came so far, in the order in which they came."""
        known = [arrival.resource for arrival in self.arrivals]
        return list(dict.fromkeys([*known, *(link.connection.resource for link in self.links)]))

    def registrations(self) -> list[Entry]:
        """The Register calls that have ended, as the journal has them."""
        return [entry for entry in self.journal.since(self.began) if entry.method == REGISTER]

    def came(self, request: object) -> None:
        """Notes a Register, from the thread that is to answer it."""
        asked = pb.RegisterRequest()
        asked.CopyFrom(cast("pb.RegisterRequest", request))
        with self._lock:
            arrival = Arrival(len(self.arrivals) + 1, asked, time.monotonic(), self.layout.plugins)
            self.arrivals.append(arrival)
        if self.at_arrival:
            self.at_arrival(arrival)

    # -- kubelet and plugins --------------------------------------------------------------------

    def start_kubelet(self, *, accepting: bool = True) -> None:
        """Kubelet's process begins; see `FakeKubelet.start`."""
        self.kubelet.start(accepting=accepting)
        self.kubelet_runs = True

    def kill_kubelet(self) -> None:
        """Its process ends; sockets stay."""
        if self.kubelet_runs:
            self.keep_links()
            self.kubelet_runs = False
            self.kubelet.kill()

    def keep_links(self) -> None:
        """To be called before kubelet's process is replaced."""
        self._earlier += [link for link in self.kubelet.links if link not in self._earlier]

    def place(self, resource: str, node: str) -> Place:
        """Where the next process is started."""
        scratch = self._home / f"{self._number}p{len(self.processes)}"
        scratch.mkdir(exist_ok=True)
        return Place(self.root, scratch, node, resource)

    def process(self, place: Place, make: Maker | None = None) -> PluginProcess:
        """Another process of the plugin, not started."""
        made = (make or self._make)(place)
        self.processes.append(made)
        return made

    def end(self) -> None:
        """Ends all of it, and its folder goes."""
        for process in self.processes:
            process.kill()
            process.close()
        self.kubelet_runs = False
        self.kubelet.stop(0)
        for path in self._home.glob(f"{self._number}*"):
            shutil.rmtree(path, ignore_errors=True)


def _deep(folder: Path, length: int) -> Path:
    """A folder in it with a path of that length, where that is longer."""
    missing = length - len(str(folder)) - 1
    return folder / ("d" * missing) if missing > 0 else folder
