"""What a plugin under test offers, as its lists and answers show it, and what it lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conformance.deviceplugin.plugins import needs
from conformance.deviceplugin.plugins.process import illusory
from conformance.engine.needs import Feature, Lacks
from conformance.engine.process import visible
from conformance.engine.verdict import Broken
from refimpl.deviceplugin.profiles import settings_of
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

if TYPE_CHECKING:
    from conformance.deviceplugin.plugin import Plugin
    from conformance.deviceplugin.plugins.target import PluginTarget
    from refimpl.deviceplugin.api import deviceplugin_pb2 as pb

__all__ = ["Capabilities", "registry_sockets", "unhealthy"]

T = TypeVar("T")

_HOOKED = (
    needs.BREAKABLE,
    needs.MENDABLE,
    needs.PLUGGABLE,
    needs.UNPLUGGABLE,
    needs.SOURCE,
)
_GIVEN = (
    needs.GIVES_DEVICES,
    needs.GIVES_MOUNTS,
    needs.GIVES_ENVS,
    needs.GIVES_ANNOTATIONS,
    needs.GIVES_CDI,
)


class Capabilities:
    """Looks at the plugin when it is first asked. Of one that cannot be asked it says that it lacks
    nothing: the case tells more. `lacks`: a need of `needs` -> why it is not met."""

    def __init__(self, target: PluginTarget) -> None:
        self._target = target
        self._known: dict[str, Any] = {}
        self.lacks = Lacks(
            {
                **{hook.name: partial(self._unhooked, hook) for hook in _HOOKED},
                **{gift.name: partial(self._not_given, gift.name) for gift in _GIVEN},
                needs.EMPTY.name: self._never_empty,
                needs.MEASURABLE.name: self._hidden_processes,
                needs.PUSHES.name: self._pulled,
                needs.FOUND.name: self._not_found,
                needs.DEEP_FOLDER.name: self._one_folder,
                needs.SEVERAL_ENDPOINTS.name: self._one_endpoint,
                needs.SEVERAL_RESOURCES.name: self._one_resource,
                needs.PREFERS.name: partial(self._says, _PREFERS, False),
                needs.NO_PREFERENCE.name: partial(self._says, _PREFERS, True),
                needs.PRE_STARTS.name: partial(self._says, _PRE_STARTS, False),
                needs.NO_PRE_START.name: partial(self._says, _PRE_STARTS, True),
                needs.ONE_DEVICE.name: partial(self._fewer, 1),
                needs.TWO_DEVICES.name: partial(self._fewer, 2),
                needs.UNHEALTHY.name: self._healthy,
            }
        )

    def hidden(self) -> bool:
        """Whether it finds its folder at the real kubelet's path, whatever ours is called."""
        command = self._target.resolved.command
        return bool(command) and illusory(command, self._target.chosen)

    # -- reasons --------------------------------------------------------------------------------

    def _unhooked(self, hook: Feature) -> str:
        if self._target.hooked(hook.name):
            return ""
        return f"hooks.{hook.name} names no command: {hook}"

    def _not_given(self, field: str) -> str:
        fields = self._seen("fields", _fields)
        return "" if fields is None or field in fields else f"its answers have no {field}"

    def _never_empty(self) -> str:
        if self._target.can_be_empty:
            return ""
        return "empty_command names no command that starts it without devices"

    def _hidden_processes(self) -> str:
        return "" if visible() else "processes cannot be looked at: no /proc"

    def _pulled(self) -> str:
        if not self._target.only_pulled:
            return ""
        return "it does not call Register: kubelet finds it in plugins_registry"

    def _not_found(self) -> str:
        sockets = self._seen("sockets", registry_sockets)
        return "it has no socket in plugins_registry" if sockets == [] else ""

    def _one_folder(self) -> str:
        if not self.hidden():
            return ""
        return "it knows no folder but /var/lib/kubelet: one with {kubelet} in its command does"

    def _one_endpoint(self) -> str:
        release = self._target.revision.number
        if settings_of(release).endpoints == "multi":
            return ""
        return f"at the end of the first instance kubelet {release} hangs up on the second itself"

    def _one_resource(self) -> str:
        resources = self._seen("resources", _resources)
        if resources is None or len(resources) > 1:
            return ""
        return f"it registers {resources[0]} only: start it with a second resource"

    def _says(self, option: str, value: bool) -> str:
        options = self._seen("options", lambda plugin: plugin.options())
        if options is None or getattr(options, option) is not value:
            return ""
        return f"the plugin says {option} = {str(value).lower()}"

    def _fewer(self, count: int) -> str:
        healthy = self._seen("ids", lambda plugin: plugin.ids())
        if healthy is None or len(healthy) >= count:
            return ""
        return f"it lists {len(healthy)} healthy devices: start it where it has {count} or more"

    def _healthy(self) -> str:
        if self._seen("unhealthy", _unhealthy) != []:
            return ""
        if not self._target.hooked("break_device"):
            return "all its devices are healthy, and hooks.break_device names no command"
        has_some = self._seen("ids", lambda plugin: plugin.ids())
        return "" if has_some else "it has no device that could be broken"

    def _seen(self, what: str, look: Callable[[Plugin], T]) -> T | None:
        """What a look at the plugin has shown; None where it does not answer."""
        if what not in self._known:
            plugin = self._target.look()
            with contextlib.suppress(Broken, Refused, Unreachable):
                plugin.link()
                self._known[what] = look(plugin)
            plugin.close()
        shown: T | None = self._known.get(what)
        return shown


_PREFERS, _PRE_STARTS = "get_preferred_allocation_available", "pre_start_required"


def _unhealthy(plugin: Plugin) -> list[str]:
    return sorted(set(plugin.ids(healthy=False)) - set(plugin.ids()))


def _fields(plugin: Plugin) -> set[str]:
    """The fields that its answers for single devices have."""
    answers: list[pb.ContainerAllocateResponse] = []
    for id in plugin.ids()[:8]:
        answers += plugin.allocate([id]).container_responses
    return {field.name for answer in answers for field, _ in answer.ListFields()}


def _resources(plugin: Plugin) -> Sequence[str]:
    """What it registers within a while."""
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
