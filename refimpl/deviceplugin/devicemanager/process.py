"""One kubelet from its start to its end: state, sockets, connections, checkpoint put together."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.devicemanager import checkpoint_file, podresources, podsapi
from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.deviceplugin.devicemanager.links import Links
from refimpl.deviceplugin.devicemanager.listener import SocketListener
from refimpl.deviceplugin.devicemanager.node import NodeRecord
from refimpl.deviceplugin.devicemanager.registration_service import (
    DevicePluginRegistration,
    PluginHandler,
)
from refimpl.deviceplugin.devicemanager.setup import Setup
from refimpl.deviceplugin.state import DeviceState, effects
from refimpl.deviceplugin.state.capacity import Capacity
from refimpl.deviceplugin.state.checkpoint import Saved, Unreadable
from refimpl.deviceplugin.state.models import Pod
from refimpl.deviceplugin.state.tables import Tables
from refimpl.registration.watcher import PluginWatcher
from refimpl.wire.endpoint import Endpoint, EndpointError, probe
from refimpl.wire.server import Server

__all__ = ["KubeletProcess"]

LISTEN_AGAIN_S = 1.0
"""Between two attempts to listen anew, where a profile makes them."""

_REGISTRATION = pb.DESCRIPTOR.services_by_name["Registration"]


class KubeletProcess:
    """A kubelet process over a folder; begins with `begin` and ends with `end`."""

    def __init__(self, layout: Layout, setup: Setup, node: NodeRecord) -> None:
        self.layout, self.setup, self.node = layout, setup, node
        self.state = DeviceState(
            setup.settings,
            clock=setup.clock,
            policy=setup.policy,
            scope=setup.scope,
            wishes=setup.wishes,
            order=setup.order,
            note=node.note,
        )
        self.state.node = node.status
        self.links = Links(
            self.state,
            journal=node.journal,
            patience_s=setup.patience_s,
            clock=setup.clock,
            listed=self._listed,
            note=node.note,
            changed=node.touch,
        )
        self.watcher = PluginWatcher(
            layout.registry,
            {**setup.handlers, "DevicePlugin": PluginHandler(self.links, layout, setup.seen_at)},
            clock=setup.clock,
            journal=node.journal,
        )
        self.listeners: list[SocketListener] = []
        self.healthy = True
        self._flows = threading.Lock()
        self._checkpoint: checkpoint_file.CheckpointFile | None = None
        self._stack = contextlib.ExitStack()
        self._ended = threading.Event()

    # -- life -----------------------------------------------------------------------------------

    def begin(self, *, unlink: bool = True, gap_s: float = 0.0, accepting: bool = True) -> None:
        """Read the checkpoint, clean the folder, serve. `gap_s` passes between the last two.

        Raises EndpointError; nothing is left open then.
        """
        try:
            self.layout.make(pods_api=self._serves_pods)
            self._restore()
            with self._stack_on_failure():
                self._checkpoint = checkpoint_file.CheckpointFile(
                    self.layout.checkpoint, self._saved, self.node.note
                )
                self._stack.callback(self._checkpoint.close)
                self._stack.callback(self.links.close)
                self._open(unlink, gap_s, accepting)
        finally:
            self.node.touch()

    def services(self) -> tuple[Mapping[ServiceDescriptor, object], ...]:
        """What each socket serves: registration, pod resources, and where its gate is on the pods
        of the node."""
        plugins, settings = self.layout.plugins, self.setup.settings
        registration = DevicePluginRegistration(
            plugins, settings, self.links, counts=self.node.counts, note=self.node.note
        )
        limiter = podresources.Limiter()
        resources = podresources.services(self, limiter, self.node.counts)
        if not self._serves_pods:
            return {_REGISTRATION: registration}, resources
        limiter = podresources.Limiter()
        pods = podsapi.services(self.node, limiter, lambda: self.tables.sources_ready)
        return {_REGISTRATION: registration}, resources, pods

    def end(self) -> None:
        """End as a process does: streams break off, files and sockets stay. Nobody is told."""
        self._ended.set()
        self._stack.close()
        self.node.touch()

    @property
    def _serves_pods(self) -> bool:
        return podsapi.GATE in self.setup.settings.gates

    @property
    def ended(self) -> bool:
        """Whether `end` was called."""
        return self._ended.is_set()

    def pause(self) -> None:
        """As by SIGSTOP: sockets stay open, nothing is answered, read or noticed."""
        for listener in self.listeners:
            listener.pause()
        self.links.pause()

    def deafen(self) -> None:
        """The listening socket where plugins register breaks, as by an error of accept."""
        self.listeners[0].deafen()
        # A listener written in Go takes its socket with it.
        Path(self.layout.socket.path).unlink(missing_ok=True)
        if self.setup.settings.listens_again:
            threading.Thread(
                target=self._listen_again, name="refimpl-listen-again", daemon=True
            ).start()
        else:
            self.healthy = False

    def _listen_again(self) -> None:
        while not self._ended.wait(LISTEN_AGAIN_S):
            with contextlib.suppress(EndpointError):
                self.listeners[0].open()
                if self._ended.is_set():  # meanwhile
                    self.listeners[0].close()
                return

    def resume(self) -> None:
        """Go on, or begin to accept."""
        for listener in self.listeners:
            listener.resume()
        self.links.resume()

    @contextlib.contextmanager
    def _stack_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._stack.close()
            raise

    def _open(self, unlink: bool, gap_s: float, accepting: bool) -> None:
        socket, resources = self.layout.socket, self.layout.pod_resources
        private = Path(tempfile.mkdtemp(prefix="refimpl-"))
        self._stack.callback(shutil.rmtree, private, ignore_errors=True)
        if unlink:
            self._check_free(socket)
            self.layout.unlink_sockets()
        self._ended.wait(gap_s)
        if self.setup.settings.deprecation_file:
            self.layout.announce_deprecation()
        fronts = (socket, resources, self.layout.pods_api)
        for front, services, name in zip(fronts, self.services(), "rpn", strict=False):
            self._serve(front, services, Endpoint.parse(private / name), accepting)
        self.watcher.start()
        self._stack.callback(self.watcher.stop)

    def _check_free(self, socket: Endpoint) -> None:
        """A real kubelet asks nobody. This one may have been pointed at a real one's folder."""
        if probe(socket) == "live":
            raise EndpointError(
                f"a kubelet serves at {socket} already; its sockets are not removed: stop it, or"
                " use another folder"
            )

    def _serve(
        self,
        front: Endpoint,
        services: Mapping[ServiceDescriptor, object],
        back: Endpoint,
        accepting: bool,
    ) -> None:
        server = Server(services, journal=self.node.journal, faults=self.node.faults)
        server.start(back)
        self._stack.callback(server.stop, 0)
        listener = SocketListener(front, back)
        self._stack.callback(listener.close)
        listener.open(accepting=accepting)
        self.listeners.append(listener)

    # -- checkpoint -----------------------------------------------------------------------------

    def _restore(self) -> None:
        saved: Saved | None
        try:
            # Current kubelets do not read the form before 1.20 either.
            saved = checkpoint_file.read(self.layout.checkpoint, flat_ids=False)
        except Unreadable as error:
            self.node.note(f"the checkpoint {self.layout.checkpoint} is not used: {error}")
            saved = Saved()
        if saved is None:
            self.node.status.zero()
        running = self.node.workload.running()
        self.state.restore(saved or Saved(), running=running, boot_id=self.node.boot_id)

    def _saved(self) -> Saved:
        keeps_boot = self.setup.settings.trusts_checkpoint
        return self.state.saved(self.node.boot_id if keeps_boot else "")

    def save(self) -> None:
        """Write the checkpoint now. Raises OSError."""
        if self._checkpoint is not None:
            self._checkpoint.write()

    def _listed(self, pods: Sequence[str]) -> None:
        with self.node.changed:
            self.node.refreshed += pods
            del self.node.refreshed[:-10_000]
        if self._checkpoint is not None:
            self._checkpoint.soon()

    # -- what pod resources looks at ------------------------------------------------------------

    @property
    def tables(self) -> Tables:
        """Devices and records."""
        return self.state.tables

    @property
    def others(self) -> podresources.Others:
        """What other managers add."""
        return self.node.others

    def pods(self, *, active: bool) -> Iterable[Pod]:
        """Pods of the node."""
        return self.node.workload.pods(active=active)

    # -- flows ----------------------------------------------------------------------------------

    def run(self, flow: effects.Flow[effects.T]) -> effects.T:
        """Drive a flow of the state with real calls: one after another, as kubelet admits."""
        with self._flows:
            return self.state.run(flow, self._perform)

    def count(self) -> Capacity:
        """The node's status, renewed; saves if that dropped a resource."""
        if self.state.count().removed and self._checkpoint is not None:
            self._checkpoint.soon()
        with self.tables.lock:
            status = self.node.status
            return Capacity(dict(status.capacity), dict(status.allocatable))

    def _perform(self, effect: effects.Effect) -> object:
        match effect:
            case effects.GetPreferredAllocation():
                return self.links.preferred(effect)
            case effects.Allocate():
                return self.links.allocate(effect)
            case effects.PreStartContainer():
                self._pre_start(effect)
            case effects.WriteCheckpoint():
                self.save()
        return None

    def _pre_start(self, effect: effects.PreStartContainer) -> None:
        # Containers start side by side: the 30 s of one plugin do not hold up admission.
        self._flows.release()
        try:
            self.links.pre_start(effect)
        finally:
            self._flows.acquire()
