"""The plugin's side of registration: who it is, and what kubelet said about it."""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from attrs import frozen
from google.protobuf.descriptor import ServiceDescriptor

from refimpl.registration.api import registration_pb2 as pb
from refimpl.wire.server import Call

__all__ = ["Notified", "RegistrationService"]

_SERVICE = pb.DESCRIPTOR.services_by_name["Registration"]


@frozen
class Notified:
    """What NotifyRegistrationStatus said: whether it was registered, and why not."""

    registered: bool
    error: str = ""


class RegistrationService:
    """pluginregistration v1 for a `wire.Server` whose socket lies in plugins_registry.

    `type` is CSIPlugin, DRAPlugin or DevicePlugin; `name` the driver's or the resource's;
    `endpoint` the path of the main service's socket, empty for the same socket; `versions` what
    kubelet chooses from. `on_status` is called with every notification, from the call's thread.
    """

    def __init__(
        self,
        type: str,
        name: str,
        endpoint: str = "",
        versions: Iterable[str] = (),
        *,
        on_status: Callable[[Notified], object] | None = None,
    ) -> None:
        self.type, self.name, self.endpoint = type, name, endpoint
        self.versions = tuple(versions)
        self._on_status = on_status
        self._changed = threading.Condition()
        self._notified: list[Notified] = []

    @property
    def notified(self) -> tuple[Notified, ...]:
        """All notifications, oldest first."""
        with self._changed:
            return tuple(self._notified)

    @property
    def registered(self) -> bool:
        """Whether the newest notification was a success."""
        return bool(self.notified) and self.notified[-1].registered

    def services(self) -> Mapping[ServiceDescriptor, object]:
        """What to give to a `wire.Server`, alone or beside the main service."""
        return {_SERVICE: self}

    def wait_notified(self, count: int = 1, timeout_s: float = 30.0) -> bool:
        """Waits for the `count`th notification; False if it does not come in time."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._notified) >= count, timeout_s)

    def GetInfo(self, _request: pb.InfoRequest, _call: Call) -> pb.PluginInfo:
        """The same answer each time."""
        return pb.PluginInfo(
            type=self.type,
            name=self.name,
            endpoint=self.endpoint,
            supported_versions=self.versions,
        )

    def NotifyRegistrationStatus(
        self, request: pb.RegistrationStatus, _call: Call
    ) -> pb.RegistrationStatusResponse:
        """Keeps what it is told."""
        notified = Notified(request.plugin_registered, request.error)
        with self._changed:
            self._notified.append(notified)
            self._changed.notify_all()
        if self._on_status is not None:
            self._on_status(notified)
        return pb.RegistrationStatusResponse()
