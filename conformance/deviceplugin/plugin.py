"""A device plugin under test with its kubelet: what a case asks, sees and does to both."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import grpc

from conformance.deviceplugin.plugins.controls import Conduct
from conformance.deviceplugin.plugins.session import Arrival
from conformance.deviceplugin.plugins.watch import Watch
from conformance.engine.process import Measures
from conformance.engine.verdict import Broken, eventually, stays
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.api import deviceplugin_pb2_grpc as stubs
from refimpl.deviceplugin.devicemanager.links import PluginLink
from refimpl.deviceplugin.kubelet import Device
from refimpl.wire.client import Channel, Unreachable
from refimpl.wire.endpoint import Endpoint, EndpointError
from refimpl.wire.journal import Entry
from refimpl.wire.status import Refused

if TYPE_CHECKING:
    from conformance.deviceplugin.plugins.target import PluginTarget

__all__ = ["Plugin"]

T = TypeVar("T")

REGISTER_S = 30.0
"""How long a plugin may take until it registers (DP-PLG-001)."""


class Plugin(Conduct):
    """What a case gets. Everything is about the judged resource where nothing else is said, and
    about the present life: from the last `fresh` on.

    What the case did to plugin and kubelet is undone after it, if need be by a new life; things it
    has opened (`watch`, `channel`) are closed.
    """

    def __init__(self, target: PluginTarget) -> None:
        super().__init__(target)
        self._channels: dict[str, Channel] = {}
        self._watches: list[Watch] = []

    # -- waiting --------------------------------------------------------------------------------

    def until(self, predicate: Callable[[], T], what: str, deadline_s: float = REGISTER_S) -> T:
        """Waits for a true answer and returns it; Broken(what) after the deadline (of our fake: a
        shorter one), or when the plugin has ended by itself."""
        limit_s = self.target.patience(deadline_s)
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
        notes = [f"kubelet: {note}" for note in self.kubelet.notes[-1:]]
        return "\n  ".join([f"the plugin: {self.process.fate()}", *notes])

    def soon(self, predicate: Callable[[], T], deadline_s: float = REGISTER_S) -> T:
        """Waits for a true answer as `until` does; the last answer if there is none."""
        with contextlib.suppress(Broken):
            return eventually(predicate, self.target.patience(deadline_s), "")
        return predicate()

    def stays(self, predicate: Callable[[], object], what: str, *, times: float = 1.0) -> None:
        """Watches for `quiet_s`, or that many `times` it, that it stays true; else Broken(what)."""
        stays(predicate, self.target.quiet_s * times, what, got=self._so_far)

    def at_rest(self) -> Measures | None:
        """What its process holds when nothing happens: the least that is seen within `quiet_s`."""
        seen: list[Measures] = []

        def measured() -> bool:
            seen.extend(filter(None, [self.process.measures()]))
            return bool(seen)

        with contextlib.suppress(Broken):
            stays(measured, self.target.quiet_s, "its process can be measured")
        fds, threads = ([getattr(each, name) for each in seen] for name in ("fds", "threads"))
        return Measures(min(fds), min(threads), seen[-1].rss) if seen else None

    # -- registration ---------------------------------------------------------------------------

    @property
    def resource(self) -> str:
        """The judged one: as the user chose, else the first that came."""
        return self.target.chosen.resource or self._first_resource()

    def _first_resource(self) -> str:
        rule = "the plugin registers a resource"
        return self.target.awaited(lambda: self.until(lambda: self.resources, rule))[0]

    @property
    def resources(self) -> list[str]:
        """All that came so far, in the order in which they came."""
        return self.life.resources

    def arrivals(self, resource: str = "") -> list[Arrival]:
        """The Register calls of a resource so far, answered or not, oldest first."""
        wanted = resource or self.resource
        return [each for each in self.life.arrivals if each.resource == wanted]

    def arrival(self, number: int = 1, deadline_s: float = REGISTER_S) -> Arrival:
        """The `number`th Register of the life, waited for."""
        what = "the plugin calls Register" + ("" if number == 1 else f" ({number} times)")
        self.until(lambda: len(self.arrivals()) >= number, what, deadline_s)
        return self.arrivals()[number - 1]

    def registrations(self) -> list[Entry]:
        """The Register calls that have ended, as the journal has them: `.requests[0]`, `.code`."""
        wanted = self.resource
        return [
            entry
            for entry in self.life.registrations()
            if getattr(entry.requests[0], "resource_name", None) == wanted
        ]

    def links(self) -> list[PluginLink]:
        """Kubelet's connections to the plugin, oldest first; those that are over have `.ended`."""
        return [link for link in self.life.links if link.connection.resource == self.resource]

    def living(self) -> list[PluginLink]:
        """Those of the running kubelet whose stream is open and has brought a list."""
        if not self.life.kubelet_runs:
            return []
        here = self.kubelet.links
        return [link for link in self.links() if link in here and link.lists and not link.ended]

    def link(
        self, after: PluginLink | None = None, what: str = "", deadline_s: float = REGISTER_S
    ) -> PluginLink:
        """The newest connection with a list, waited for; one that was made after `after`."""
        said = what or f"{self.resource} is registered and its first list has come"
        found = self.target.awaited(lambda: self.until(lambda: self.later(after), said, deadline_s))
        assert found is not None
        return found

    def later(self, after: PluginLink | None) -> PluginLink | None:
        """What `link` waits for, None if it is not there yet."""
        order, found = self.links(), self.living()
        if after in order:
            found = [link for link in found if order.index(link) > order.index(after)]
        return found[-1] if found else None

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

    # -- calls ----------------------------------------------------------------------------------

    @property
    def channel(self) -> Channel:
        """To `socket`, kept in the journal; also for methods and messages that no stub has."""
        return self.channel_to(self.socket)

    def channel_to(self, socket: Endpoint) -> Channel:
        """To a socket of the plugin."""
        if str(socket) not in self._channels:
            made = Channel(socket, journal=self.target.journal, deadline_s=10.0)
            self._channels[str(socket)] = made
            made.wait_ready(5.0)
        return self._channels[str(socket)]

    @property
    def stub(self) -> stubs.DevicePluginStub:
        """Calls over `channel`: plugin.stub.Allocate(request, timeout=10)."""
        return stubs.DevicePluginStub(cast("grpc.Channel", self.channel))

    def problem_at(self, socket: Callable[[], Endpoint], within_s: float) -> str:
        """Why GetDevicePluginOptions is not answered there within that time each for connecting
        and for the answer; empty if it is."""
        try:
            with Channel(socket(), journal=self.target.journal) as channel:
                channel.wait_ready(within_s)
                stub = stubs.DevicePluginStub(cast("grpc.Channel", channel))
                stub.GetDevicePluginOptions(pb.Empty(), timeout=within_s)
        except (Unreachable, Refused, EndpointError) as error:
            return str(error)
        return ""

    def options(self) -> pb.DevicePluginOptions:
        """Asks for them."""
        return self.stub.GetDevicePluginOptions(pb.Empty())

    def allocate(self, *containers: list[str]) -> pb.AllocateResponse:
        """Allocate with one container request for each list of ids."""
        request = pb.AllocateRequest()
        for ids in containers:
            request.container_requests.add(devices_ids=ids)
        return self.stub.Allocate(request, timeout=10.0)

    def watch(self, socket: Endpoint | None = None) -> Watch:
        """A ListAndWatch of the case's own, on a connection of its own; its first list has come."""
        channel = Channel(socket or self.socket, journal=self.target.journal)
        channel.wait_ready(5.0)
        made = Watch(channel)
        self._watches.append(made)
        self._channels[f"watch {len(self._watches)}"] = channel
        self.until(lambda: made.lists or made.ended, "ListAndWatch brings a list", 5.0)
        return made

    def glance(self) -> None:
        """A ListAndWatch that is cancelled after its first list."""
        watch = Watch(self.channel)
        self.until(lambda: watch.lists or watch.ended, "ListAndWatch brings a list", 5.0)
        watch.cancel()

    # -- devices --------------------------------------------------------------------------------

    def devices(self) -> Mapping[str, Device]:
        """The newest list as kubelet has it, by id; waits for the first."""
        self.link()
        return self.kubelet.devices(self.resource)

    def ids(self, *, healthy: bool = True) -> list[str]:
        """Ids of that list, sorted; healthy ones only unless told otherwise."""
        return sorted(id for id, each in self.devices().items() if each.healthy or not healthy)

    @property
    def numa_nodes(self) -> frozenset[int]:
        """The NUMA nodes there are."""
        return self.target.numa_nodes

    @property
    def cdi_dirs(self) -> list[Path]:
        """Where CDI files of the plugin may lie."""
        return self.target.cdi_dirs(self.life)

    def hook(self, name: str, id: str = "") -> None:
        """Has the user's command change the node (needs say whether there is one), or our fake:
        break_device, mend_device, add_device, remove_device, break_source, mend_source."""
        self.target.hook(name, id, self.process)

    def hook_if_any(self, name: str, id: str = "") -> None:
        """The same, where there is such a hook: to put a node in order again."""
        if self.target.hooked(name):
            self.hook(name, id)

    @contextlib.contextmanager
    def broken(self, id: str) -> Iterator[None]:
        """While inside, a device is unhealthy (BREAKABLE); mended afterwards (else: a new life)."""
        self.hook("break_device", id)
        try:
            yield
        finally:
            self.hook_if_any("mend_device", id)
            self.spoilt = self.spoilt or not self.target.hooked("mend_device")

    # -- the end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Closes what the case has opened."""
        for watch in self._watches:
            watch.cancel()
        for channel in self._channels.values():
            channel.close()
