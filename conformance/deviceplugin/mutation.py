"""The shape of a mutant on the plugin side: our device plugin with one breach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.engine.mutants import Mutant
from refimpl.deviceplugin.seams import plugin

if TYPE_CHECKING:
    from conformance.deviceplugin.plugins.ours import OurProcess
    from refimpl.deviceplugin.fake import FakePlugin

__all__ = ["PluginMutant"]


class PluginMutant(Mutant):
    """A method named after an RPC of DevicePlugin, `(self, proceed, request, call)`, stands before
    our plugin's (ListAndWatch is a generator); `Register(self, proceed, request, channel)` before
    its call of Register, which raises Refused. Others stand before the seam that decorates them.

    `choices` are arguments of `FakePlugin` that differ from those of the fake under test (`persona`
    and `devices` above all). `fake` is the plugin that was started last, `process` the process that
    it is in; `process.exit(status)` ends it.
    """

    by_name = plugin.RPCS
    choices: ClassVar[Mapping[str, Any]] = {}
    shaped_by = ("choices",)
    fake: FakePlugin
    process: OurProcess
