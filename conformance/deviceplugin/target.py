"""A target of the device suites: a plugin, a kubelet or a client like it, or our fakes of both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from conformance.deviceplugin.settings import DpSettings, settings
from conformance.engine.options import BadOption, Options
from conformance.engine.target import Loss, Record
from conformance.engine.targetfile import target_file

if TYPE_CHECKING:
    from conformance.deviceplugin.bench import PluginTarget
    from conformance.kubelet.client import Client
    from conformance.kubelet.target import ClientTarget

SIDES = ("", "client")
FAKES = ("fake", "mutant", "unbroken")
_CLIENT = ("DP-KUB-*", "PR-*", "REG-00?", "REG-01[!5]", "REG-02[!9]", "REG-03[!0]", "TM-*")
_SOCKET = ("PR-*",)
_PLUGIN = ("DP-PLG-*", "REG-015", "REG-029", "REG-030")


class Side(Protocol):
    """One of the two who may be judged; see engine.target.Target."""

    name: str
    version: str
    revision: str

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
    def revision(self) -> str:
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


def concerns(options: Options) -> tuple[str, ...]:
    """See engine.target.Interface."""
    if options.side == "client":
        return _SOCKET if _where(options) else _CLIENT
    kind = options.target.partition(":")[0]
    return (*_PLUGIN, *_CLIENT) if kind in FAKES and not options.command else _PLUGIN


def open_target(options: Options) -> DevicePluginTarget:
    """Opens what the options name; raises BadOption or wire.client.Unreachable."""
    file = target_file(options.target, "deviceplugin")
    chosen = settings(file.settings, options.settings)
    options.revision = options.revision or file.revision
    command = options.command or tuple(file.command)
    kind, _, name = (file.endpoint or options.target).partition(":")
    if options.side == "client":
        return DevicePluginTarget(client=_client(kind, name, command, options, chosen))
    if kind in FAKES and not command:
        client = _client(kind, "" if kind == "fake" else name, (), options, chosen)
        return DevicePluginTarget(_plugin(command, options, chosen), client)
    if not command:
        raise BadOption(
            f"{options.target}: a device plugin is judged as -- COMMAND, which is started with"
            " {dir}, the directory where it registers; or fake"
        )
    return DevicePluginTarget(_plugin(command, options, chosen))


def _plugin(
    command: Sequence[str], options: Options, chosen: DpSettings
) -> Callable[[], PluginTarget]:
    def opened() -> PluginTarget:
        from conformance.deviceplugin.bench import open_plugin

        options.command = tuple(command)
        target = open_plugin(options, chosen)
        try:
            if command:
                target.introduce()
        except BaseException:
            target.close()
            raise
        return target

    return opened


def _client(
    kind: str, name: str, command: Sequence[str], options: Options, chosen: DpSettings
) -> Callable[[], ClientTarget]:
    def opened() -> ClientTarget:
        from conformance.kubelet import target

        interface = DevicePluginTarget.interface
        if command:
            quiet_s = chosen.quiet_s
            return target.open_command(command, options, interface=interface, quiet_s=quiet_s)
        if kind in FAKES:
            return target.open_fake(kind, name, options, interface=interface)
        if where := _where(options):
            return target.open_socket(where, options, interface=interface)
        raise BadOption(
            f"{options.target}: a client is judged as -- COMMAND, such as kubelet --config"
            " {config}; or unix:///var/lib/kubelet/pod-resources/kubelet.sock; or fake"
        )

    return opened


def _where(options: Options) -> str:
    """The socket that the options name; empty where they name none."""
    from conformance.kubelet.socket import is_socket

    found = target_file(options.target, "deviceplugin").endpoint or options.target
    return found if is_socket(found) and not options.command else ""


def preload() -> None:
    """See engine.target.Interface."""
    from conformance.deviceplugin import bench
    from conformance.kubelet import ours  # noqa: F401

    _ = bench
