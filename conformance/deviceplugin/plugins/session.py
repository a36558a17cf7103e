"""One kubelet over a folder of its own, from its first start, with the plugins that came to it."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import cast

import attrs
import grpc

from conformance.deviceplugin.plugins.process import Maker, PluginPlace, PluginProcess
from conformance.deviceplugin.plugins.rules import REGISTER
from conformance.engine.targets.life import no_sign
from refimpl.deviceplugin import names
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.deviceplugin.kubelet import FakeKubelet
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint, probe
from refimpl.wire.faults import Faults
from refimpl.wire.journal import Entry, Journal
from refimpl.wire.status import Code

__all__ = ["Arrival", "KubeletSession"]

# A plugin that died is seen in one of the last calls of the case.
_LATEST = 5


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


class KubeletSession:
    """`kubelet` is running unless a case has stopped it. `main` is the process of the plugin. With
    `may_exit` the case judges its end; `spoilt`: the next case needs another session. `arrivals`:
    every Register so far. `root_length`: characters of the path of its folder, as many as it takes
    when 0; `seen_at`: where the plugin sees that folder. What it makes lies in `home`.
    """

    def __init__(
        self,
        home: Path,
        number: int,
        *,
        journal: Journal,
        faults: Faults,
        release: str,
        root_length: int = 0,
        seen_at: str = "",
    ) -> None:
        self.root = _deep(home / str(number), root_length)
        self.root.mkdir(parents=True)
        self._home, self.journal, self.began = home, journal, journal.seq
        self.kubelet = FakeKubelet(
            self.root, profile=release, journal=journal, faults=faults, nodes=8, seen_at=seen_at
        )
        self.layout = self.kubelet.layout
        self.layout.make()
        self.kubelet_runs = self.may_exit = self.spoilt = False
        self.main: PluginProcess | None = None
        self.arrivals: list[Arrival] = []
        self._processes: list[PluginProcess] = []
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
        registered = [arrival.resource for arrival in self.arrivals]
        return list(
            dict.fromkeys([*registered, *(each.connection.resource for each in self.links)])
        )

    def registrations(self) -> list[Entry]:
        """The Register calls that have ended, as the journal has them."""
        return [entry for entry in self.journal.since(self.began) if entry.method == REGISTER]

    def note(self, request: object) -> Arrival:
        """Notes a Register, from the thread that is to answer it."""
        copy = pb.RegisterRequest()
        copy.CopyFrom(cast("pb.RegisterRequest", request))
        with self._lock:
            arrival = Arrival(len(self.arrivals) + 1, copy, time.monotonic(), self.layout.plugins)
            self.arrivals.append(arrival)
        return arrival

    def well(self, resource: str) -> bool:
        """Whether the next case finds kubelet and plugin as the first one did."""
        runs = self.kubelet_runs and self.main is not None and self.main.alive()
        judged = resource or next(iter(self.resources), "")
        open_links = (link for link in self.kubelet.links if not link.ended) if runs else ()
        return any(link.connection.resource == judged for link in open_links)

    def calls(self) -> list[Entry]:
        """The calls to the plugin so far, streams last: they end because it does."""
        calls = [each for each in self.journal.since(self.began) if each.side == "client"]
        return sorted(calls, key=lambda each: each.rpc == "ListAndWatch")

    def hung_up(self) -> bool:
        """Whether the plugin left one of the last calls without an answer."""
        return any(
            call.code == Code.UNAVAILABLE for call in self.journal.since(self.began)[-_LATEST:]
        )

    def silence(self) -> str:
        """Why the plugin that came last answers nothing where it serves; empty where it does."""
        sockets = [Endpoint.parse(link.connection.socket) for link in self.links[-1:]]
        asked = (no_sign(each, _options) for each in sockets if probe(each) == "live")
        return next(asked, "")

    # -- kubelet and plugins --------------------------------------------------------------------

    def start_kubelet(self, *, accepting: bool = True) -> None:
        """Kubelet's process begins; without `accepting` callers connect and hear nothing."""
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

    def place(self, resource: str, node: str) -> PluginPlace:
        """Where the next process is started."""
        scratch = self._home / f"p{len(self._processes)}"
        return PluginPlace(self.root, scratch, self._home / "dir", node, resource)

    def process(self, place: PluginPlace, make: Maker) -> PluginProcess:
        """Another process of the plugin, not started."""
        for folder in (place.cdi, place.own, place.scratch):
            folder.mkdir(exist_ok=True)
        process = make(place)
        self._processes.append(process)
        return process

    def end(self) -> None:
        """Ends all of it, and its folder goes."""
        for process in self._processes:
            process.kill()
            process.close()
        self.kubelet_runs = False
        self.kubelet.stop(0)
        for path in self._home.iterdir():
            shutil.rmtree(path, ignore_errors=True)


def _options(channel: Channel, limit_s: float) -> None:
    stub = stubs.DevicePluginStub(cast("grpc.Channel", channel))
    stub.GetDevicePluginOptions(pb.Empty(), timeout=limit_s)


def _deep(folder: Path, length: int) -> Path:
    """A folder in it with a path of that length, where that is longer."""
    missing = length - len(str(folder)) - 1
    return folder / ("d" * missing) if missing > 0 else folder
