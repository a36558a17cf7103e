"""A device plugin under test with its kubelet: what a case asks, sees and does to both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from conformance.deviceplugin.plugins.calls import PluginCalls
from conformance.deviceplugin.plugins.controls import KubeletControls
from conformance.deviceplugin.plugins.devices import DeviceHooks
from conformance.deviceplugin.plugins.process import PluginProcess
from conformance.deviceplugin.plugins.session import Arrival, KubeletSession
from conformance.deviceplugin.plugins.sessions import Sessions
from conformance.engine.verdict import Broken, eventually, stays
from refimpl.deviceplugin.devicemanager.layout import KUBELET_SOCKET
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.deviceplugin.kubelet import Device
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Entry

__all__ = ["REGISTER_S", "DevicePluginUnderTest"]

T = TypeVar("T")

REGISTER_S = 30.0
"""How long a plugin may take until it registers (DP-PLG-001)."""


class DevicePluginUnderTest:
    """What a case gets: the plugin, `calls` to it, the `kubelet` around it, and `hooks` that change
    its devices. All is about the judged resource where nothing else is said, and about the present
    session: from the last `fresh` on.

    What the case did to plugin and kubelet is undone after it, if need be by a new session.
    """

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.kubelet = KubeletControls(sessions)
        self.hooks = DeviceHooks(sessions)
        self.calls = PluginCalls(lambda: self.socket, sessions.journal, self.until)

    # -- the session ----------------------------------------------------------------------------

    @property
    def session(self) -> KubeletSession:
        """Kubelet, folder and processes of now."""
        return self.sessions.current

    def fresh(self) -> None:
        """A new session: empty folder, kubelet listening, plugin started. Nothing is waited for."""
        self.cleared()
        self.kubelet.start()
        self.start_again()

    def cleared(self, *, root_length: int = 0) -> None:
        """A new session in which nothing runs yet: go on with `kubelet.start` and `start_again`.
        `root_length`: characters of the path of kubelet's folder."""
        self.sessions.begin(root_length)
        self.spoil()

    def spoil(self) -> None:
        """The case leaves things in a state that others could stumble over."""
        self.session.spoilt = True

    @contextlib.contextmanager
    def at_arrival(self, act: Callable[[Arrival], object]) -> Iterator[None]:
        """While inside, `act` is called with each Register while it is open, before kubelet looks
        at it; also of sessions that begin inside."""
        self.sessions.at_arrival = act
        try:
            yield
        finally:
            self.sessions.at_arrival = None

    # -- its process ----------------------------------------------------------------------------

    @property
    def process(self) -> PluginProcess:
        """The plugin's process: `alive`, `status`, `fate`, `measures`, `freeze`, `thaw`."""
        assert self.session.main is not None
        return self.session.main

    def terminate(self, limit_s: float = 10.0) -> int | None:
        """SIGTERM; the exit status, -9 if it took longer."""
        self.spoil()
        return self.process.terminate(limit_s)

    def kill(self) -> None:
        """SIGKILL: sockets stay."""
        self.spoil()
        self.process.kill()

    def start_again(self, *, empty: bool = False) -> PluginProcess:
        """Another process in the place of the one that has ended. `empty`: on a node without
        devices (EMPTY)."""
        self.spoil()
        self.session.main = self.sessions.process(empty=empty)
        self.session.main.start()
        return self.session.main

    def another(self) -> PluginProcess:
        """A second instance beside the first, started; it ends with the case."""
        self.spoil()
        process = self.sessions.process()
        process.start()
        return process

    def may_exit(self) -> None:
        """A plugin that ends by itself in this case is judged by the case alone."""
        self.session.may_exit = True

    # -- waiting --------------------------------------------------------------------------------

    @property
    def quiet_s(self) -> float:
        """How long a case watches that nothing happens; also a gap that a plugin should bear."""
        return self.sessions.setup.quiet_s

    def until(self, predicate: Callable[[], T], what: str, deadline_s: float = REGISTER_S) -> T:
        """Waits for a true answer and returns it; Broken(what) after the deadline (of our fake: a
        shorter one), or when the plugin has ended by itself."""
        limit_s = self.sessions.patience(deadline_s)
        try:
            return eventually(predicate, limit_s, what, unless=self._end)
        except Broken as broken:
            raise Broken(what, broken.wanted, self._so_far()) from None

    def _end(self) -> str:
        """How the plugin has ended by itself."""
        by_itself = not self.process.alive() and not self.process.ended_by_us
        return self.process.fate() if by_itself else ""

    def _so_far(self) -> str:
        """What both sides said last."""
        notes = [f"kubelet: {note}" for note in self.session.kubelet.notes[-1:]]
        return "\n  ".join([f"the plugin: {self.process.fate()}", *notes])

    def soon(self, predicate: Callable[[], T], deadline_s: float = REGISTER_S) -> T:
        """Waits for a true answer as `until` does; the last answer if there is none."""
        with contextlib.suppress(Broken):
            return eventually(predicate, self.sessions.patience(deadline_s), "")
        return predicate()

    def stays(self, predicate: Callable[[], object], what: str, *, times: float = 1.0) -> None:
        """Watches for `quiet_s`, or that many `times` it, that it stays true; else Broken(what)."""
        stays(predicate, self.quiet_s * times, what, got=self._so_far)

    # -- registration ---------------------------------------------------------------------------

    @property
    def resource(self) -> str:
        """The judged one: as the user chose, else the first that came."""
        return self.sessions.setup.resource or self._first_resource()

    def _first_resource(self) -> str:
        rule = "the plugin registers a resource"
        return self.sessions.awaited(lambda: self.until(lambda: self.resources, rule))[0]

    @property
    def resources(self) -> list[str]:
        """All that came so far, in the order in which they came."""
        return self.session.resources

    def arrivals(self, resource: str = "") -> list[Arrival]:
        """The Register calls of a resource so far, answered or not, oldest first."""
        wanted = resource or self.resource
        return [each for each in self.session.arrivals if each.resource == wanted]

    def arrival(self, number: int = 1, deadline_s: float = REGISTER_S) -> Arrival:
        """The `number`th Register of the session, waited for."""
        what = "the plugin calls Register" + ("" if number == 1 else f" ({number} times)")
        self.until(lambda: len(self.arrivals()) >= number, what, deadline_s)
        return self.arrivals()[number - 1]

    def registrations(self) -> list[Entry]:
        """The Register calls that have ended, as the journal has them: `.requests[0]`, `.code`."""
        wanted = self.resource
        return [
            entry
            for entry in self.session.registrations()
            if getattr(entry.requests[0], "resource_name", None) == wanted
        ]

    def links(self) -> list[PluginLink]:
        """Kubelet's connections to the plugin, oldest first; those that are over have `.ended`."""
        wanted = self.resource
        return [link for link in self.session.links if link.connection.resource == wanted]

    def living(self) -> list[PluginLink]:
        """Those of the running kubelet whose stream is open and has brought a list."""
        if not self.session.kubelet_runs:
            return []
        here = self.session.kubelet.links
        return [link for link in self.links() if link in here and link.lists and not link.ended]

    def link(
        self, after: PluginLink | None = None, what: str = "", deadline_s: float = REGISTER_S
    ) -> PluginLink:
        """The newest connection with a list, waited for; one that was made after `after`."""
        rule = what or f"{self.resource} is registered and its first list has come"
        link = self.sessions.awaited(
            lambda: self.until(lambda: self.later(after), rule, deadline_s)
        )
        assert link is not None
        return link

    def later(self, after: PluginLink | None) -> PluginLink | None:
        """What `link` waits for, None if it is not there yet."""
        order, living = self.links(), self.living()
        if after in order:
            living = [link for link in living if order.index(link) > order.index(after)]
        return living[-1] if living else None

    @property
    def socket(self) -> Endpoint:
        """Where the plugin serves now: of its newest connection, else of its newest Register."""
        if not self.living():
            # Streams of ours must not come before kubelet's: with their end the plugin would think
            # that kubelet has let go of it.
            with contextlib.suppress(Broken):
                self.link()
        living, arrived = self.living(), self.arrivals()
        if living or not arrived:
            return Endpoint.parse((living or [self.link()])[-1].connection.socket)
        return arrived[-1].socket

    # -- sockets --------------------------------------------------------------------------------

    @property
    def folder(self) -> Path:
        """The device-plugins directory."""
        return self.session.layout.plugins

    @property
    def registry(self) -> Path:
        """The plugins_registry directory."""
        return self.session.layout.registry

    def sockets(self) -> list[str]:
        """Names of all sockets in `folder` but kubelet's."""
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted({path.name for path in paths if path.is_socket()} - {KUBELET_SOCKET})

    def registry_sockets(self) -> list[Path]:
        """Sockets in plugins_registry, at any depth."""
        return sorted(path for path in self.registry.rglob("*") if path.is_socket())

    # -- devices --------------------------------------------------------------------------------

    def devices(self) -> Mapping[str, Device]:
        """The newest list as kubelet has it, by id; waits for the first."""
        self.link()
        return self.session.kubelet.devices(self.resource)

    def ids(self, *, healthy: bool = True) -> list[str]:
        """Ids of that list, sorted; healthy ones only unless told otherwise."""
        return sorted(id for id, each in self.devices().items() if each.healthy or not healthy)
