"""A whole device plugin: devices, service, sockets, registration."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, get_args

from google.protobuf.descriptor import ServiceDescriptor

from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.devicemanager.layout import KUBELET_SOCKET, Layout
from refimpl.deviceplugin.plugin.cdi import write_cdi
from refimpl.deviceplugin.plugin.control_routes import control_routes
from refimpl.deviceplugin.plugin.inventory import HEALTHY, UNHEALTHY, Device, Inventory
from refimpl.deviceplugin.plugin.personas import Persona, devices_of, persona_of
from refimpl.deviceplugin.plugin.push import VERSION, Push
from refimpl.deviceplugin.plugin.registrar import Launch, Pace, Registrar
from refimpl.deviceplugin.plugin.serving import AllocationLog, DevicePluginService, options_of
from refimpl.registration.plugin import RegistrationService
from refimpl.wire.control import Control, Route
from refimpl.wire.endpoint import Endpoint
from refimpl.wire.faults import Faults
from refimpl.wire.instruments import Instruments, Where
from refimpl.wire.journal import Journal
from refimpl.wire.server import Server

__all__ = ["Device", "FakePlugin", "Pace", "Register"]

Register = Literal["push", "pull", "both"]

_SERVICE = pb.DESCRIPTOR.services_by_name["DevicePlugin"]
_STEM = 40  # characters of the resource in a socket's name: most of 107 bytes is the folder's
_STREAMS = 64  # several kubelets and onlookers at a time


class FakePlugin:
    """A plugin of `resource` with `devices` (a number, ids, or `Device`s) in a persona's manner.

    `folder` is kubelet's (/var/lib/kubelet, say), or the `device-plugins` in it; `registry` is
    plugins_registry where that lies elsewhere. It serves first and then registers, by push, pull
    or both (at two sockets), and again whenever kubelet has forgotten it.
    `cdi_dir` gets a CDI file of the devices. Raises ValueError for choices that do not exist.
    """

    def __init__(
        self,
        resource: str,
        devices: int | Iterable[Device | str] | None = None,
        *,
        folder: str | os.PathLike[str],
        persona: str | Persona = "healthy",
        register: Register = "push",
        registry: str | os.PathLike[str] | None = None,
        cdi_dir: str | os.PathLike[str] | None = None,
        version: str = VERSION,
        pace: Pace | None = None,
        faults: Faults | None = None,
        journal: Journal | Path | str | None = None,
        control: Where | None = None,
    ) -> None:
        self._instruments = Instruments(faults=faults, journal=journal, control=control)
        self.faults, self.journal = self._instruments.faults, self._instruments.journal
        if register not in get_args(Register):
            raise ValueError(f"register={register!r}: it is {', '.join(get_args(Register))}")
        self.resource, self.version = resource, version
        self.persona = persona_of(persona) if isinstance(persona, str) else persona
        self.inventory = Inventory(devices_of(self.persona, resource, devices))
        self.record = AllocationLog()
        layout = Layout(Path(folder).absolute())
        if layout.root.name == layout.plugins.name:
            layout = Layout(layout.root.parent)
        self._folders = layout.plugins, Path(registry or layout.registry).absolute()
        self._register, self._pace = register, pace
        self._cdi_dir = None if cdi_dir is None else Path(cdi_dir)
        self._cdi_file: Path | None = None
        self._registrars: list[Registrar] = []
        self._ended = threading.Event()

    @property
    def endpoint(self) -> Endpoint:
        """Where it serves (of both: for push); another socket after each registration.

        RuntimeError before it is started.
        """
        if not self._registrars:
            raise RuntimeError("FakePlugin has no endpoint before it is started")
        return self._registrars[0].endpoint

    @property
    def endpoints(self) -> list[Endpoint]:
        """Where it serves: one for each way to register."""
        return [registrar.endpoint for registrar in self._registrars]

    @property
    def registered(self) -> bool:
        """Whether kubelet has taken it in, in every way it is to register."""
        return bool(self._registrars) and all(each.registered for each in self._registrars)

    @property
    def registrations(self) -> int:
        """How often kubelet has taken it in since the start, in all ways together."""
        return sum(registrar.registrations for registrar in self._registrars)

    @property
    def problem(self) -> str:
        """Why it is not registered; empty if it is."""
        return "; ".join(each.problem for each in self._registrars if not each.registered)

    def registration(self) -> dict[str, Any]:
        """What GET /registration answers."""
        return {
            "registered": self.registered,
            "registrations": self.registrations,
            "problem": self.problem,
        }

    def wait_registered(self, registrations: int = 1, timeout_s: float = 30.0) -> bool:
        """Waits until it is, and was so often in each way; False if not in time."""
        return all(each.wait_registered(registrations, timeout_s) for each in self._registrars)

    # -- its devices ----------------------------------------------------------------------------

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices, in the order they were added."""
        return self.inventory.devices

    def set_health(self, id: str, health: str) -> None:
        """Tells every stream another health of a device, in any word. Raises LookupError."""
        self.inventory.set_health(id, health)

    def add(self, device: Device | str) -> None:
        """Adds a device, to the CDI file first. ValueError for an id that is taken or empty."""
        added = Device(device) if isinstance(device, str) else device
        self._write_cdi(added.id)
        self.inventory.add(added)

    def remove(self, id: str) -> None:
        """Takes a device away; while an Allocate is being answered it stays, as unhealthy. Raises
        LookupError."""
        self.inventory.remove(id)

    # -- its life -------------------------------------------------------------------------------

    @property
    def control(self) -> Control | None:
        """The control socket, while there is one."""
        return self._instruments.control

    def routes(self) -> Mapping[str, Route]:
        """What its control socket answers besides journal and faults, by method and path."""
        return control_routes(self)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def register_again(self) -> None:
        """Registers anew at another socket, as after a restart."""
        for registrar in self._registrars:
            registrar.again()

    def start(self) -> Endpoint:
        """Serves, and registers in the background, whether a kubelet is there or not.

        Raises EndpointError where a socket cannot be, FaultError, RuntimeError if it runs already.
        """
        if self._registrars:
            raise RuntimeError(f"FakePlugin serves at {self.endpoint} already: stop it")
        self._instruments.check(self.services())
        self._registrars = [self._registrar(way) for way in ("push", "pull") if self._goes(way)]
        try:
            self._instruments.open_journal()
            self._ended.clear()
            self._write_cdi()
            for registrar in self._registrars:
                registrar.start()
            self._instruments.start_control(self.routes())
        except BaseException:
            self.stop()
            raise
        if self.persona.flap_s:
            threading.Thread(target=self._flap, name="refimpl-flap", daemon=True).start()
        return self.endpoint

    def stop(self, grace_s: float = 1.0) -> None:
        """Ends its streams, removes its own sockets and its CDI file. May be called twice."""
        self._ended.set()
        registrars, self._registrars = self._registrars, []
        for registrar in registrars:
            registrar.stop(grace_s)
        written, self._cdi_file = self._cdi_file, None
        if written is not None:
            written.unlink(missing_ok=True)
        self._instruments.close()

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """All that any of its sockets serves."""
        registration = RegistrationService("DevicePlugin", self.resource)
        return {_SERVICE: self._service(), **registration.services()}

    def _goes(self, way: str) -> bool:
        return self._register in (way, "both")

    def _registrar(self, way: str) -> Registrar:
        stem = re.sub("[^A-Za-z0-9.-]", "-", self.resource)[:_STEM]
        plugins, registry = self._folders
        if way == "pull":
            service = RegistrationService(
                *("DevicePlugin", self.resource, "", (self.version,)),
                on_status=lambda status: pulled.notified(status.registered, status.error),
            )
            pulled = Registrar(
                registry, stem, lambda launch: self._server_of(launch, service), pace=self._pace
            )
            return pulled
        return Registrar(
            plugins,
            stem,
            self._server_of,
            push=Push(
                *(plugins, self.resource, options_of(self.persona)),
                version=self.version,
                journal=self.journal,
            ),
            sign=KUBELET_SOCKET,
            pace=self._pace,
        )

    def _server_of(self, launch: Launch, registration: RegistrationService | None = None) -> Server:
        more = registration.services() if registration else {}
        return Server(
            {_SERVICE: self._service(launch), **more},
            journal=self.journal,
            faults=self.faults,
            stream_threads=_STREAMS,
        )

    def _service(self, launch: Launch | None = None) -> DevicePluginService:
        known = launch or Launch(lambda: None)
        return DevicePluginService(
            *(self.resource, self.persona, self.inventory, self.record),
            point=self.faults.point,
            streaming=known.streaming,
            died=known.died,
        )

    def _write_cdi(self, *more: str) -> None:
        if self._cdi_dir is not None and self._registrars:
            ids = list(dict.fromkeys([*(device.id for device in self.devices), *more]))
            if ids:  # a CDI file has a device at least
                self._cdi_file = write_cdi(self.resource, ids, self._cdi_dir)

    def _flap(self) -> None:
        health = UNHEALTHY
        while not self._ended.wait(self.persona.flap_s):
            for device in self.devices[:1]:
                self.set_health(device.id, health)
            health = HEALTHY if health == UNHEALTHY else UNHEALTHY
