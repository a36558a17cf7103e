"""What a plugin under test offers, as its lists and answers show it, and needs of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from conformance.deviceplugin.plugins.process import illusory
from conformance.engine.verdict import Broken
from refimpl.deviceplugin.profiles import settings_of
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

if TYPE_CHECKING:
    from conformance.deviceplugin.plugin import Plugin
    from conformance.deviceplugin.plugins.target import PluginTarget
    from refimpl.deviceplugin.api import deviceplugin_pb2 as pb

__all__ = [
    "DEEP_FOLDER",
    "FOUND",
    "GIVES_ANNOTATIONS",
    "GIVES_CDI",
    "GIVES_DEVICES",
    "GIVES_ENVS",
    "GIVES_MOUNTS",
    "ONE_DEVICE",
    "SEVERAL_ENDPOINTS",
    "SEVERAL_RESOURCES",
    "TWO_DEVICES",
    "UNHEALTHY",
    "Offers",
    "registry_sockets",
    "unhealthy",
]


T = TypeVar("T")


class Offers:
    """Looks at the plugin when it is first asked; None where it does not answer: of one that
    cannot be asked the case tells more."""

    def __init__(self, target: PluginTarget) -> None:
        self._target = target
        self._known: dict[str, Any] = {}

    def healthy(self) -> int | None:
        """How many healthy devices it has."""
        return self._once("healthy", lambda plugin: len(plugin.ids()))

    def unhealthy(self) -> bool | None:
        """Whether one of its devices is unhealthy already."""
        return self._once("unhealthy", lambda plugin: bool(_unhealthy(plugin)))

    def gifts(self) -> Sequence[str] | None:
        """What its answers for single devices have: names of fields."""
        return self._once("gifts", lambda plugin: sorted(_gifts(plugin)))

    def resources(self) -> Sequence[str] | None:
        """What it registers within a while."""
        return self._once("resources", _resources)

    def found(self) -> bool | None:
        """Whether it has a socket in plugins_registry."""
        return self._once("found", lambda plugin: bool(registry_sockets(plugin)))

    def hidden(self) -> bool:
        """Whether it finds its folder at the real kubelet's path, whatever ours is called."""
        command = self._target.resolved.command
        return bool(command) and illusory(command, self._target.chosen)

    def _once(self, what: str, look: Callable[[Plugin], T]) -> T | None:
        if what not in self._known:
            plugin = self._target.plugin()
            with contextlib.suppress(Broken, Refused, Unreachable):
                plugin.link()
                self._known[what] = look(plugin)
            plugin.close()
        found: T | None = self._known.get(what)
        return found


def _unhealthy(plugin: Plugin) -> list[str]:
    return sorted(set(plugin.ids(healthy=False)) - set(plugin.ids()))


def _gifts(plugin: Plugin) -> set[str]:
    answers: list[pb.ContainerAllocateResponse] = []
    for id in plugin.ids()[:8]:
        answers += plugin.allocate([id]).container_responses
    return {field.name for answer in answers for field, _ in answer.ListFields()}


def _resources(plugin: Plugin) -> list[str]:
    with contextlib.suppress(Broken):
        plugin.stays(lambda: len(plugin.resources) < 2, "a second resource comes")
    return plugin.resources


def registry_sockets(plugin: Plugin) -> list[Path]:
    """Sockets in plugins_registry, at any depth."""
    return sorted(path for path in plugin.layout.registry.rglob("*") if path.is_socket())


@contextlib.contextmanager
def unhealthy(plugin: Plugin) -> Iterator[str]:
    """A device that is not healthy while inside (UNHEALTHY): one that is so anyway, or the last
    one, broken for the time."""
    if already := _unhealthy(plugin):
        yield already[0]
        return
    id = plugin.ids()[-1]
    with plugin.broken(id):
        plugin.until(lambda: id not in plugin.ids(), f"the list shows that {id} is not healthy")
        yield id


# -- needs ------------------------------------------------------------------------------------


@attrs.frozen
class Devices:
    """So many healthy devices at least."""

    count: int

    @property
    def label(self) -> str:
        """What `refimpl list` shows."""
        return "a device" if self.count == 1 else f"{self.count} devices"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        found = target.plugin_side.offers.healthy()
        if found is None or found >= self.count:
            return None
        return f"it lists {found} healthy devices: start it where it has {self.count} or more"


@attrs.frozen
class Gives:
    """Its answers to Allocate have that field."""

    field: str
    label: str

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        found = target.plugin_side.offers.gifts()
        return None if found is None or self.field in found else f"its answers have no {self.field}"


@attrs.frozen
class Unhealthy:
    """A device is unhealthy, or can be made so."""

    label: str = "a device that is not healthy"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        side = target.plugin_side
        if side.offers.unhealthy() is not False:
            return None
        if not side.hooked("break_device"):
            return "all its devices are healthy, and hooks.break_device names no command"
        return None if side.offers.healthy() else "it has no device that could be broken"


@attrs.frozen
class SeveralResources:
    """One process registers more than one resource."""

    label: str = "several resources"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        found = target.plugin_side.offers.resources()
        if found is None or len(found) > 1:
            return None
        return f"it registers {found[0]} only: start it with a second resource"


@attrs.frozen
class Found:
    """Kubelet finds it in plugins_registry."""

    label: str = "a socket in plugins_registry"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        found = target.plugin_side.offers.found()
        return "it has no socket in plugins_registry" if found is False else None


@attrs.frozen
class DeepFolder:
    """The length of its folder's path is up to us."""

    label: str = "a folder with a long path"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        if target.plugin_side.offers.hidden():
            return "it knows no folder but /var/lib/kubelet: one with {kubelet} in its command does"
        return None


@attrs.frozen
class SeveralEndpoints:
    """Kubelet bears two instances of a plugin."""

    label: str = "kubelet 1.37 or later"

    def unmet(self, target: Any) -> str | None:
        """See case.Need."""
        release = target.plugin_side.release
        if settings_of(release).endpoints == "multi":
            return None
        return f"at the end of the first instance kubelet {release} hangs up on the second itself"


ONE_DEVICE, TWO_DEVICES = Devices(1), Devices(2)
GIVES_DEVICES = Gives("devices", "device files in its answers")
GIVES_MOUNTS = Gives("mounts", "mounts in its answers")
GIVES_ENVS = Gives("envs", "variables in its answers")
GIVES_ANNOTATIONS = Gives("annotations", "annotations in its answers")
GIVES_CDI = Gives("cdi_devices", "CDI devices in its answers")
UNHEALTHY = Unhealthy()
SEVERAL_ENDPOINTS = SeveralEndpoints()
SEVERAL_RESOURCES = SeveralResources()
FOUND = Found()
DEEP_FOLDER = DeepFolder()
