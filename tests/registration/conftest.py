"""What the tests of registration share: folders with short paths, and scripted plugins."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from refimpl.registration.api import registration_pb2 as pb
from refimpl.registration.plugin import RegistrationService
from refimpl.registration.watcher import PluginWatcher
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal
from refimpl.wire.server import Call, Server
from refimpl.wire.status import Code, Refused


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose sockets have short names; pytest's own may be too deep for them."""
    folder = Path(tempfile.mkdtemp(prefix="reg-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class ScriptedPlugin:
    """A plugin that answers as it is told to; every answer can be changed while it serves.

    `held` makes both RPCs wait until it is cleared or the caller gives up.
    """

    def __init__(self, path: Path, type: str, name: str, endpoint: str, versions: list[str]):
        self.path = path
        self.service = RegistrationService(type, name, endpoint, versions)
        self.held: set[str] = set()
        self.refusals: dict[str, Code] = {}
        self.calls: list[str] = []
        self._server = Server({pb.DESCRIPTOR.services_by_name["Registration"]: self})

    def GetInfo(self, request: pb.InfoRequest, call: Call) -> pb.PluginInfo:
        self._come("GetInfo", call)
        return self.service.GetInfo(request, call)

    def NotifyRegistrationStatus(
        self, request: pb.RegistrationStatus, call: Call
    ) -> pb.RegistrationStatusResponse:
        self._come("NotifyRegistrationStatus", call)
        return self.service.NotifyRegistrationStatus(request, call)

    def start(self) -> None:
        self._server.start(Endpoint.parse(self.path))

    def stop(self) -> None:
        """Ends, and its socket with it."""
        self._server.stop(0)

    def _come(self, rpc: str, call: Call) -> None:
        self.calls.append(rpc)
        if rpc in self.held:
            gone = threading.Event()
            call.on_cancel(gone.set)
            with call.waiting():
                gone.wait()
            raise call.ending()
        if rpc in self.refusals:
            raise Refused(self.refusals[rpc], "as scripted")


Scripted = Callable[..., ScriptedPlugin]


@pytest.fixture
def scripted(folder: Path) -> Iterator[Scripted]:
    """Makes a plugin that serves at a name below `folder`; those running end with the test."""
    plugins: list[ScriptedPlugin] = []

    def make(
        name: str = "plugin.sock",
        *,
        type: str = "DRAPlugin",
        plugin: str = "driver.example.com",
        endpoint: str = "",
        versions: tuple[str, ...] = ("v1.DRAPlugin",),
        start: bool = True,
    ) -> ScriptedPlugin:
        plugins.append(ScriptedPlugin(folder / name, type, plugin, endpoint, list(versions)))
        if start:
            plugins[-1].start()
        return plugins[-1]

    yield make
    for each in plugins:
        each.stop()


class Handler:
    """Takes in what speaks `version`, and remembers what it was told."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.seen: list[str] = []
        self.refusal: Exception | None = None
        self.held: threading.Event | None = None

    def validate(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        if self.version not in versions:
            raise ValueError(f"versions {list(versions)}: {self.version} is not among them")
        if "/" in name and not re.fullmatch(r"[a-z.]+/[A-Za-z]+", name):
            raise ValueError(f"resource name {name!r} is none")

    def register(self, name: str, endpoint: str, versions: Sequence[str]) -> None:
        self.seen.append(f"register {name} {os.path.basename(endpoint)}")
        if self.held is not None:
            self.held.wait()
        if self.refusal is not None:
            raise self.refusal

    def deregister(self, name: str, endpoint: str) -> None:
        self.seen.append(f"deregister {name} {os.path.basename(endpoint)}")


class Watched:
    """A watcher that is moved by hand: a step, and then the end of what it began."""

    def __init__(self, folder: Path) -> None:
        self.now = 1000.0
        self.journal = Journal()
        self.handlers = {
            "DRAPlugin": Handler("v1.DRAPlugin"),
            "CSIPlugin": Handler("1.0.0"),
            "DevicePlugin": Handler("v1beta1"),
        }
        self.watcher = PluginWatcher(
            folder, self.handlers, clock=lambda: self.now, journal=self.journal
        )

    @property
    def seen(self) -> list[str]:
        """What the handler of DRA plugins was told."""
        return self.handlers["DRAPlugin"].seen

    def until(self, condition: Callable[[], bool]) -> None:
        """Steps until it is so."""
        rounds = iter(range(3000))
        while not condition():
            assert next(rounds, None) is not None, (self.watcher.plugins, self.watcher.problems)
            self.watcher.step(0.01)

    def registered(self, *names: str) -> None:
        """Waits until exactly the plugins with these names are."""
        self.until(lambda: sorted(p.name for p in self.watcher.plugins) == sorted(names))

    def failed(self, plugin: ScriptedPlugin, delay_s: float) -> str:
        """Waits for a failed attempt after which the next is this far away; its reason."""
        self.until(lambda: self.watcher.retry_s(plugin.path) == pytest.approx(delay_s))
        return self.watcher.problems[str(plugin.path)]

    def rpcs(self) -> list[str]:
        """What was called, in order."""
        return [f"{entry.rpc} {entry.code.name}" for entry in self.journal.entries]


@pytest.fixture
def watched(folder: Path) -> Iterator[Watched]:
    """A watcher of `folder` that has not looked yet."""
    watched = Watched(folder)
    yield watched
    watched.watcher.stop()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of a twentieth, for plugins that answer too late."""
    monkeypatch.setenv("REFIMPL_TIMEOUT_FACTOR", "0.05")
