"""What the process of a plugin holds when nothing happens."""

from __future__ import annotations

import contextlib

from conformance.deviceplugin.plugins.plugin import DevicePluginUnderTest
from conformance.engine.targets.process import Measures
from conformance.engine.verdict import Broken, stays

__all__ = ["at_rest"]


def at_rest(plugin: DevicePluginUnderTest) -> Measures | None:
    """The least that is seen within `quiet_s`; None where it cannot be measured."""
    seen: list[Measures] = []

    def measured() -> bool:
        seen.extend(filter(None, [plugin.process.measures()]))
        return bool(seen)

    with contextlib.suppress(Broken):
        stays(measured, plugin.quiet_s, "its process can be measured")
    if not seen:
        return None
    fds, threads = min(each.fds for each in seen), min(each.threads for each in seen)
    return Measures(fds, threads, seen[-1].rss)
