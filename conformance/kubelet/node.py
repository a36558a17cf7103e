"""What a case about a kubelet works with: plugins and pods of its own on the node under test."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import TypeVar, cast

import grpc

from conformance.engine.verdict import Broken, eventually, expect, timeout
from conformance.kubelet.client import Choices, Client
from conformance.kubelet.pods import ContainerSpec, PodSpec, PodState
from refimpl.deviceplugin.api import deviceplugin_pb2 as dp
from refimpl.deviceplugin.api import podresources_v1_pb2 as pr
from refimpl.deviceplugin.api.podresources_v1_pb2_grpc import PodResourcesListerStub
from refimpl.deviceplugin.api.podresources_v1alpha1_pb2_grpc import (
    PodResourcesListerStub as AlphaStub,
)
from refimpl.deviceplugin.scripted import ScriptedPlugin
from refimpl.wire.client import Channel
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.journal import Journal
from refimpl.wire.status import Code, Refused

__all__ = ["Node"]

T = TypeVar("T")

DEADLINE_S = 20.0
"""For what a client does by itself; it returns as soon as it is done."""


class Node:
    """The node under test for one case. What the case makes is taken away after it."""

    def __init__(self, client: Client, journal: Journal, *, name: str, quiet_s: float) -> None:
        self.client, self.journal = client, journal
        self.quiet_s = quiet_s
        self._name = name
        self._numbers = itertools.count(1)
        self._plugins: list[ScriptedPlugin] = []
        self._pods: list[PodSpec] = []
        self._channels: list[Channel] = []
        self._made: list[Path] = []
        self.spoilt = False

    # -- places ---------------------------------------------------------------------------------

    @property
    def plugins(self) -> Path:
        """The device-plugins directory."""
        return self.client.folder / "device-plugins"

    @property
    def registry(self) -> Path:
        """The plugins_registry directory."""
        return self.client.folder / "plugins_registry"

    def resource(self, stem: str = "dev") -> str:
        """The name of a resource that no other case uses."""
        return f"{self._name}-{next(self._numbers)}.example.com/{stem}"

    # -- plugins --------------------------------------------------------------------------------

    def plugin(
        self, resource: str = "", *, socket: str = "", found: bool = False, main: str = ""
    ) -> ScriptedPlugin:
        """A plugin that does not serve yet. `found`: its socket lies in plugins_registry, where the
        client finds it; else it has to register."""
        name = socket or f"{self._name}-{next(self._numbers)}.sock"
        folder = self.registry if found else self.plugins
        path = folder / name
        made = ScriptedPlugin(path, resource or self.resource(), main=main, journal=self.journal)
        self._plugins.append(made)
        return made

    def join(self, plugin: ScriptedPlugin, *devices: str | dp.Device) -> ScriptedPlugin:
        """Has it serve, register and list these devices, and waits until they have arrived."""
        plugin.serve()
        plugin.send(*devices)
        if plugin.path.parent == self.plugins:
            plugin.register(self.plugins)
        healthy = {d if isinstance(d, str) else d.ID for d in devices if _healthy(d)}
        self.until(
            lambda: self.allocatable(plugin.resource) == healthy,
            f"the client takes in the list of {plugin.resource}",
        )
        return plugin

    def joined(self, *devices: str | dp.Device) -> ScriptedPlugin:
        """A new plugin of a new resource that has joined; devices a and b unless others are
        named."""
        return self.join(self.plugin(), *(devices or ("a", "b")))

    def allocatable(self, resource: str) -> set[str]:
        """Its healthy devices as the client tells them (GetAllocatableResources, else counts)."""
        if "pod-resources" not in self.client.able:
            count = self.client.node().allocatable.get(resource, 0)
            return {f"({count})"}
        asked = pr.AllocatableResourcesRequest()
        reply = self.patiently(lambda: self.resources().GetAllocatableResources(asked))
        return {i for d in reply.devices if d.resource_name == resource for i in d.device_ids}

    def counts(self, resource: str) -> tuple[int, int] | None:
        """Capacity and allocatable in the node's status; None where it has no such resource."""
        found = self.client.node()
        if resource not in found.capacity:
            return None
        return found.capacity[resource], found.allocatable.get(resource, 0)

    # -- pods -----------------------------------------------------------------------------------

    def pod(
        self,
        limits: Mapping[str, int] | None = None,
        *,
        app: tuple[ContainerSpec, ...] = (),
        init: tuple[ContainerSpec, ...] = (),
        restart: str = "Always",
        pod_level: bool = False,
    ) -> PodSpec:
        """A pod bound to the node, with one container `main` of these limits or with those given;
        returns at once."""
        number = next(self._numbers)
        made = PodSpec(
            name=f"{self._name}-{number}",
            uid=f"{self._name}-uid-{number}",
            app=app or (ContainerSpec(limits=limits or {}),),
            init=init,
            restart=restart,  # type: ignore[arg-type]
            pod_level=pod_level,
        )
        self._pods.append(made)
        self.client.run(made)
        return made

    def state(self, pod: PodSpec) -> PodState:
        """What the client says of the pod, an empty state before it says anything."""
        return self.client.state(pod.uid) or PodState()

    def settled(self, pod: PodSpec) -> PodState:
        """Waits until the pod runs, has ended, or a container of it waits for a reason."""
        found = self.until(lambda: _settled(self.state(pod)), f"pod {pod.name} gets somewhere")
        assert found is not None
        return found

    def running(
        self, pod: PodSpec | None = None, limits: Mapping[str, int] | None = None
    ) -> PodSpec:
        """Waits until the pod, or a new one of these limits, runs; raises Broken."""
        found = pod or self.pod(limits)
        state = self.settled(found)
        runs = all(each.state != "waiting" for each in state.containers.values())
        expect(
            state.phase == "Running" and runs,
            "a pod whose devices can be had runs",
            wanted="phase Running",
            got=f"{state.phase} {state.reason} {state.message} {_waiting(state)}",
        )
        return found

    def refused(self, pod: PodSpec, reason: str = "UnexpectedAdmissionError") -> PodState:
        """Waits until the pod has been refused for that reason; raises Broken."""
        state = self.settled(pod)
        expect(
            state.phase == "Failed" and state.reason == reason,
            "the pod is refused",
            wanted=f"phase Failed, reason {reason}",
            got=f"phase {state.phase}, reason {state.reason or 'none'} {state.message}",
        )
        return state

    def delete(self, pod: PodSpec) -> None:
        """Deletes it and waits until it is gone."""
        self._pods.remove(pod)
        self.client.delete(pod.uid)

    def assigned(self, pod: PodSpec, resource: str, container: str = "main") -> set[str]:
        """Its devices as pod resources lists them."""
        return {
            id
            for each in self.listed()
            if (each.name, each.namespace) == (pod.name, pod.namespace)
            for found in each.containers
            if found.name == container
            for device in found.devices
            if device.resource_name == resource
            for id in device.device_ids
        }

    # -- pod resources --------------------------------------------------------------------------

    @property
    def pod_resources(self) -> Endpoint:
        """Where pod resources are served."""
        return Endpoint.parse(self.client.folder / "pod-resources" / "kubelet.sock")

    def channel(self) -> Channel:
        """A connection of the case's own to pod resources."""
        made = Channel(self.pod_resources, journal=self.journal, deadline_s=timeout(DEADLINE_S))
        self._channels.append(made)
        return made

    def resources(self) -> PodResourcesListerStub:
        """The v1 service; calls in quick succession may be refused, see `patiently`."""
        return PodResourcesListerStub(cast("grpc.Channel", self._lasting()))

    def alpha(self) -> AlphaStub:
        """The v1alpha1 service."""
        return AlphaStub(cast("grpc.Channel", self._lasting()))

    def listed(self) -> list[pr.PodResources]:
        """What List says."""
        asked = pr.ListPodResourcesRequest()
        reply = self.patiently(lambda: self.resources().List(asked))
        return list(reply.pod_resources)

    def patiently(self, call: Callable[[], T]) -> T:
        """A call that is made again when it was one too many, or kubelet is just starting."""
        end = time.monotonic() + timeout(DEADLINE_S)
        while True:
            try:
                return call()
            except Refused as refused:
                passing = refused.code in (Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE)
                if not passing or time.monotonic() > end or not self.client.running():
                    raise
                Event().wait(0.02)

    def _lasting(self) -> Channel:
        return self._channels[0] if self._channels else self.channel()

    # -- waiting --------------------------------------------------------------------------------

    def until(self, predicate: Callable[[], T], what: str, deadline_s: float = DEADLINE_S) -> T:
        """Waits until it is true; raises Broken, at once where the client has died."""

        def alive() -> T:
            found = predicate()
            if not found and (fate := self.client.fate()):
                raise Broken(what, "a client that lives", f"it ended: {fate}")
            return found

        return eventually(alive, deadline_s, what)

    def stays(self, predicate: Callable[[], object], what: str, wanted: object) -> None:
        """Watches for a while that something remains true; raises Broken when it is not."""
        end = time.monotonic() + self.quiet_s
        while time.monotonic() < end:
            expect(predicate(), what, wanted=wanted, got="it changed")
            Event().wait(min(0.05, self.quiet_s / 4))

    # -- the client's life ----------------------------------------------------------------------

    def restart(self, *, kill: bool = True, choices: Choices | None = None) -> None:
        """Ends the client, as by a crash unless told otherwise, and starts it again."""
        self.client.end(kill=kill)
        self.start(choices)

    def start(self, choices: Choices | None = None) -> None:
        """Starts it, perhaps with other choices, which are taken back after the case."""
        if choices is not None:
            self.spoilt = True
        self.client.start(choices)

    def spoil(self) -> None:
        """The case leaves the client in a state that others could stumble over: it is started anew
        on an empty folder afterwards."""
        self.spoilt = True

    def clean_up(self) -> None:
        """Takes away what the case made."""
        for plugin in self._plugins:
            plugin.stop()
            if plugin.path.is_socket():
                plugin.path.unlink(missing_ok=True)
        for pod in self._pods:
            self.client.forget(pod.uid)
        for channel in self._channels:
            channel.close()


def _healthy(device: str | dp.Device) -> bool:
    return isinstance(device, str) or device.health == "Healthy"


def _settled(state: PodState) -> PodState | None:
    if state.phase in ("Failed", "Succeeded"):
        return state
    found = state.containers.values()
    if any(each.state == "waiting" and each.reason not in _BUSY for each in found):
        return state
    runs = state.phase == "Running" and all(each.state != "waiting" for each in found)
    return state if runs else None


_BUSY = ("", "ContainerCreating", "PodInitializing")


def _waiting(state: PodState) -> str:
    return "; ".join(
        f"{each.name}: {each.reason} {each.message}"
        for each in state.containers.values()
        if each.state == "waiting"
    )
