"""A target of the device suites: a plugin, a kubelet or a client like it, or our fakes of both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from conformance.engine.interface import COMMAND
from conformance.engine.resolve import ResolvedTarget
from conformance.engine.revision import Revision
from conformance.engine.target import Loss, Record

if TYPE_CHECKING:
    from conformance.deviceplugin.bench import PluginTarget
    from conformance.kubelet.client import Client
    from conformance.kubelet.target import ClientTarget


class Side(Protocol):
    """One of the two who may be judged; see engine.target.Target."""

    name: str
    version: str
    revision: Revision

    @property
    def secrets(self) -> Collection[str]: ...
    def mark(self) -> int: ...
    def calls(self, mark: int) -> Sequence[Record]: ...
    def reproduce(self, call: Any) -> str: ...
    def lost(self) -> Loss | None: ...
    def close(self) -> None: ...


class DevicePluginTarget:
    """A plugin, a client, or our fakes of both."""

    interface = "deviceplugin"
    only_warns: Collection[str] = ()

    def __init__(
        self,
        plugin: Callable[[], PluginTarget] | None = None,
        client: Callable[[], ClientTarget] | None = None,
    ) -> None:
        self._open_plugin, self._open_client = plugin, client
        self._sides: list[Side] = []
        self._marks: list[dict[int, int]] = []
        self._both = plugin is not None and client is not None
        # Nothing runs before a case asks our own for it; what cannot be had is told here.
        _ = self.client_side if plugin is None else self.plugin_side

    @cached_property
    def plugin_side(self) -> PluginTarget:
        """The plugin under test with a kubelet around it."""
        assert self._open_plugin is not None
        side = self._open_plugin()
        self._sides.append(side)
        return side

    @cached_property
    def client_side(self) -> ClientTarget:
        """The client under test."""
        assert self._open_client is not None
        side = self._open_client()
        self._sides.append(side)
        return side

    @property
    def client(self) -> Client:
        """What needs of a client ask."""
        return self.client_side.client

    # What the engine asks

    @property
    def name(self) -> str:
        """See Target."""
        return "refimpl" if self._both else self._sides[0].name

    @property
    def version(self) -> str:
        """See Target."""
        return self._sides[0].version

    @property
    def revision(self) -> Revision:
        """See Target."""
        return self._sides[0].revision

    @property
    def secrets(self) -> Collection[str]:
        """See Target."""
        return [secret for side in self._sides for secret in side.secrets]

    def mark(self) -> int:
        """See Target."""
        self._marks.append({id(side): side.mark() for side in self._sides})
        return len(self._marks) - 1

    def calls(self, mark: int) -> list[Record]:
        """See Target."""
        marks = self._marks[mark]
        return [call for side in self._sides for call in side.calls(marks.get(id(side), 0))]

    def reproduce(self, call: Any) -> str:
        """See Target."""
        found = (side for side in self._sides if call in side.calls(0))
        return next(found, self._sides[-1]).reproduce(call)

    def lost(self) -> Loss | None:
        """See Target."""
        return next((loss for side in self._sides if (loss := side.lost())), None)

    def close(self) -> None:
        """See Target."""
        for side in self._sides:
            side.close()


def open_target(resolved: ResolvedTarget) -> DevicePluginTarget:
    """Opens a plugin, a client, or our fakes of both; raises BadOption, wire.client.Unreachable."""
    if resolved.side == "client":
        return DevicePluginTarget(client=lambda: _client(resolved))
    if resolved.ours:
        return DevicePluginTarget(lambda: _plugin(resolved), lambda: _our_client(resolved))
    return DevicePluginTarget(lambda: _plugin(resolved))


def _plugin(resolved: ResolvedTarget) -> PluginTarget:
    from conformance.deviceplugin.bench import open_plugin

    target = open_plugin(resolved)
    try:
        if not resolved.ours:
            target.introduce()
    except BaseException:
        target.close()
        raise
    return target


def _client(resolved: ResolvedTarget) -> ClientTarget:
    from conformance.kubelet import target

    if resolved.scheme == COMMAND:
        return target.open_command(resolved)
    return _our_client(resolved) if resolved.ours else target.open_socket(resolved)


def _our_client(resolved: ResolvedTarget) -> ClientTarget:
    """Our kubelet. The name in `fake:NAME` is its profile only where clients are judged."""
    from conformance.kubelet import target

    both = resolved.side != "client"
    named = "" if both and resolved.scheme == "fake" else resolved.address
    return target.open_fake(attrs.evolve(resolved, address=named))
