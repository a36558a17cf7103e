"""What a plugin under test offers, as its lists and answers show it, and what it lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

from conformance.deviceplugin.plugins import needs
from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.deviceplugin.plugins.sessions import PluginSetup
from conformance.engine.needs import Feature, Lacks
from conformance.engine.targets.process import visible
from conformance.engine.verdict import Broken
from refimpl.deviceplugin.profiles import settings_of
from refimpl.wire.client import Unreachable
from refimpl.wire.status import Refused

__all__ = ["PluginCapabilities", "unhealthy"]

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
_PREFERS, _PRE_STARTS = "get_preferred_allocation_available", "pre_start_required"


class PluginCapabilities:
    """Looks at the plugin when it is first asked. Of one that cannot be asked it says that it lacks
    nothing: the case tells more. `look`: the plugin as it is, for whoever closes it. `lacks`: a
    need of `needs` -> why it is not met."""

    def __init__(self, setup: PluginSetup, look: Callable[[], DevicePluginUnderTest]) -> None:
        self._setup, self._look = setup, look
        self._seen: dict[str, Any] = {}
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

    # How it is set up

    def _unhooked(self, hook: Feature) -> str:
        if self._setup.hooks.has(hook.name):
            return ""
        return f"hooks.{hook.name} names no command: {hook}"

    def _never_empty(self) -> str:
        if self._setup.empty:
            return ""
        return "empty_command names no command that starts it without devices"

    def _hidden_processes(self) -> str:
        return "" if visible() else "processes cannot be looked at: no /proc"

    def _one_folder(self) -> str:
        if not self._setup.hidden:
            return ""
        return "it knows no folder but /var/lib/kubelet: one with {kubelet} in its command does"

    def _one_endpoint(self) -> str:
        release = self._setup.release
        if settings_of(release).endpoints == "multi":
            return ""
        return f"at the end of the first instance kubelet {release} hangs up on the second itself"

    # What a look at it shows

    def _pulled(self) -> str:
        if not self._only_pulled:
            return ""
        return "it does not call Register: kubelet finds it in plugins_registry"

    @cached_property
    def _only_pulled(self) -> bool:
        """Whether it comes, and never calls Register."""
        plugin = self._look()
        with contextlib.suppress(Broken):
            _ = plugin.resource
        return not plugin.session.arrivals and bool(plugin.session.links)

    def _not_found(self) -> str:
        sockets = self._shown("sockets", DevicePluginUnderTest.registry_sockets)
        return "it has no socket in plugins_registry" if sockets == [] else ""

    def _one_resource(self) -> str:
        resources = self._shown("resources", _resources)
        if resources is None or len(resources) > 1:
            return ""
        return f"it registers {resources[0]} only: start it with a second resource"

    def _not_given(self, field: str) -> str:
        fields = self._shown("fields", _fields)
        return "" if fields is None or field in fields else f"its answers have no {field}"

    def _says(self, option: str, value: bool) -> str:
        options = self._shown("options", lambda plugin: plugin.calls.options())
        if options is None or getattr(options, option) is not value:
            return ""
        return f"the plugin says {option} = {str(value).lower()}"

    def _fewer(self, count: int) -> str:
        ids = self._shown("ids", DevicePluginUnderTest.ids)
        if ids is None or len(ids) >= count:
            return ""
        return f"it lists {len(ids)} healthy devices: start it where it has {count} or more"

    def _healthy(self) -> str:
        if self._shown("unhealthy", _unhealthy) != []:
            return ""
        if not self._setup.hooks.has("break_device"):
            return "all its devices are healthy, and hooks.break_device names no command"
        ids = self._shown("ids", DevicePluginUnderTest.ids)
        return "" if ids else "it has no device that could be broken"

    def _shown(self, what: str, look_at: Callable[[DevicePluginUnderTest], T]) -> T | None:
        """None where it does not answer."""
        if what not in self._seen:
            plugin = self._look()
            with contextlib.suppress(Broken, Refused, Unreachable):
                plugin.link()
                self._seen[what] = look_at(plugin)
            plugin.calls.close()
        value: T | None = self._seen.get(what)
        return value


def _unhealthy(plugin: DevicePluginUnderTest) -> list[str]:
    return sorted(set(plugin.ids(healthy=False)) - set(plugin.ids()))


def _fields(plugin: DevicePluginUnderTest) -> set[str]:
    """The fields that its answers for single devices have."""
    replies = [plugin.calls.allocate([id]) for id in plugin.ids()[:8]]
    answers = (answer for reply in replies for answer in reply.container_responses)
    return {field.name for answer in answers for field, _ in answer.ListFields()}


def _resources(plugin: DevicePluginUnderTest) -> Sequence[str]:
    """What it registers within a while."""
    with contextlib.suppress(Broken):
        plugin.stays(lambda: len(plugin.resources) < 2, "a second resource comes")
    return plugin.resources


@contextlib.contextmanager
def unhealthy(plugin: DevicePluginUnderTest) -> Iterator[str]:
    """A device that is not healthy while inside (UNHEALTHY): one that is so anyway, or the last
    one, broken for the time."""
    if already := _unhealthy(plugin):
        yield already[0]
        return
    id = plugin.ids()[-1]
    with plugin.hooks.broken(id):
        plugin.until(lambda: id not in plugin.ids(), f"the list shows that {id} is not healthy")
        yield id
