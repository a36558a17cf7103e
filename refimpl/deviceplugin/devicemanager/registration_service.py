"""Where plugins come to be registered: by their own call, or found by the plugin watcher."""
# RPC methods keep the names of the protocol.
# ruff: noqa: N802

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from refimpl.deviceplugin import codec, names
from refimpl.deviceplugin.api import deviceplugin_pb2 as pb
from refimpl.deviceplugin.devicemanager.layout import Layout
from refimpl.deviceplugin.devicemanager.links import Links
from refimpl.deviceplugin.state.models import PluginOptions
from refimpl.deviceplugin.state.settings import Settings
from refimpl.wire.server import Call
from refimpl.wire.status import Refused

__all__ = ["REGISTRATIONS", "DevicePluginRegistration", "PluginHandler"]

REGISTRATIONS = "kubelet_device_plugin_registration_total"
"""The metric of Register; the resource stands in braces behind it."""


class DevicePluginRegistration:
    """The Registration service (2.1). `counts` has a number for each resource that asked."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        links: Links,
        *,
        counts: Counter[str],
        note: Callable[[str], object],
    ) -> None:
        self._folder, self._settings, self._links = folder, settings, links
        self._counts, self._note = counts, note

    def Register(self, request: pb.RegisterRequest, call: Call) -> pb.Empty:
        """Check, dial back, take the options, and only then answer; in kubelet's order."""
        resource = request.resource_name
        self._counts[f"{REGISTRATIONS}{{{resource}}}"] += 1
        try:
            names.check_registration(request.version, resource)
            socket = names.socket_path(str(self._folder), request.endpoint)
            if self._settings.dial_in_handler:
                with call.waiting():
                    self._links.register(resource, socket, deadline_s=call.deadline_s)
            else:
                self._later(resource, socket, codec.options(request.options))
        except Refused as refused:
            self._note(f"Register of {resource!r} at {request.endpoint!r} is refused: {refused}")
            raise
        return pb.Empty()

    def _later(self, resource: str, socket: str, options: PluginOptions) -> None:
        """Kubelet 1.24 and older: the plugin hears nothing of a dial that fails."""

        def dial() -> None:
            try:
                self._links.register(resource, socket, options=options)
            except Refused as refused:
                self._note(str(refused))

        threading.Thread(target=dial, name="refimpl-dial", daemon=True).start()


class PluginHandler:
    """What the plugin watcher does with sockets of type DevicePlugin; they are not counted.

    `seen_at`: where plugins see the folder of `layout`, if elsewhere."""

    def __init__(self, links: Links, layout: Layout, seen_at: str = "") -> None:
        self._links, self._layout, self._seen_at = links, layout, seen_at

    def validate(self, name: str, _endpoint: str, versions: Sequence[str]) -> None:
        """Raises Refused, as Register would."""
        names.check_versions(versions)
        names.check_resource(name)

    def register(self, name: str, endpoint: str, _versions: Sequence[str]) -> None:
        """Raises Refused."""
        self._links.register(name, self._layout.here(endpoint, self._seen_at))

    def deregister(self, name: str, endpoint: str) -> None:
        """Its socket is gone."""
        self._links.leave(name, self._layout.here(endpoint, self._seen_at))
